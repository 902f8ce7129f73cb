"""Python read as a syntax tree: names and aliases, constant folding, sinks, sources and a small taint."""
