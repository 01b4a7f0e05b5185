"""Pictures: functions that draw on `ax` and return it."""

from .bands import plot_band, plot_fit, plot_jump_probability, plot_stacked
from .chains import plot_posterior, plot_ranks, plot_trace
from .maps import plot_boundaries, plot_heat_map, plot_map, predict_grid
from .style import COLORS

__all__ = [
    "COLORS",
    "plot_band",
    "plot_boundaries",
    "plot_fit",
    "plot_heat_map",
    "plot_jump_probability",
    "plot_map",
    "plot_posterior",
    "plot_ranks",
    "plot_stacked",
    "plot_trace",
    "predict_grid",
]
