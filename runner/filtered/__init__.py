"""A sandbox without namespaces: Landlock, seccomp and rlimits around a process, for hosts that allow no more."""
