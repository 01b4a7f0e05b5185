"""Thresholds of the statistical checks in this folder, in one place.

Seeds are fixed, so a check either passes always or never; the thresholds say how surprising a failure is.
"""

# A test of fit fails below this p-value.
P_VALUE = 1e-4
# An estimate may be this many standard errors off (two-sided p of 6e-5; a few dozen are compared at once).
STANDARD_ERRORS = 4.0
