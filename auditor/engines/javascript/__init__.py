"""JavaScript and TypeScript read as tokens: imports and aliases, calls, template literals, sinks and sources."""
