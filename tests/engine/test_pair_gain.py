from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]


def test_gain_of_a_pair_is_a_difference_of_likelihoods() -> None:
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "tests.engine.pair_gain"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    gains, differences = np.array(json.loads(done.stdout)).T
    assert np.ptp(differences) > 1.0
    np.testing.assert_allclose(gains, differences, rtol=1e-8, atol=1e-8)
