"""Keeps approved tools: tiers, registry, content-addressed immutable store, archive."""
