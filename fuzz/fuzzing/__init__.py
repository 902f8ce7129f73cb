"""Fuzzing of every reader of untrusted input: what is tried, on what, and what counts as a defect."""
