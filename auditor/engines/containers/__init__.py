"""Readers of files inside files: each takes hostile bytes and yields members and oddities, within a budget."""
