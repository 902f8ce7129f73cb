"""One file per kind of source; each brings the source into quarantine from inside a confined worker."""
