"""Ratios of speed and mixing between things measured in one run: `python -m studies.benchmarks` (`make bench`)."""
