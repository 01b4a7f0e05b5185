"""Positions in the small arrays of a chain; its fields are documented in `tuples.py`."""

from __future__ import annotations

# chain.theta
ALPHA, LOG_NU, LOG_SIGMA2 = 0, 1, 2
# chain.counts
ATOMS, GROUPS, SWEEPS, SHARPNESS = 0, 1, 2, 3
# rows of chain.tally (attempts, acceptances)
BIRTH, DEATH, ROTATION, REFLECTION, ALPHA_SCALES, ALPHA_MARKS, NU, SIGMA2 = 0, 1, 2, 3, 4, 5, 6, 7
SHARPNESS_MOVE, PAIR_REFLECTION, NOISE_SHARE = 8, 9, 10
N_MOVES = 11
# entries of a loose atom's numbers: tau' P tau and tau' P y without the others, then with them integrated out, and
# tau' W tau and tau' W y
T_T, T_Y, A, B, W_T, W_Y = 0, 1, 2, 3, 4, 5
N_NUMBERS = 6
