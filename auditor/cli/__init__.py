"""The `auditor` command line: parses and prints, nothing else."""
