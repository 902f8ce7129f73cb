"""Judges what several places of a tool do together: starts unasked, reads, sends, drops, to whom."""
