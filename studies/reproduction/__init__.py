"""The studies, each a plan of pieces and a function that runs one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from studies.pieces import Piece
from studies.reproduction.presets import Preset
from studies.runner import Run
from studies.reproduction import ablation, covariance, real_data, simulated, timing, traces

__all__ = ["STUDIES", "Study"]


class Study(NamedTuple):
    """`alone`: its pieces run one at a time, after all others, because they are timed."""

    title: str
    plan: Callable[[Preset], list[Piece]]
    run: Run
    alone: bool = False


STUDIES = {
    "simulated": Study("Nine simulated functions", simulated.plan, simulated.run),
    "real_estate": Study("House prices in Taipei", real_data.plan_real_estate, real_data.run_real_estate),
    "sp500": Study("S&P 500", real_data.plan_sp500, real_data.run_sp500),
    "timing": Study("Time", timing.plan, timing.run, alone=True),
    "ablation": Study("Error over (alpha, nu)", ablation.plan, ablation.run),
    "covariance": Study("The random covariance", covariance.plan, covariance.run),
    "traces": Study("Mixing", traces.plan, traces.run),
}
