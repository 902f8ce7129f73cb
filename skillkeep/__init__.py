"""The ground floor: errors, digests, the view of an untrusted tree, settings, journal, kernel mechanisms."""
