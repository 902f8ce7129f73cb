"""Parts of the auditor's benchmark: the files it reads, the speed, the start, the memory, the peers."""
