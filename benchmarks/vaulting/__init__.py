"""What benchmarks of the vault and of the sandbox share."""
