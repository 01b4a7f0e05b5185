"""The jump engine: posterior sampling over a random number of atoms, in any input dimension."""
