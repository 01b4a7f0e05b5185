from __future__ import annotations

import numpy as np
import pytest

from tests.checks import check_mean
from tests.exact.joint import X_NEW, X_TRAIN, prior_draw, small_target
from tests.exact.twins import grid
from tests.twins import log_normal_density
from widestable.exact import build_partition
from widestable.exact.target import (
    build_target,
    covariance,
    draw_coefficients,
    factor,
    group_cells,
    initial_scales,
    log_limit,
    log_marginal,
    signed_sums,
)
from widestable.inputs import check_training
from widestable.network import arcsine_kernel

Y = np.array([0.3, -1.0, 0.4, 2.0])
INDEX = [0, 1, 1, 2]


def test_groups_hold_the_cells_that_split_training_rows_alike(rng: np.random.Generator) -> None:
    X = np.concatenate([grid(3, 3), rng.normal(size=(4, 2))])
    partition = build_partition(X)
    cells = group_cells(partition.signs, partition.q, 9, 1.3, 2.0)
    assert len(cells.log_size) == len(partition.q)
    assert len(np.unique(cells.patterns, axis=0)) == len(cells.patterns) == len(build_partition(X[:9]).q)
    for group, pattern in enumerate(cells.patterns):
        mine = cells.signs[cells.starts[group] : cells.starts[group + 1], :9]
        assert len(mine) > 0
        assert (mine == pattern).all()
    # nu q**(2/alpha) still belongs to its pattern.
    size = {tuple(row * row[0]): 2.0 * q ** (2 / 1.3) for row, q in zip(partition.signs, partition.q, strict=True)}
    for row, log_size in zip(cells.signs, cells.log_size, strict=True):
        assert np.exp(log_size) == pytest.approx(size[tuple(row)], rel=1e-12)


def test_covariance_is_the_sum_over_cells(rng: np.random.Generator) -> None:
    target = small_target(Y, 1.0)
    log_s = prior_draw(target, rng).log_s
    expected, without = np.zeros((3, 3)), np.zeros((3, 3))
    for cell, row in enumerate(target.cells.signs[:, :3].astype(float)):
        term = np.exp(target.cells.log_size[cell] + log_s[cell]) * np.outer(row, row)
        expected += term
        without += 0.0 if target.cells.starts[1] <= cell < target.cells.starts[2] else term
    np.testing.assert_allclose(covariance(target, log_s), expected, rtol=1e-12)
    np.testing.assert_allclose(covariance(target, log_s, without=1), without, rtol=1e-12)


def test_repeated_rows_have_the_likelihood_of_all_observations(rng: np.random.Generator) -> None:
    """Merged rows differ from the full density by a constant that no parameter enters."""
    target = small_target(Y, 1.0)
    differences = []
    for _ in range(3):
        log_s, _, sigma2 = prior_draw(target, rng)
        K = covariance(target, log_s)
        full = log_normal_density(Y, K[np.ix_(INDEX, INDEX)] + sigma2 * np.eye(4))
        differences.append(full - log_marginal(target, factor(target, K, sigma2), sigma2))
    np.testing.assert_allclose(differences, differences[0], rtol=1e-9)


def test_a_singular_covariance_has_no_factor() -> None:
    assert factor(small_target(Y, 1.0), -np.eye(3), 0.5) is None


def test_draws_given_scales_are_gaussian_regression(rng: np.random.Generator) -> None:
    """Mean and covariance of f at training and new rows (Proposition 2), scales at one (alpha = 2)."""
    target = small_target(Y, 2.0, nu=1.5, sigma2=0.4)
    n_cells = len(target.cells.log_size)
    K = 1.5 * arcsine_kernel(np.concatenate([X_TRAIN, X_NEW]))
    gain = K[:, :4] @ np.linalg.inv(K[:4, :4] + 0.4 * np.eye(4))
    mean, cov = gain @ Y, K - gain @ K[:4]
    lower = factor(target, covariance(target, np.zeros(n_cells)), 0.4)
    draws = np.array([draw_coefficients(target, np.zeros(n_cells), lower, 0.4, rng)[1] for _ in range(20_000)])
    distinct = [0, 1, 3, 4, 5]
    centred = draws - mean[distinct]
    check_mean(draws, mean[distinct])
    check_mean(centred[:, :, None] * centred[:, None, :], cov[np.ix_(distinct, distinct)])
    with pytest.raises(AssertionError):
        check_mean(centred[:, :, None] * centred[:, None, :], 1.1 * cov[np.ix_(distinct, distinct)])


def test_coefficients_add_up_to_f(rng: np.random.Generator) -> None:
    target = small_target(Y, 1.0)
    log_s, _, sigma2 = prior_draw(target, rng)
    z, f = draw_coefficients(target, log_s, factor(target, covariance(target, log_s), sigma2), sigma2, rng)
    beta = z * np.exp(0.5 * (target.cells.log_size + log_s))
    np.testing.assert_allclose(f, beta @ target.cells.signs, atol=1e-12)


def test_initial_scales_are_within_reach(rng: np.random.Generator) -> None:
    target = small_target(1e6 * Y, 0.1, sigma2=1e-3)
    log_v = target.cells.log_size + initial_scales(target, 1e-3, rng)
    assert log_v.max() <= log_limit(target, 1e-3) + 1e-9


def test_order_of_the_given_rows_does_not_matter(rng: np.random.Generator) -> None:
    order = rng.permutation(4)
    one = build_target(
        build_partition(X_TRAIN), check_training(X_TRAIN, Y, standardize=False), alpha=1.0, nu=1.0, sigma2=None
    )
    two = build_target(
        build_partition(X_TRAIN[order]),
        check_training(X_TRAIN[order], Y[order], standardize=False),
        alpha=1.0,
        nu=1.0,
        sigma2=None,
    )
    for a, b in zip((*one.cells, *one[1:]), (*two.cells, *two[1:]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_signed_sums_is_a_matrix_product(rng: np.random.Generator) -> None:
    signs, beta = rng.choice(np.array([-1, 1], dtype=np.int8), (30, 7)), rng.normal(size=30)
    np.testing.assert_allclose(signed_sums(signs, beta), beta @ signs, rtol=1e-12)
