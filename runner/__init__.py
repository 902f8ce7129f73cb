"""The only place where vaulted code runs: sandbox backends, limits, policy."""
