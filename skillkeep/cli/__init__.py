"""What all four command lines share: options, output, exit codes. The only part of the ground floor that may import Typer."""
