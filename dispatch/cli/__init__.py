"""Composes the four console scripts from the folders below."""
