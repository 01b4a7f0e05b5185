"""Pictures: functions that draw on matplotlib axes and return them.

`bands.py` is for one input, `maps.py` for two, `effects.py` for any number, `outliers.py` marks outliers, `inputs.py`
is for which inputs matter, and `chains.py` for the draws of parameters.
"""

from .bands import plot_band, plot_fit, plot_jump_probability, plot_stacked
from .chains import plot_posterior, plot_ranks, plot_trace
from .effects import plot_effects
from .inputs import plot_relevance
from .maps import plot_boundaries, plot_map, predict_grid
from .outliers import plot_outliers
from .style import COLORS

__all__ = [
    "COLORS",
    "plot_band",
    "plot_boundaries",
    "plot_effects",
    "plot_fit",
    "plot_jump_probability",
    "plot_map",
    "plot_outliers",
    "plot_posterior",
    "plot_ranks",
    "plot_relevance",
    "plot_stacked",
    "plot_trace",
    "predict_grid",
]
