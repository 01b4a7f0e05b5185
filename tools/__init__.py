"""Scripts that developers run: they are neither tests nor part of the package."""
