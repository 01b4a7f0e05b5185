"""Simulation-based calibration: is the true value's rank among posterior draws uniform?"""
