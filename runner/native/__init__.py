"""The native Linux sandbox: namespaces, a minimal root, seccomp, Landlock and control groups, from Python alone."""
