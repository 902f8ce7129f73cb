"""The `runner` command line: `app` parses, `running` runs and prints. `skill run` is the same as `runner run`."""
