"""Moves of a chain, one file each."""
