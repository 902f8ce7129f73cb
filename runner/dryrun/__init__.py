"""Dry runs: a tool writes beside the real folder, the user sees the difference, then takes it or drops it."""
