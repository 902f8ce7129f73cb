"""What all four command lines share: options, output, exit codes; the only ground floor part that imports Typer."""
