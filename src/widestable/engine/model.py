"""What stays the same during sampling: the data, the priors, and what is inferred."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .._types import FloatArray, IntArray
from ..inputs import TrainingData, spread_indices
from .tree import node_ranges

MAX_STORED_ROWS = 500
# Up to this many rows the kernel is decomposed whole: O(n^3) once, and O(n^2) memory.
MAX_DENSE_ROWS = 2000
# Beyond, half as many leading eigenvectors as there are landmarks, and the other eigenvalues put equal. The fewer, the
# more of the remainder is taken for noise; rows times landmarks is bounded, and with it memory and preparation.
MAX_LANDMARKS, MIN_LANDMARKS, MAX_ENTRIES = 2048, 512, 2048 * 50_000
# Prior of outliers: the probability of one is Beta(1/2, 25), and its variance over that of the noise is log-uniform on
# a grid. Its upper end is there for typing errors of 1000 standard deviations.
SPIKE_A, SPIKE_B = 0.5, 25.0
SPIKE_LOG_C, N_SPIKE_C = (math.log(10.0), math.log(1e6)), 16


class Priors(NamedTuple):
    """What can be set about the priors, on the scale that the engine sees.

    Attributes
    ----------
    alpha : tuple of two floats
        alpha is uniform between these.
    log_nu_sd : float or None
        log nu ~ N(0, log_nu_sd^2), nu being the squared scale of f. None is 1.5, or 3 where the sharpness is inferred:
        units of which the data see only the steep part need a large scale.
    relevance_scale : float
        The log of the length of the vector of relevances is N(0, relevance_scale^2).
    """

    alpha: tuple[float, float] = (0.05, 1.99)
    log_nu_sd: float | None = None
    relevance_scale: float = 2.0


class Model(NamedTuple):
    """The data and the priors: n distinct rows of d inputs, in scaled units. Nothing in it ever changes."""

    # Data
    X: FloatArray  # (n, d)
    weight: FloatArray  # (n,) total weight of the observations of each row
    row_y: FloatArray  # (n,) mean output of each row
    sum_y2: float  # row_y' W row_y
    n_extra: float  # number of observations beyond one per row
    ss_within: float  # sum of squares within rows
    sum_log_weight: float
    obs_row: IntArray  # (n_obs,) row of each observation, a distinct pair (x, y)
    obs_y: FloatArray  # (n_obs,) its output
    obs_weight: FloatArray  # (n_obs,) its total weight
    rows: IntArray  # rows at which f is stored
    # Many rows
    n_rest: int  # n - r: eigenvalues of the kernel that are put equal to their mean
    landmark_rows: IntArray  # (m,) rows whose covariances make predictions
    node_rows: IntArray  # (nodes, 2) first row and end of each node of the tree; no nodes unless rows are many
    # Priors
    n_atoms: float  # N, expected number of atoms above the threshold
    has_atoms: bool  # whether alpha < 2
    infer_alpha: bool
    infer_nu: bool
    infer_sigma2: bool
    infer_sharpness: bool
    leader: IntArray  # (d,) first of the columns that share a relevance with each column
    relevant: IntArray  # leading columns whose relevance is inferred
    alpha_low: float
    alpha_high: float
    log_nu_sd: float
    relevance_scale: float  # s.d. of the log of the common scale of the relevances
    log_sigma2_floor: float  # the prior of log sigma2 is truncated here
    # Outliers: an observation has a spike with probability p ~ Beta(a, b), of variance c sigma2
    has_spikes: bool
    max_spikes: int  # the prior is truncated to so many
    spike_a: float
    spike_b: float
    spike_log_c: FloatArray  # log c is uniform on these values


class Rank(NamedTuple):
    """How much of the kernel is kept."""

    n_landmarks: int
    rank: int


def choose_rank(n: int, max_dense_rows: int = MAX_DENSE_ROWS, is_smooth: bool = False) -> Rank:
    """All of the kernel, or what 2048 landmarks can tell; fewer beyond fifty thousand rows.

    Smooth units make do with the fewest. Their kernel has few eigenvalues that count, and a rotation costs n times the
    rank.

    Parameters
    ----------
    n : int
        Number of distinct rows.
    max_dense_rows : int
        Up to this many rows the kernel is kept whole.
    is_smooth : bool
        Whether the sharpness is finite.

    Returns
    -------
    Rank

    Examples
    --------
    >>> choose_rank(500), choose_rank(10_000), choose_rank(100_000)
    (Rank(n_landmarks=500, rank=500), Rank(n_landmarks=2048, rank=1024), Rank(n_landmarks=1024, rank=512))
    """
    if n <= max_dense_rows:
        return Rank(n, n)
    most = MIN_LANDMARKS if is_smooth else MAX_LANDMARKS
    n_landmarks = min(max(MAX_ENTRIES // n, MIN_LANDMARKS), most, n)
    return Rank(n_landmarks, n_landmarks // 2)


def make_model(
    data: TrainingData,
    *,
    alpha: float | None,
    nu: float | None,
    sigma2: float | None,
    n_atoms: float,
    sharpness: float | None = math.inf,
    infer_relevance: bool = False,
    priors: Priors | None = None,
    has_spikes: bool = False,
    max_dense_rows: int = MAX_DENSE_ROWS,
) -> Model:
    """Gather what the moves need, in the units of `data`. None stands for what is inferred.

    With more than `max_dense_rows` distinct rows the remainder is of low rank, and the law of the hyperplanes is held.
    """
    n = data.y.size
    priors = Priors() if priors is None else priors
    is_dense = n <= max_dense_rows
    # The relevance of an input that never changes means nothing.
    varies = np.ptp(data.X, axis=0) > 0.0 if n else np.ones(data.X.shape[1], dtype=bool)
    leader = leading_columns(data.columns.input_of_column)
    is_smooth = sharpness is None or math.isfinite(sharpness)
    n_landmarks, rank = choose_rank(n, max_dense_rows, is_smooth)
    # Only sign units change at the rows that a moving hyperplane passes, and nowhere else.
    has_tree = rank < n and not is_smooth
    return Model(
        **data_fields(data),
        rows=spread_indices(n, MAX_STORED_ROWS).astype(np.int64),
        n_rest=n - rank,
        # Near rows are together in the order of the rows, so these are spread over the data.
        landmark_rows=spread_indices(n, n_landmarks).astype(np.int64),
        node_rows=node_ranges(n) if has_tree else np.empty((0, 2), np.int64),
        n_atoms=float(n_atoms),
        has_atoms=alpha is None or alpha < 2.0,
        infer_alpha=alpha is None,
        infer_nu=nu is None,
        infer_sigma2=sigma2 is None,
        infer_sharpness=sharpness is None and is_dense,
        leader=leader,
        relevant=np.unique(leader[varies & infer_relevance & is_dense]),
        alpha_low=priors.alpha[0],
        alpha_high=priors.alpha[1],
        log_nu_sd=priors.log_nu_sd or (3.0 if sharpness is None else 1.5),
        relevance_scale=priors.relevance_scale,
        # Finite, so that files can hold it, even if y is 1e-300 and not standardised.
        log_sigma2_floor=math.log(max(data.least_variance, np.finfo(np.float64).tiny)),
        has_spikes=has_spikes,
        max_spikes=room_for_spikes(data.obs_row.size) if has_spikes else 0,
        spike_a=SPIKE_A,
        spike_b=SPIKE_B,
        spike_log_c=np.linspace(*SPIKE_LOG_C, N_SPIKE_C),
    )


def leading_columns(group: IntArray) -> IntArray:
    """For each column, the first column of the same group.

    Examples
    --------
    >>> leading_columns(np.array([0, 1, 1, 1, 2]))
    array([0, 1, 1, 1, 4])
    """
    _, first, place = np.unique(group, return_index=True, return_inverse=True)
    return np.asarray(first[place], dtype=np.int64)


def data_fields(data: TrainingData) -> dict[str, Any]:
    """The fields of a model that come from the data alone."""
    return {
        "X": np.ascontiguousarray(data.X),
        "weight": data.weight,
        "row_y": data.y,
        "sum_y2": float(data.weight @ data.y**2),
        "n_extra": float(data.n_observations - data.y.size),
        "ss_within": float(data.ss_within),
        "sum_log_weight": float(np.sum(np.log(data.weight))),
        "obs_row": data.obs_row,
        "obs_y": data.obs_y,
        "obs_weight": data.obs_weight,
    }


def room_for_spikes(n_obs: int) -> int:
    """Most spikes among so many observations: 32 and 5%, but at most 512. The system is dense in them."""
    return min(n_obs, 32 + n_obs // 20, 512)


def capacity(n_atoms: float) -> int:
    """Room for atoms: 12 standard deviations above the prior mean, and 60 more."""
    return math.ceil(n_atoms + 12.0 * math.sqrt(n_atoms) + 60.0)
