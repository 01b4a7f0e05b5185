"""Every compiled move leaves the posterior invariant, and the check notices when one does not.

The moves of the law of the hyperplanes have their own tests in `moves/test_law.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.checks import P_VALUE, check_p_value
from widestable.engine.sweep import Plan

from .invariance import NOTHING, Case, p_values

ROOT = Path(__file__).resolve().parents[2]
QUIET: dict[str, object] = {"infer_sigma2": False}
# Parameters only where `has_atoms` is off: the atoms are there, but not moved.
HELD: dict[str, object] = {"has_atoms": False}
# A third of the half-Cauchy law of sigma2 is below.
FLOOR: dict[str, object] = {"log_sigma2_floor": -0.5}
# A quarter of the observations are outliers.
OFTEN: dict[str, object] = {"spike_a": 1.0, "spike_b": 3.0}
PARAMETERS = NOTHING._replace(n_parameters=10)
CASES = {
    "everything": Case(Plan()),
    "everything, two inputs": Case(Plan(), d=2),
    "alpha and nu": Case(PARAMETERS, changes={**HELD, **QUIET}),
    "alpha": Case(PARAMETERS, changes={**HELD, **QUIET, "infer_nu": False}),
    "nu": Case(PARAMETERS, changes={**HELD, **QUIET, "infer_alpha": False}),
    "sigma2": Case(PARAMETERS, changes={**HELD, "infer_alpha": False, "infer_nu": False}),
    "births and deaths": Case(NOTHING._replace(n_births=20)),
    "atoms": Case(NOTHING._replace(n_passes=2)),
    "pairs": Case(NOTHING._replace(n_pairs=8)),
    "reflected pairs": Case(NOTHING._replace(n_pair_reflections=20)),
    "reflected pairs, two inputs": Case(NOTHING._replace(n_pair_reflections=20), d=2),
    "parameters, low rank": Case(PARAMETERS, low_rank=True, changes=HELD),
    "sigma2 above a high floor, low rank": Case(PARAMETERS, low_rank=True, changes={**HELD, **FLOOR}),
    "everything, low rank, two inputs": Case(Plan(), low_rank=True, d=2),
    "everything, smooth": Case(Plan(), n_visits=1, smooth=True),
    "everything, smooth, two inputs": Case(Plan(), n_visits=1, smooth=True, relevance=True, d=2),
    "outliers": Case(NOTHING._replace(n_spikes=10), spikes=True, changes=OFTEN),
    "atoms with outliers": Case(NOTHING._replace(n_passes=3), spikes=True, d=2, changes=OFTEN),
    "everything with outliers": Case(Plan(), spikes=True, d=2, changes=OFTEN),
    "everything with outliers, one row": Case(Plan(), spikes=True, n_rows=1, changes=OFTEN),
    "everything with outliers, low rank": Case(Plan(), spikes=True, low_rank=True, changes=OFTEN),
    "everything by default": Case(Plan(), n_visits=1, d=2, relevance=True, spikes=True, changes=OFTEN),
    "everything with outliers, smooth": Case(Plan(), n_visits=1, smooth=True, spikes=True, changes=OFTEN),
}
# Enough of the moves, for one sweep, that a wrong one leaves its mark.
OF_PARAMETERS, OF_ATOMS = NOTHING._replace(n_parameters=30), Plan(n_births=20, n_passes=3)
OF_PAIRS = NOTHING._replace(n_pair_reflections=40)
# A tight prior of nu, and little noise, make slips that touch them plainer.
TIGHT = Case(OF_PARAMETERS, changes={"log_nu_sd": 0.3})
TIGHT_AND_QUIET = Case(OF_PARAMETERS, changes={"log_nu_sd": 0.3, **QUIET})
TIGHT_AND_LOW = TIGHT._replace(low_rank=True)
FLOORED = Case(OF_PARAMETERS, low_rank=True, changes=FLOOR)
ATOMS, PAIRS = Case(OF_ATOMS), Case(OF_PAIRS)
QUIET_PAIRS = Case(OF_PAIRS, changes=QUIET)
OUTLIERS = Case(NOTHING._replace(n_spikes=10), spikes=True, changes=OFTEN)
NOISE_OF_OUTLIERS = Case(OF_PARAMETERS, spikes=True, changes=OFTEN)
PASSING = Case(NOTHING._replace(n_passes=10), spikes=True, changes={"spike_a": 3.0, "spike_b": 3.0})
ONE_OUTLIER = Case(OF_ATOMS, spikes=True, n_rows=1, changes=OFTEN)
# What a slip would make of a line of some file.
SLIPS = {
    "no Jacobian in move A": (TIGHT, "alpha_scales.py", "chain.log_likelihood + log_jacobian", "chain.log_likelihood"),
    "no prior ratio for nu in move A": (
        TIGHT,
        "alpha_scales.py",
        "log_ratio += log_prior_log_nu(log_nu_new, chain.kernel, model)",
        "log_ratio += log_prior_log_nu(log_nu, chain.kernel, model)",
    ),
    "no prior ratio for nu in move C": (
        TIGHT,
        "nu.py",
        "+ log_prior_log_nu(log_nu + change, kernel, model) - log_prior_log_nu(log_nu, kernel, model)",
        "",
    ),
    "no prior for sigma2": (
        TIGHT,
        "sigma2.py",
        "+ log_prior_log_sigma2(new) - log_prior_log_sigma2(log_sigma2)",
        "",
    ),
    "no floor of sigma2": (FLOORED, "sigma2.py", "if new < model.log_sigma2_floor:", "if False:"),
    "no floor of sigma2 in the share of the noise": (
        FLOORED,
        "noise_share.py",
        " or log_sigma2_new < model.log_sigma2_floor",
        "",
    ),
    "remainder without its weight": (
        TIGHT_AND_QUIET,
        "system.py",
        "(g * eigenvalues",
        "(0.0 * eigenvalues",
    ),
    "spread within rows forgotten": (TIGHT, "system.py", "model.ss_within * math.exp(-log_sigma2)", "0.0"),
    "birth off by one": (ATOMS, "birth_death.py", "(k + 1.0)", "(k + 2.0)"),
    "death without k/N": (ATOMS, "birth_death.py", "math.log(n_before / model.n_atoms) - ", "-"),
    "no factor gamma in the slice": (ATOMS, "scale.py", "return log_mark + log_gain", "return log_gain"),
    "one factor gamma for two marks": (ATOMS, "pair_scale.py", "return 2.0 * shift", "return shift"),
    "rotations always accepted": (
        ATOMS,
        "hyperplane.py",
        "if not accept(rng, log_ratio + log_gain_of_proposal(chain, work, k)):",
        "if False:",
    ),
    "as many rotations as the hyperplane says": (
        ATOMS,
        "atom.py",
        "elif is_strong(chain, k):",
        "elif abs(chain.h[k, 0]) > abs(chain.h[k, 1]):",
    ),
    "reflections without the sums of weights": (
        PAIRS,
        "pair_reflection.py",
        "n_drawn * math.log(total / total_new)",
        "0.0",
    ),
    "reflected pairs always accepted": (
        QUIET_PAIRS,
        "pair_reflection.py",
        "accept(rng, after - before + log_ratio)",
        "accept(rng, log_ratio)",
    ),
    "one of two reflections judged": (
        QUIET_PAIRS,
        "pair_reflection.py",
        "work, one_new, two_new, log_v",
        "work, one_new, two, log_v",
    ),
    "other outliers of the row forgotten": (
        OUTLIERS,
        "observations.py",
        "atom.s[g] += inverse * within(model, i, chain.spike[g])",
        "pass",
    ),
    "no prior odds of outliers": (
        OUTLIERS,
        "spikes.py",
        "odds = (n_others + model.spike_a) / (model.obs_row.size - 1 - n_others + model.spike_b)",
        "odds = 1.0",
    ),
    "outliers do not follow sigma2": (
        NOISE_OF_OUTLIERS,
        "sigma2.py",
        "shift_group_scales(chain, new - log_sigma2, 0.0",
        "shift_group_scales(chain, 0.0, 0.0",
    ),
    "outliers grow with sigma2 at fixed spikes": (
        NOISE_OF_OUTLIERS,
        "sigma2_spikes.py",
        "place_of(chain.log_c[g], grid, step) - n_steps]",
        "place_of(chain.log_c[g], grid, step)]",
    ),
    "no prior for sigma2 at fixed spikes": (
        NOISE_OF_OUTLIERS,
        "sigma2_spikes.py",
        "+ log_prior_log_sigma2(new) - log_prior_log_sigma2(chain.log_sigma2)",
        "",
    ),
    "atom merged with an outlier of its pattern": (
        ONE_OUTLIER,
        "loose.py",
        "for g in range(chain.n_spikes, chain.n_groups):",
        "for g in range(chain.n_groups):",
    ),
    "spikes that do not see the hyperplane that passes them": (
        PASSING,
        "passing.py",
        "spike.b - share * atom.b",
        "spike.b",
    ),
    "no prior ratio for nu in the share of the noise": (
        TIGHT_AND_LOW,
        "noise_share.py",
        "log_ratio += log_prior_log_nu(log_nu_new, kernel, model) - log_prior_log_nu(log_nu, kernel, model)",
        "pass",
    ),
}


# Single moves tell which one is at fault; that one is, all of them together tell.
ALONE = ("alpha", "nu", "sigma2", "alpha and nu", "births and deaths", "reflected pairs", "parameters, low rank")
BY_COST = [pytest.param(c, marks=pytest.mark.slow if c in ALONE else pytest.mark.statistical) for c in CASES]


@pytest.mark.parametrize("case", BY_COST)
def test_prior_is_invariant(case: str, rng: np.random.Generator) -> None:
    # Moves of the law are not compiled as a whole, so they take longer.
    found = p_values(CASES[case], 5, 300 if CASES[case].n_visits else 2000, rng)
    for name, p_value in found.items():
        check_p_value(p_value, name, len(found))


def run_interpreted(package_root: Path, case: Case) -> dict[str, float]:
    """P-values of the package under `package_root`, without compilation."""
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": f"{package_root}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "tests.engine.invariance", "2000", json.dumps(case._asdict())]
    done = subprocess.run(command, cwd=package_root, env=env, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        TIGHT_AND_QUIET,
        TIGHT,
        TIGHT_AND_LOW,
        FLOORED,
        ATOMS,
        PAIRS,
        QUIET_PAIRS,
        OUTLIERS,
        NOISE_OF_OUTLIERS,
        PASSING,
        ONE_OUTLIER,
    ],
)
def test_uncompiled_engine_is_invariant(case: Case) -> None:
    found = run_interpreted(ROOT / "src", case)
    assert min(found.values()) >= P_VALUE / len(found)


def plant(slip: str, package: Path) -> None:
    """Change one line of a package."""
    _, name, right, wrong = SLIPS[slip]
    (path,) = (package / "engine").rglob(name)
    source = path.read_text(encoding="utf-8")
    assert source.count(right) == 1, f"{name} no longer holds {right!r}: bring this test up to date"
    path.write_text(source.replace(right, wrong), encoding="utf-8")


def test_slips_can_be_planted(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src" / "widestable" / "engine", tmp_path / "engine")
    for slip in SLIPS:
        plant(slip, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_noticed(slip: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src" / "widestable", tmp_path / "widestable")
    plant(slip, tmp_path / "widestable")
    found = run_interpreted(tmp_path, SLIPS[slip][0])
    assert min(found.values()) < P_VALUE / len(found), f"not noticed: {found}"
