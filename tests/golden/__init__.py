"""Reference posteriors of six small data sets on which two engines agree; see docs/golden.md."""
