"""Bayesian regression with infinitely wide neural networks whose output weights have infinite variance."""

__version__ = "0.1.0.dev0"
