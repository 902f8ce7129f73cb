"""Detection quality, measured: stage labelled samples as inert folders, audit them, count, list what went wrong."""
