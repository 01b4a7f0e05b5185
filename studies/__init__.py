"""The experiments of the paper: data, competitors, tables and figures. `python -m studies` runs them."""
