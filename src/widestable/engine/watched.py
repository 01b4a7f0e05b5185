"""What convergence is judged by: the parameters that are inferred, the number of outliers, and f at stored rows.

The law of the hyperplanes moves slowly, and often the data hardly care: very different laws make the same f. So
relevances and sharpness are held to less than the rest, while f, its noise and its outliers must be as sure as ever.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._types import FloatArray
from ..diagnostics import Convergence, Standard, convergence
from .draws import ChainDraws
from .model import Model

# What is enough for relevances and sharpness: their largest R-hat, and the part of the usual effective sample size.
LAW_MAX_RHAT, LAW_ESS_PART = 1.05, 0.25


def quantities(chains: Sequence[ChainDraws], model: Model) -> FloatArray:
    """Draws of what convergence is judged by, shape (chains, draws, quantities).

    alpha, log nu, log sigma2, log sharpness and log relevances where inferred, the number of outliers where there may
    be any, then f at stored rows.
    """
    inferred = [model.infer_alpha, model.infer_nu, model.infer_sigma2, model.infer_sharpness]

    def of(draws: ChainDraws) -> FloatArray:
        parameters = np.column_stack([draws.alpha, draws.log_nu, draws.log_sigma2, np.log(draws.sharpness)])
        # p has been integrated out, so the number of outliers is what moves, and p follows it.
        n_outliers = draws.n_spikes[:, None] if model.has_spikes else np.empty((len(draws), 0))
        relevances = np.log(draws.relevance[:, model.relevant])
        return np.concatenate([parameters[:, inferred], relevances, n_outliers, draws.f], axis=1)

    return np.stack([of(draws) for draws in chains])


def standard(model: Model, n_quantities: int) -> Standard:
    """What is wanted of each of the quantities."""
    first = int(model.infer_alpha) + int(model.infer_nu) + int(model.infer_sigma2)
    is_law = np.zeros(n_quantities, dtype=bool)
    is_law[first : first + int(model.infer_sharpness) + model.relevant.size] = True
    usual = Standard.of(n_quantities)
    return Standard(np.where(is_law, LAW_MAX_RHAT, usual.max_rhat), np.where(is_law, LAW_ESS_PART, usual.ess_part))


def judge(chains: Sequence[ChainDraws], model: Model) -> Convergence:
    """R-hat and effective sample size of each of the quantities, beside what is wanted."""
    draws = quantities(chains, model)
    return convergence(draws)._replace(standard=standard(model, draws.shape[2]))
