"""Compiled code: the only files that import numba. One move a file; `sweep.py` calls them."""
