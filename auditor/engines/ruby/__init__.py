"""The parts of the Ruby engine: expressions worked out, and what calls do judged."""
