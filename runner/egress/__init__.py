"""The way out of a sandbox: named hosts and ports through a proxy that stands outside of it."""
