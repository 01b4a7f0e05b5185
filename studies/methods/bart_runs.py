"""BART by three libraries as runs that go on: stochtree, bartz and pymc-bart, each with its defaults."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from studies.forecasts import scale
from studies.methods.jax_setup import prepare_jax
from studies.methods.running import LATE_PART, MAX_KEPT, N_CHAINS, N_WARM, Indices, Records, quantiles_from, spread
from studies.methods.trees import sample_bart
from studies.problems import Floats, Problem

FIRST_LENGTH = 64
# Iterations per call of bartz, which compiles again for every other number.
CHUNK = 20
N_TREES = 50


class StochtreeRun:
    """BART by stochtree, 200 trees, chains from grown forests.

    The library continues a run only through a text form of all its forests. So runs of 64, 128, 256, ... iterations
    each start afresh. `advance` shows more of the longest, and makes one of at least twice the length when it is used
    up. Time is assigned in proportion to the iterations of the run that is shown; shorter runs before it do not count.

    Parameters
    ----------
    problem : Problem
    rows : ndarray of int
        Training rows at which f is judged.
    seed : int
    """

    def __init__(self, problem: Problem, rows: Indices, seed: int) -> None:
        self.n_iterations, self._length, self._run_seconds = 0, 0, 0.0
        self._data, self._rows, self._seed = scale(problem.X, problem.y, problem.X_new), rows, seed

    @property
    def seconds(self) -> float:
        """The part of the run's processor seconds that belongs to what is shown of it."""
        return self._run_seconds * self.n_iterations / self._length if self._length else 0.0

    def advance(self, n_iterations: int) -> None:
        """Show so many more iterations."""
        self.n_iterations += n_iterations
        if self.n_iterations > self._length:
            self._run(max(2 * self._length, self.n_iterations, FIRST_LENGTH))

    def _run(self, length: int) -> None:
        thin = -(-length // MAX_KEPT)
        n_keep = -(-length // thin)
        how = {"n_chains": N_CHAINS, "n_warm": 0, "n_keep": n_keep, "thin": thin}
        started = time.process_time()
        self._model = sample_bart(self._data.X, self._data.y, None, self._seed, **how)
        self._run_seconds = time.process_time() - started
        self._length, self._iteration = thin * n_keep, thin * np.arange(1, n_keep + 1)
        # Of all draws, once per run.
        self._at_new: Floats | None = None

    def _shown(self, part: float) -> Indices:
        is_early = self._iteration <= (1.0 - part) * self.n_iterations
        return np.flatnonzero(~is_early & (self._iteration <= self.n_iterations))

    def f(self, part: float = LATE_PART) -> Floats:
        """Return f at the judged rows, (chains, draws, rows)."""
        f = np.asarray(self._model.y_hat_train)[self._rows].T
        return f.reshape(N_CHAINS, len(self._iteration), -1)[:, self._shown(part)]

    def quantiles(self) -> Floats:
        """Return quantiles of a new observation at LEVELS, (m, 100)."""
        if self._at_new is None:
            found = self._model.predict(X=self._data.X_new, terms="y_hat")
            self._at_new = np.asarray(found).T.reshape(N_CHAINS, len(self._iteration), -1)
        noise_sd = np.sqrt(np.asarray(self._model.global_var_samples)).reshape(N_CHAINS, -1)
        shown = np.array(spread(self._shown(LATE_PART)))
        found = quantiles_from(self._at_new[:, shown], noise_sd[:, shown], np.random.default_rng(self.n_iterations))
        return self._data.y_mean + self._data.y_scale * found


class _RecordedTrees:
    """What the two libraries below share: f at the judged rows, f at new rows when needed, and the noise, per draw."""

    def __init__(self, problem: Problem, rows: Indices) -> None:
        self.n_iterations, self.seconds = 0, 0.0
        self._data, self._rows, self._records = scale(problem.X, problem.y, problem.X_new), rows, Records()

    def f(self, part: float = LATE_PART) -> Floats:
        """Return f at the judged rows, (chains, draws, rows)."""
        kept = self._records.last(part, self.n_iterations)
        return np.stack([f for f, *_ in kept], axis=1) if kept else np.empty((N_CHAINS, 0, len(self._rows)))

    def quantiles(self) -> Floats:
        """Return quantiles of a new observation at LEVELS, (m, 100)."""
        return quantiles_from(*self.at_new(), np.random.default_rng(self.n_iterations))

    def at_new(self) -> tuple[Floats, Floats]:
        """Return some draws of f at the new rows, (draws, chains, m), and of the noise s.d., (draws, chains)."""
        shown = spread(self._records.last(LATE_PART, self.n_iterations))
        f = np.array([self._f_new(of_new) for _, of_new, _ in shown])
        noise_sd = np.array([noise for *_, noise in shown])
        return self._data.y_mean + self._data.y_scale * f, self._data.y_scale * noise_sd

    def _f_new(self, of_new: Any) -> Floats:
        """Return f at the new rows, (chains, m), from what was recorded for that."""
        raise NotImplementedError


class BartzRun(_RecordedTrees):
    """BART by bartz, 200 trees, in single precision as the library requires. Runs continue exactly.

    Parameters
    ----------
    problem : Problem
    rows : ndarray of int
        Training rows at which f is judged.
    seed : int
    """

    def __init__(self, problem: Problem, rows: Indices, seed: int) -> None:
        super().__init__(problem, rows)
        self._jax = prepare_jax()
        self._seed, self._model = seed, None
        self._all_rows = np.concatenate([self._data.X[rows], self._data.X_new]).T
        with self._jax.enable_x64(False):
            self._key = self._jax.random.key(seed)
            for _ in range(2):  # compiles: what starts a run differs from what continues it
                self._more()
            self._predict()
        self._model = None

    def advance(self, n_iterations: int) -> None:
        """Make iterations, in calls of 20."""
        for _ in range(-(-n_iterations // CHUNK)):
            with self._jax.enable_x64(False):
                started = time.process_time()
                self._more()
                self.seconds += time.process_time() - started
                self._record()
            self.n_iterations += CHUNK

    def _more(self) -> None:
        """Make 20 iterations, the first time from the start; `_model` then has these draws and no others."""
        import equinox
        from bartz import Bart
        from bartz.mcmcloop import run_mcmc

        if self._model is None:
            how: dict[str, Any] = {"n_save": CHUNK, "n_burn": 0, "num_chains": N_CHAINS, "num_chain_devices": None}
            y = self._data.y.astype(np.float32)
            self._model = Bart(self._data.X.T, y, printevery=None, seed=self._seed, **how)
            self._state = self._model._mcmc_state
        else:
            self._state, _, trace = run_mcmc(self._key, self._state, CHUNK)
            self._model = equinox.tree_at(lambda model: model._main_trace, self._model, trace)
        self._jax.block_until_ready(self._state)

    def _predict(self) -> tuple[Floats, Floats]:
        """Return f at the judged and the new rows, (chains, 20, rows), and the noise s.d., (chains, 20)."""
        assert self._model is not None
        f = np.asarray(self._model.predict(self._all_rows, kind="latent_samples"))
        return f.reshape(N_CHAINS, CHUNK, -1), np.asarray(self._model.get_error_sdev()).reshape(N_CHAINS, CHUNK)

    def _record(self) -> None:
        iterations = self.n_iterations + np.arange(1, CHUNK + 1)
        if not np.any(iterations % self._records.every == 0):
            return
        f, noise_sd = self._predict()
        n_judged = len(self._rows)
        for k, iteration in enumerate(iterations):
            # In double precision, as the diagnostics compute.
            item = f[:, k, :n_judged].astype(float), f[:, k, n_judged:], noise_sd[:, k]
            self._records.add(int(iteration), item)

    def _f_new(self, of_new: Any) -> Floats:
        return np.asarray(of_new, dtype=float)


class PymcRun(_RecordedTrees):
    """BART by pymc-bart, 50 trees by particle Gibbs, noise with a half-normal(1) prior by NUTS.

    A step changes a tenth of the trees. The first steps adapt and are dropped. The library sends the trees of every
    step to another process; here they are kept in this one. Its compiled parts take no seed, so draws differ from run
    to run.

    Parameters
    ----------
    problem : Problem
    rows : ndarray of int
        Training rows at which f is judged.
    seed : int
    n_warm : int
        Steps that adapt.
    """

    def __init__(self, problem: Problem, rows: Indices, seed: int, n_warm: int = N_WARM) -> None:
        super().__init__(problem, rows)
        self._n_warm = n_warm
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about versions to come
            self._start(seed)

    def _start(self, seed: int) -> None:
        """Build the model and a sampler per chain, and make a step of a sampler that is not used again: it compiles."""
        import pymc
        import pymc_bart

        np.random.seed(seed)  # noqa: NPY002, where the library looks for random numbers
        with pymc.Model() as model:
            f = pymc_bart.BART("f", self._data.X.copy(), self._data.y, m=N_TREES)
            noise = pymc.HalfNormal("noise", 1.0)
            pymc.Normal("y", f, noise, observed=self._data.y)
            type(f.owner.op).all_trees = _Nowhere()
            spare, *self._steps = [
                pymc.CompoundStep([pymc.NUTS([noise]), pymc_bart.PGBART([f])]) for _ in range(1 + N_CHAINS)
            ]
        spare.step(model.initial_point())
        self._points = [model.initial_point() for _ in range(N_CHAINS)]

    def advance(self, n_iterations: int) -> None:
        """Make steps; those after the first `n_warm` without adaptation."""
        started = time.process_time()
        for _ in range(n_iterations):
            if self.n_iterations == self._n_warm:
                for step in self._steps:
                    step.stop_tuning()
            pairs = zip(self._steps, self._points, strict=True)
            self._points = [step.step(point)[0] for step, point in pairs]
            self.n_iterations += 1
            if self.n_iterations > self._n_warm:
                self._record()
        self.seconds += time.process_time() - started

    def _record(self) -> None:
        f = np.array([point["f"][self._rows] for point in self._points])
        # A step replaces trees and leaves the old ones as they are.
        trees = [step.methods[1].all_trees[0].copy() for step in self._steps]
        self._records.add(self.n_iterations, (f, trees, np.exp([point["noise_log__"] for point in self._points])))

    def _f_new(self, of_new: Any) -> Floats:
        return np.array([sum(tree.predict(self._data.X_new)[0] for tree in trees) for trees in of_new])


class _Nowhere(list[Any]):
    """Where pymc-bart may append its trees."""

    def append(self, trees: Any) -> None:
        """Forget them."""
