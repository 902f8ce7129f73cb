"""The attack suite that ships with the runner: what a payload could try, tried on this machine in every sandbox."""
