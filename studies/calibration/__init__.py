"""Simulation-based calibration: data from the prior, then ranks of the truth among posterior draws."""
