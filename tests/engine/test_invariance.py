"""Every move leaves the posterior invariant, and the check notices when one does not."""

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
from widestable.engine.model import Plan

from .invariance import MADE, p_values, small_model

ROOT = Path(__file__).resolve().parents[2]
NOTHING = Plan(n_hyper=0, n_sharpness=0, n_births=0, n_passes=0, n_pairs=0, n_pair_reflections=0)
# Which moves run: parameters only where `has_atoms` is off (the atoms are there, but not moved).
CASES = {
    "everything": ({}, Plan()),
    "everything, two inputs": ({"d": 2}, Plan()),
    "alpha and nu": ({"infer_sigma2": False, "has_atoms": False}, NOTHING._replace(n_hyper=10)),
    "alpha": ({"infer_sigma2": False, "infer_nu": False, "has_atoms": False}, NOTHING._replace(n_hyper=10)),
    "nu": ({"infer_sigma2": False, "infer_alpha": False, "has_atoms": False}, NOTHING._replace(n_hyper=10)),
    "sigma2": ({"infer_alpha": False, "infer_nu": False, "has_atoms": False}, NOTHING._replace(n_hyper=10)),
    "births and deaths": ({}, NOTHING._replace(n_births=20)),
    "atoms": ({}, NOTHING._replace(n_passes=2)),
    "pairs": ({}, NOTHING._replace(n_pairs=8)),
    "reflected pairs": ({}, NOTHING._replace(n_pair_reflections=20)),
    "reflected pairs, two inputs": ({"d": 2}, NOTHING._replace(n_pair_reflections=20)),
    "sharpness": ({"smooth": True}, NOTHING._replace(n_sharpness=10)),
    "parameters, low rank": ({"low_rank": True, "has_atoms": False}, NOTHING._replace(n_hyper=10)),
    "everything, low rank, two inputs": ({"low_rank": True, "d": 2}, Plan()),
    "everything, smooth": ({"smooth": True}, Plan()),
    "everything, smooth, two inputs": ({"smooth": True, "d": 2}, Plan()),
}
# Enough of the moves, for one sweep, that a wrong one leaves its mark.
OF_PARAMETERS, OF_ATOMS = NOTHING._replace(n_hyper=30), Plan(n_births=20, n_passes=3)
OF_SHARPNESS, OF_PAIRS = NOTHING._replace(n_sharpness=20), NOTHING._replace(n_pair_reflections=40)
# A tight prior of nu, and little noise, make slips that touch them plainer.
TIGHT: dict[str, object] = {"log_nu_sd": 0.3}
TIGHT_AND_QUIET = {"log_nu_sd": 0.3, "infer_sigma2": False}
QUIET: dict[str, object] = {"infer_sigma2": False}
SMOOTH: dict[str, object] = {"smooth": True}
# What a slip would make of a line of some file.
SLIPS = {
    "no Jacobian in move A": (
        OF_PARAMETERS,
        TIGHT,
        "alpha_scales.py",
        "value - current + log_jacobian",
        "value - current",
    ),
    "no prior ratio for nu in move A": (
        OF_PARAMETERS,
        TIGHT,
        "alpha_scales.py",
        "log_ratio += log_prior_log_nu(log_nu_new, model) - log_prior_log_nu(log_nu, model)",
        "pass",
    ),
    "no prior ratio for nu in move C": (
        OF_PARAMETERS,
        TIGHT,
        "nu.py",
        "+ log_prior_log_nu(log_nu + change, model) - log_prior_log_nu(log_nu, model)",
        "",
    ),
    "no prior for sigma2": (
        OF_PARAMETERS,
        TIGHT,
        "sigma2.py",
        "+ log_prior_log_sigma2(new) - log_prior_log_sigma2(log_sigma2)",
        "",
    ),
    "remainder without its weight": (
        OF_PARAMETERS,
        TIGHT_AND_QUIET,
        "system.py",
        "1.0 / (g * model.",
        "1.0 / (0.0 * model.",
    ),
    "spread within rows forgotten": (
        OF_PARAMETERS,
        TIGHT,
        "system.py",
        "model.ss_within * math.exp(-log_sigma2)",
        "0.0",
    ),
    "birth off by one": (OF_ATOMS, {}, "birth_death.py", "(k + 1.0)", "(k + 2.0)"),
    "death without k/N": (OF_ATOMS, {}, "birth_death.py", "math.log(n_before / model.n_atoms) - ", "-"),
    "no factor gamma in the slice": (OF_ATOMS, {}, "scale.py", "return log_mark + log_gain", "return log_gain"),
    "one factor gamma for two marks": (OF_ATOMS, {}, "pair.py", "return 2.0 * shift", "return shift"),
    "rotations always accepted": (
        OF_ATOMS,
        {},
        "propose.py",
        "if not math.log(1.0 - rng.random()) < log_ratio:",
        "if False:",
    ),
    "reflections without the sums of weights": (
        OF_PAIRS,
        {},
        "pair_reflection.py",
        "n_drawn * math.log(total / total_new)",
        "0.0",
    ),
    "reflected pairs always accepted": (
        OF_PAIRS,
        QUIET,
        "pair_reflection.py",
        "< after - before + log_ratio",
        "< log_ratio",
    ),
    "one of two reflections judged": (
        OF_PAIRS,
        QUIET,
        "pair_reflection.py",
        "work, NEW_ONE, NEW_TWO",
        "work, NEW_ONE, OLD_TWO",
    ),
    "no prior ratio for nu in the share of the noise": (
        OF_PARAMETERS,
        {"low_rank": True, **TIGHT},
        "noise_share.py",
        "log_ratio += log_prior_log_nu(log_nu_new, model) - log_prior_log_nu(log_nu, model)",
        "pass",
    ),
    "no prior of the sharpness": (
        OF_SHARPNESS,
        SMOOTH,
        "sharpness.py",
        "model.grid_log_prior[there] - model.grid_log_prior[here] - log_prior",
        "-log_prior",
    ),
    "no Jacobian of rescaled hyperplanes": (
        OF_SHARPNESS,
        SMOOTH,
        "sharpness.py",
        "log_ratio += width * math.log(factor)",
        "pass",
    ),
    "no prior ratio of rescaled hyperplanes": (
        OF_SHARPNESS,
        SMOOTH,
        "sharpness.py",
        "log_ratio += 0.5 * (1.0 - factor * factor) * trial.h[k, j] ** 2",
        "pass",
    ),
    "no prior ratio of nu beside the sharpness": (
        OF_SHARPNESS,
        {**SMOOTH, "log_nu_sd": 0.3},
        "sharpness.py",
        "    log_ratio += log_prior(theta, model)\n",
        "    log_ratio += log_prior(chain.theta, model)\n",
    ),
    "no likelihood beside the sharpness": (
        OF_SHARPNESS,
        {**SMOOTH, "infer_sigma2": False},
        "sharpness.py",
        "< value - current + log_ratio",
        "< log_ratio",
    ),
}


# Single moves tell which one is at fault; that one is, all of them together tell.
ALONE = (
    "alpha",
    "nu",
    "sigma2",
    "alpha and nu",
    "births and deaths",
    "sharpness",
    "reflected pairs",
    "parameters, low rank",
)
BY_COST = [pytest.param(c, marks=pytest.mark.slow if c in ALONE else pytest.mark.statistical) for c in CASES]


@pytest.mark.parametrize("case", BY_COST)
def test_prior_is_invariant(case: str, rng: np.random.Generator) -> None:
    changes, plan = CASES[case]
    made = {name: changes[name] for name in MADE if name in changes}
    model = small_model(**made)._replace(**{name: v for name, v in changes.items() if name not in made})
    found = p_values(model, plan, 5, 2000, rng)
    for name, p_value in found.items():
        check_p_value(p_value, name, len(found))


def run_interpreted(package_root: Path, plan: Plan, changes: dict[str, object]) -> dict[str, float]:
    """P-values of the package under `package_root`, without compilation."""
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": f"{package_root}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "tests.engine.invariance", "2000", json.dumps(plan), json.dumps(changes)]
    done = subprocess.run(command, cwd=package_root, env=env, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "changes"),
    [
        (OF_PARAMETERS, TIGHT_AND_QUIET),
        (OF_PARAMETERS, TIGHT),
        (OF_PARAMETERS, {"low_rank": True, **TIGHT}),
        (OF_ATOMS, {}),
        (OF_PAIRS, {}),
        (OF_PAIRS, QUIET),
        (OF_SHARPNESS, SMOOTH),
    ],
)
def test_uncompiled_engine_is_invariant(plan: Plan, changes: dict[str, object]) -> None:
    found = run_interpreted(ROOT / "src", plan, changes)
    assert min(found.values()) >= P_VALUE / len(found)


@pytest.mark.slow
@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_noticed(slip: str, tmp_path: Path) -> None:
    plan, changes, name, right, wrong = SLIPS[slip]
    shutil.copytree(ROOT / "src" / "widestable", tmp_path / "widestable")
    (path,) = (tmp_path / "widestable" / "engine").rglob(name)
    source = path.read_text(encoding="utf-8")
    assert source.count(right) == 1, f"{name} no longer holds {right!r}: bring this test up to date"
    path.write_text(source.replace(right, wrong), encoding="utf-8")
    found = run_interpreted(tmp_path, plan, changes)
    assert min(found.values()) < P_VALUE / len(found), f"not noticed: {found}"
