"""The native Linux sandbox: namespaces, a minimal root, seccomp, Landlock and control groups, from Python alone."""

from skillkeep.runner.native.backend import NativeBackend

__all__ = ["NativeBackend"]
