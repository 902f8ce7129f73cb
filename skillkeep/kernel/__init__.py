"""One Linux mechanism per file, in pure Python and ctypes; used by confined workers and by the runner."""
