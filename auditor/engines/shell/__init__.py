"""Shell scripts read as words: quoting, pipelines, substitutions, and what each command does."""
