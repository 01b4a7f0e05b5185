"""Predictions from stored draws."""
