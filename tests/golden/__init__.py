"""Reference posteriors of six small data sets, on which two engines agree; docs/golden.md says how they are used."""
