"""Simulation-based calibration, `python -m studies.calibration` (`make sbc`): ranks of the truth among posterior draws."""
