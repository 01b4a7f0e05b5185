"""The numbers printed in the paper (Loría & Bhadra, UAI 2024). Nothing of ours is here."""

from __future__ import annotations

from typing import NamedTuple


class Error(NamedTuple):
    """Mean absolute error over ten splits, and its standard error as printed."""

    mae: float
    standard_error: float


class Time(NamedTuple):
    """Total seconds, and milliseconds per iteration."""

    seconds: float
    milliseconds: float


# The paper's methods under our names; its "Stable" is the published sampler at a chosen (alpha, nu).
REAL_ESTATE = {
    "published": Error(0.415, 0.07),
    "gp_ml": Error(0.483, 0.07),
    "gp_bayes": Error(0.402, 0.05),
    "bayes_nnet": Error(0.501, 0.07),
}
SP500 = {
    "published": Error(0.054, 0.008),
    "gp_ml": Error(0.071, 0.006),
    "gp_bayes": Error(0.054, 0.005),
    "bayes_nnet": Error(0.210, 0.016),
}
SP500_ALPHA = 1.9
NU = 1.0
TIMES = {
    ("published", 1): Time(24.0, 8.0),
    ("published", 2): Time(1339.5, 446.5),
    ("gp_ml", 1): Time(0.067, 13.4),
    ("gp_ml", 2): Time(0.178, 35.6),
    ("gp_bayes", 1): Time(18.1, 0.602),
    ("gp_bayes", 2): Time(22.2, 0.740),
    ("bayes_nnet", 1): Time(6.9, 2.303),
    ("bayes_nnet", 2): Time(7.2, 2.398),
}
