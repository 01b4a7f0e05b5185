"""Compiled functions do the same as plain Python. Their random streams are bit-identical, so chains agree."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tests.conftest import ROOT
from widestable.exact import build_partition, posterior_predictive

PLANE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.3, 0.6]])
SPACE = np.concatenate([np.zeros((1, 3)), np.eye(3), [[0.4, 0.3, 0.2]]])


def answers() -> list[list[float]]:
    chains = [
        posterior_predictive(
            PLANE,
            3.0 * PLANE[:, 0],
            alpha=1.1,
            nu=1.0,
            sampler=sampler,
            iterations=10,
            burn_in=0,
            random_state=0,
        )
        for sampler in ("metropolis", "gibbs")
    ]
    q = [build_partition(PLANE).q.tolist(), build_partition(SPACE, n_directions=10).q.tolist()]
    return q + [chain.f_train.ravel().tolist() for chain in chains]


@pytest.mark.statistical
def test_plain_python_gives_the_same_chains() -> None:
    script = "import json; from tests.exact.test_uncompiled import answers; print(json.dumps(answers()))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for compiled, plain in zip(answers(), json.loads(done.stdout), strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-8, atol=1e-10)
