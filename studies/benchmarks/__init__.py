"""Ratios of speed and mixing between two things measured in one run. Never part of the tests."""
