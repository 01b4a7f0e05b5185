"""Every method of the comparison behind one interface: (X, y, X_new, seed, **settings) -> Forecast."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from studies.forecasts import Forecast
from studies.methods.bayes_nnet import bayes_nnet
from studies.methods.gaussian_process import gp_bayes, gp_ml
from studies.methods.ours import jumps, published
from studies.methods.trees import bart, forest

__all__ = ["METHODS", "STABLE", "Method"]


class Method(NamedTuple):
    """A method. Raise `version` when a change of code changes the answers, so that old results are not reused."""

    title: str
    fit: Callable[..., Forecast]
    version: int


METHODS = {
    "published": Method("Stable, published sampler", published, 1),
    "jumps_given": Method("Stable, alpha and nu given", jumps, 2),
    "jumps_inferred": Method("Stable, alpha and nu inferred", jumps, 2),
    "jumps_default": Method("Stable, widestable's default", jumps, 1),
    "gp_ml": Method("GP ML", gp_ml, 1),
    "gp_bayes": Method("GP Bayes", gp_bayes, 1),
    "bayes_nnet": Method("Bayes NNet", bayes_nnet, 1),
    "bart": Method("BART", bart, 1),
    "forest": Method("random forest", forest, 1),
}
STABLE = ("published", "jumps_given", "jumps_inferred", "jumps_default")
