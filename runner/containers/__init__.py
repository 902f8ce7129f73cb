"""Sandboxes of somebody else: container engines, and virtual machines that are driven by a command."""
