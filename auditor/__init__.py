"""Reads code and text and returns a report. Never executes, never writes, needs no network."""
