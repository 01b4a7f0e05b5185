"""How well change points are found: F1 and the covering metric of van den Burg and Williams (2020).

A change point is the index of the first observation after a change. Several people may have annotated one series.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

MARGIN = 5


class Found(NamedTuple):
    """Share of found change points that are right, share of annotated ones that are found, and their harmonic mean."""

    precision: float
    recall: float
    f1: float


def compare(annotations: Sequence[Collection[int]], found: Collection[int], margin: int = MARGIN) -> Found:
    """Compare found change points with annotated ones.

    A found one is right if anybody annotated one at most `margin` away; each counts once. Recall is the mean over
    people. The first index counts as a change point everywhere, so that all numbers exist without any.

    Parameters
    ----------
    annotations : sequence of collections of int
        The change points of each person.
    found : collection of int
    margin : int

    Examples
    --------
    >>> [round(part, 3) for part in compare([[50, 100], []], [52, 80])]
    [0.667, 0.833, 0.741]
    """
    everyone = [{0, *points} for points in annotations]
    points = {0, *found}
    precision = n_matched(set().union(*everyone), points, margin) / len(points)
    recall = float(np.mean([n_matched(person, points, margin) / len(person) for person in everyone]))
    return Found(precision, recall, 2.0 * precision * recall / (precision + recall))


def n_matched(annotated: Collection[int], found: Collection[int], margin: int) -> int:
    """Return how many annotated points have a found one at most `margin` away, in order; each is used once.

    Examples
    --------
    >>> n_matched([10, 12, 40], [11, 60], 5)
    1
    """
    left, n = sorted(found), 0
    for point in sorted(annotated):
        if close := [other for other in left if abs(other - point) <= margin]:
            left.remove(min(close, key=lambda other: abs(other - point)))
            n += 1
    return n


def covering(annotations: Sequence[Collection[int]], found: Collection[int], n: int) -> float:
    """Return how well the found segments cover the annotated ones, from 0 to 1, as a mean over people.

    Each annotated segment counts with its length times its largest Jaccard index with a found segment.

    Parameters
    ----------
    annotations, found
        As for `compare`.
    n : int
        Length of the series.

    Examples
    --------
    >>> covering([[5]], [], 10)
    0.5
    """
    theirs = _segments(found, n)
    return float(np.mean([_cover(_segments(points, n), theirs) / n for points in annotations]))


def _segments(points: Collection[int], n: int) -> list[tuple[int, int]]:
    ends = [0, *sorted({point for point in points if 0 < point < n}), n]
    return list(itertools.pairwise(ends))


def _cover(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> float:
    return sum((b - a) * max(_jaccard((a, b), other) for other in second) for a, b in first)


def _jaccard(first: tuple[int, int], second: tuple[int, int]) -> float:
    both = max(0, min(first[1], second[1]) - max(first[0], second[0]))
    return both / (first[1] - first[0] + second[1] - second[0] - both)
