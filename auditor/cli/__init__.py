"""`auditor scan`, `auditor rules`, `auditor explain`: parses arguments and prints, nothing else."""
