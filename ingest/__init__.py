"""The only door: sources, fetchers, quarantine, discovery of artifacts, the gate."""
