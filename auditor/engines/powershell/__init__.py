"""The parts of the PowerShell engine: expressions worked out, commands resolved, and what they do judged."""
