"""Packages a tool declares or installs: where they are named, and what is odd about the names."""
