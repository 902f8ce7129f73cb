"""How people and agents use Skillkeep: the composed command lines and the Python API."""
