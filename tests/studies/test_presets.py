from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from studies.problems import FUNCTIONS
from studies.methods import METHODS
from studies.pieces import Piece
from studies.reproduction.presets import PRESETS, STAR, Preset
from studies.reproduction import STUDIES


def plan(preset: Preset) -> list[Piece]:
    return [piece for study in STUDIES.values() for piece in study.plan(preset)]


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_every_piece_is_its_own_file_and_plain_data(preset: Preset) -> None:
    pieces = plan(preset)
    assert len({piece.file_name for piece in pieces}) == len(pieces)
    assert all(json.loads(json.dumps(asdict(piece))) == asdict(piece) for piece in pieces)
    assert all(piece.study in STUDIES and piece.method in METHODS for piece in pieces)
    assert f'"{STAR}"' not in json.dumps([piece.settings for piece in pieces])


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_every_method_meets_every_data_set(preset: Preset) -> None:
    met = {(piece.study, piece.data, piece.method) for piece in plan(preset)}
    for method in METHODS:
        assert all(("simulated", function.name, method) in met for function in FUNCTIONS)
        assert {("real_estate", "random_rows", method), ("sp500", "closes", method)} <= met
        assert ("real_estate", "whole_locations", method) in met or method == "published"


def test_the_papers_numbers_of_splits_and_sweeps() -> None:
    for name in ("standard", "full"):
        pieces = plan(PRESETS[name])
        count = {
            (study, data, method): sum((p.study, p.data, p.method) == (study, data, method) for p in pieces)
            for study, data in (("real_estate", "random_rows"), ("real_estate", "whole_locations"), ("sp500", "closes"))
            for method in METHODS
        }
        for (_, data, method), n in count.items():
            assert n == (5 if data == "whole_locations" else 10) or method == "published"
        assert count["real_estate", "random_rows", "published"] == 1
        assert count["sp500", "closes", "published"] == 2
        published = {p.study: p.settings["iterations"] for p in pieces if p.method == "published"}
        assert (published["simulated"], published["real_estate"], published["sp500"]) == (3000, 600, 600)


def test_given_means_the_papers_alpha() -> None:
    for function in FUNCTIONS:
        settings = PRESETS["full"].settings(function.name, "jumps_given")
        assert (settings["alpha"], settings["nu"]) == (function.alpha, 1.0)
        searched = PRESETS["full"].settings(function.name, "published")["alphas"]
        assert searched == [function.alpha] if function.n_inputs == 2 else len(searched) > 9
