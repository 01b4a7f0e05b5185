"""Where the strongest atoms start with many inputs: a greedy search for hyperplanes across which the data jump.

Atoms from the prior have to find their places among many inputs by turns that are small, and chains get stuck on the
way. Here hyperplanes are added one at a time where they explain most, and those before are then moved. What the data
gain by one more atom has a gradient if its unit is smooth, so the search goes uphill with units of growing sharpness.
The noise and a remainder of as large a variance explain what is left.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import erf

from .._blas import one_blas_thread
from .._types import FloatArray
from ..network import add_constant, arcsine_kernel
from ..stable import log_mark_of_scale
from .chain import State
from .model import Model

# With fewer inputs chains find their places during warm-up.
MANY_INPUTS = 6
# The search sees at most so many rows, evenly spread.
MAX_ROWS = 300
MOST_ATOMS = 8
# Random places from which the search for a new atom sets out, the sharpness of its units, and steps with each of them.
N_STARTS, SHARPNESS, N_STEPS = 8, (5.0, 20.0, 100.0), 20
# How often all atoms are moved after each new one; places near it that are tried; and its nearest rows, in which it is
# reflected.
N_ROUNDS, N_NEAR, N_REFLECTED = 2, 8, 24
LOG_NEAR = (math.log(0.02), math.log(0.5))
# An atom must raise the log likelihood by so much, and by the second for each number that it has.
LEAST_GAIN, GAIN_PER_NUMBER = 6.0, 0.5
# Range of the log of the scale of an atom over the noise variance.
LOG_SCALE_RANGE = (-12.0, 18.0)
FIRST_STEP, LEAST_STEP, LARGEST_STEP = 0.3, 1e-4, 1.0


class Rows(NamedTuple):
    """What the search sees of the data."""

    Z: FloatArray  # (n, d + 1) rows with a constant, of length 1
    y: FloatArray  # (n,)
    inverse: FloatArray  # (n, n) of the covariance of remainder and noise, over the noise variance


class Atoms(NamedTuple):
    """The atoms found so far."""

    h: FloatArray  # (k, d + 1) of length 1
    tau: FloatArray  # (k, n)
    log_scale: FloatArray  # (k,) over the noise variance


class Left(NamedTuple):
    """The precision of y given scales of atoms, all over the noise variance."""

    P: FloatArray  # (n, n)
    P_y: FloatArray  # (n,)
    sigma2: float


def with_found_atoms(model: Model, state: State) -> State:
    """The state with what the search finds in place of its first atoms; the same with few inputs or given relevances.

    Parameters
    ----------
    model : Model
        Data and priors.
    state : State
        Its random stream moves on. Its outliers have little weight, and its law is the one that the atoms see.

    Returns
    -------
    State
    """
    n, d = model.X.shape
    has_hyperplanes = model.has_atoms and math.isinf(state.law.sharpness)
    # With equal relevances nothing was gained: inputs that do not matter tilt every hyperplane that is found.
    if d < MANY_INPUTS or n <= d or model.relevant.size == 0 or not has_hyperplanes:
        return state
    # One thread: the last bits, and so the draws, must not depend on the machine's load.
    with one_blas_thread():
        rows = rows_of(model, state)
        found = find_atoms(rows, state.rng)
        log_sigma2 = math.log(what_is_left(rows, found).sigma2) if model.infer_sigma2 else state.log_sigma2
    k = len(found.h)
    # Only the direction of a hyperplane is found; its length has the law of the prior.
    h = found.h * np.sqrt(state.rng.chisquare(d + 1, (k, 1)))
    mark = log_mark_of_scale(found.log_scale + log_sigma2, state.alpha, state.log_nu)
    # A mark cannot be above N, that is, no atom is below the threshold.
    mark = np.minimum(mark, math.log(model.n_atoms) - 0.01)
    return state._replace(
        h=np.vstack([h, state.h[k:]]), log_mark=np.append(mark, state.log_mark[k:]), log_sigma2=log_sigma2
    )


def rows_of(model: Model, state: State) -> Rows:
    """Some of the rows, with the remainder as large as the noise."""
    n = model.row_y.size
    chosen = np.unique(np.linspace(0, n - 1, min(n, MAX_ROWS)).round().astype(np.intp))
    noise = 1.0 / model.weight
    outlier = state.spikes.observation
    row = model.obs_row[outlier]
    np.add.at(noise, row, np.exp(state.spikes.log_c) * (model.obs_weight[outlier] / model.weight[row]) ** 2)
    X = model.X[chosen] * state.law.relevance
    Z = add_constant(X)
    inverse = np.linalg.inv(arcsine_kernel(X) + np.diag(noise[chosen]))
    return Rows(_unit(Z), model.row_y[chosen], np.asarray(inverse, dtype=np.float64))


def find_atoms(rows: Rows, rng: np.random.Generator) -> Atoms:
    """Add atoms while they gain enough; after each, move all of them one at a time."""
    width = rows.Z.shape[1]
    least = LEAST_GAIN + GAIN_PER_NUMBER * width
    atoms = Atoms(np.empty((0, width)), np.empty((0, rows.y.size)), np.empty(0))
    while len(atoms.h) < MOST_ATOMS:
        left = what_is_left(rows, atoms)
        h = _unit(rng.standard_normal((N_STARTS, width)))
        for sharpness in SHARPNESS:
            h = climb(h, sharpness, rows, left)
        explained, log_scale = explain(h, rows, left)
        best = int(np.argmax(explained))
        if gain(explained[best]) < least:
            break
        more = np.vstack([atoms.h, h[best]])
        atoms = fit_scales(rows, Atoms(more, _patterns(more, rows), np.append(atoms.log_scale, log_scale[best])))
        for _ in range(N_ROUNDS):
            places = atoms.h
            for k in rng.permutation(len(atoms.h)):
                atoms = move(atoms, int(k), rows, rng)
            if np.array_equal(places, atoms.h):
                break
        atoms = fit_scales(rows, atoms)
    return atoms


def move(atoms: Atoms, k: int, rows: Rows, rng: np.random.Generator) -> Atoms:
    """Put atom k to the best of some places: where it is, uphill from near it, or beyond one of its nearest rows."""
    left, h = what_is_left(rows, _without(atoms, k)), atoms.h[k]
    distance = np.exp(rng.uniform(*LOG_NEAR, (N_NEAR, 1)))
    near = _unit(np.vstack([h, h + distance * _unit(rng.standard_normal((N_NEAR, h.size)))]))
    for sharpness in SHARPNESS[1:]:
        near = climb(near, sharpness, rows, left, N_STEPS // 2)
    cosine = rows.Z @ h
    nearest = np.argsort(np.abs(cosine))[:N_REFLECTED]
    reflected = h - 2.0 * cosine[nearest, None] * rows.Z[nearest]
    places = np.vstack([h, near, reflected])
    explained, log_scale = explain(places, rows, left)
    best = int(np.argmax(explained))
    if explained[best] <= explained[0]:
        return atoms
    changed = Atoms(*(values.copy() for values in atoms))
    changed.h[k], changed.log_scale[k] = places[best], log_scale[best]
    changed.tau[k] = _patterns(places[best : best + 1], rows)[0]
    return changed


# --- What atoms explain ----------------------------------------------------------------------------------


def what_is_left(rows: Rows, atoms: Atoms) -> Left:
    """Integrate the sizes of atoms out; sigma2 is the best given their scales over it."""
    U = atoms.tau @ rows.inverse
    M = np.diag(np.exp(-atoms.log_scale)) + U @ atoms.tau.T
    P = rows.inverse - U.T @ np.linalg.solve(M, U)
    P_y = P @ rows.y
    return Left(P, P_y, max(float(rows.y @ P_y) / rows.y.size, np.finfo(np.float64).tiny))


def explain(h: FloatArray, rows: Rows, left: Left) -> tuple[FloatArray, FloatArray]:
    """What one more atom at each of these places explains of y' P y / sigma2, and the log of its best scale."""
    tau = _patterns(h, rows)
    t_t, t_y = np.sum(tau @ left.P * tau, axis=1), tau @ left.P_y
    explained = t_y**2 / (t_t * left.sigma2)
    scale = np.maximum(explained - 1.0, 1e-3) / t_t
    return explained, np.clip(np.log(scale), *LOG_SCALE_RANGE)


def gain(explained: float) -> float:
    """What an atom adds to the log likelihood, at its best scale.

    Examples
    --------
    >>> gain(0.5), round(gain(math.e), 3)
    (0.0, 0.359)
    """
    return 0.5 * (explained - 1.0 - math.log(explained)) if explained > 1.0 else 0.0


def fit_scales(rows: Rows, atoms: Atoms) -> Atoms:
    """Maximise the likelihood over the scales of all atoms, with the best sigma2."""
    U = atoms.tau @ rows.inverse
    t_t, t_y, y_y = U @ atoms.tau.T, U @ rows.y, float(rows.y @ rows.inverse @ rows.y)
    n = rows.y.size

    def loss(log_scale: FloatArray) -> float:
        # det(I + V S) = det(V) det(V^-1 + S)
        M = np.diag(np.exp(-log_scale)) + t_t
        ss = max(y_y - float(t_y @ np.linalg.solve(M, t_y)), np.finfo(np.float64).tiny)
        return 0.5 * (n * math.log(ss) + float(np.linalg.slogdet(M)[1]) + float(log_scale.sum()))

    bounds = [LOG_SCALE_RANGE] * len(atoms.h)
    found = minimize(loss, atoms.log_scale, method="L-BFGS-B", bounds=bounds, options={"maxiter": 15})
    return atoms._replace(log_scale=np.clip(found.x, *LOG_SCALE_RANGE))


# --- Uphill ----------------------------------------------------------------------------------------------


def climb(h: FloatArray, sharpness: float, rows: Rows, left: Left, n_steps: int = N_STEPS) -> FloatArray:
    """Move each hyperplane uphill on the sphere; its steps grow while they succeed and shrink when they fail."""
    value, slope = explained_by_smooth(h, sharpness, rows, left)
    step = np.full((len(h), 1), FIRST_STEP)
    for _ in range(n_steps):
        tried = _unit(np.cos(step) * h + np.sin(step) * _unit(slope))
        new_value, new_slope = explained_by_smooth(tried, sharpness, rows, left)
        is_better = (new_value > value)[:, None]
        h, slope = np.where(is_better, tried, h), np.where(is_better, new_slope, slope)
        value = np.maximum(value, new_value)
        step = np.clip(step * np.where(is_better, 1.5, 0.35), LEAST_STEP, LARGEST_STEP)
    return h


def explained_by_smooth(h: FloatArray, sharpness: float, rows: Rows, left: Left) -> tuple[FloatArray, FloatArray]:
    """(t'Py)^2 / t'Pt of t = erf(sharpness h.z) for each h, and its gradient along the sphere."""
    projection = sharpness * (h @ rows.Z.T)
    t = erf(projection)
    P_t = t @ left.P
    t_t, t_y = np.sum(P_t * t, axis=1, keepdims=True), (t @ left.P_y)[:, None]
    ratio = t_y / t_t
    by_t = 2.0 * ratio * left.P_y - 2.0 * ratio**2 * P_t
    gradient = (by_t * (2.0 * sharpness / math.sqrt(math.pi)) * np.exp(-(projection**2))) @ rows.Z
    along = gradient - np.sum(gradient * h, axis=1, keepdims=True) * h
    return (ratio * t_y)[:, 0], along


def _patterns(h: FloatArray, rows: Rows) -> FloatArray:
    return np.where(h @ rows.Z.T >= 0.0, 1.0, -1.0)


def _without(atoms: Atoms, k: int) -> Atoms:
    return Atoms(*(np.delete(values, k, axis=0) for values in atoms))


def _unit(h: FloatArray) -> FloatArray:
    return np.asarray(h / np.maximum(np.linalg.norm(h, axis=1, keepdims=True), 1e-300))
