"""Predictions from stored draws: each draw makes f at a new row Gaussian, and the draws mix with equal weights."""
