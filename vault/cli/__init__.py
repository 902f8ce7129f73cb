"""The `vault` command line: `app` parses and prints, `arguments` are the words that others take too."""
