"""One report format per file; each turns a `Report` into text and knows nothing of command lines."""
