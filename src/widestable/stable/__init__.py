"""Stable laws and the jump measure, computed in logs.

Conventions, used everywhere in the library (`alpha` in (0, 2], `a = alpha / 2`):

* positive stable `s ~ S+(alpha/2)` has Laplace transform `E exp(-t s) = exp(-t**a)`; `s = 1` at `alpha = 2`;
* symmetric stable `x` has characteristic function `E exp(i t x) = exp(-|t|**alpha)`: Cauchy at `alpha = 1`,
  N(0, 2) at `alpha = 2`, and `x = sqrt(2 s) G` with G standard normal at every `alpha`;
* the jump measure `rho(v) = nu**a * a / Gamma(1-a) * v**(-1-a)` has `E exp(-t sum v) = exp(-(nu t)**a)`.

The scales of these laws spread over `1/alpha` orders of magnitude, so the functions that matter take and
return logarithms. `1 - a` is always formed as `(2 - alpha) / 2`, which is exact near `alpha = 2`.
"""

from .densities import density_positive, density_symmetric, log_density_positive, log_density_symmetric
from .draws import draw_log_positive, draw_positive, draw_symmetric, log_kanter
from .jump_measure import (
    log_mark_of_scale,
    log_remainder,
    log_scale_of_mark,
    log_threshold,
    n_atoms_of_remainder,
    n_atoms_of_threshold,
    relative_sd_ignored,
)

__all__ = [
    "density_positive",
    "density_symmetric",
    "draw_log_positive",
    "draw_positive",
    "draw_symmetric",
    "log_density_positive",
    "log_density_symmetric",
    "log_kanter",
    "log_mark_of_scale",
    "log_remainder",
    "log_scale_of_mark",
    "log_threshold",
    "n_atoms_of_remainder",
    "n_atoms_of_threshold",
    "relative_sd_ignored",
]
