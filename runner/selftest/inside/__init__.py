"""Attacks as they run inside a sandbox: standard library only, any Python from 3.9 on, harmless where they succeed."""
