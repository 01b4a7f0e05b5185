from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests import checks, twins
from widestable import network
from widestable.network import (
    add_constant,
    arcsine_kernel,
    draw_hyperplanes,
    draw_network,
    draw_process,
    kernel_diagonal,
    sign_patterns,
    unit_patterns,
)

LINE = np.array([-1.2, 0.3, 2.0])
NU = 1.7


# --- Kernel and patterns ---------------------------------------------------------------------------------


def test_kernel_equals_the_arcsine_of_the_correlation(rng: np.random.Generator) -> None:
    X = rng.normal(size=(6, 3))
    np.testing.assert_allclose(arcsine_kernel(X), twins.arcsine_kernel(X), atol=1e-8)
    Z = add_constant(X)
    rho = Z @ Z.T / np.sqrt(np.outer((Z**2).sum(axis=1), (Z**2).sum(axis=1)))
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(arcsine_kernel(X)[off], 2 / np.pi * np.arcsin(rho[off]), rtol=checks.ROUNDING)


def test_kernel_is_the_mean_product_of_signs(rng: np.random.Generator) -> None:
    X = np.array([[0.0, 1.0], [2.0, -1.0], [-0.5, 0.4]])
    signs = sign_patterns(draw_hyperplanes(50_000, 2, rng), X).astype(float)
    i, j = np.triu_indices(3, 1)
    checks.check_mean(signs[:, i] * signs[:, j], arcsine_kernel(X)[i, j])


def test_kernel_is_symmetric_with_exact_ones_and_no_negative_eigenvalues(rng: np.random.Generator) -> None:
    X = rng.normal(size=(60, 2)) * 10.0 ** rng.uniform(-3, 3, size=(60, 1))
    K = arcsine_kernel(np.vstack([X, X[:5]]))
    assert np.all(np.diag(K) == 1.0)
    assert np.all(K[np.arange(5), 60 + np.arange(5)] == 1.0)
    assert np.all(K == K.T)
    assert np.linalg.eigvalsh(K).min() > -checks.ROUNDING


def test_kernel_keeps_its_digits_for_rows_that_nearly_coincide() -> None:
    """1 - K0 is 2/pi times an angle of 0.5e-9; the arcsine formula would return 0 or 1e-8."""
    K = arcsine_kernel([[1.0]], [[1.0 + 1e-9]])
    angle = np.arctan(1.0 + 1e-9) - np.arctan(1.0)
    np.testing.assert_allclose(1.0 - K, 2 / np.pi * angle, rtol=1e-6)


def test_kernel_is_linear_in_the_angle_between_rows() -> None:
    """Over all angles, to the last digits: the arctangent of the kernel is our own."""
    angle = np.concatenate([np.linspace(-1.5, 1.5, 601), np.pi / 8 + np.array([-1e-9, 0.0, 1e-9])])
    K = arcsine_kernel(np.tan(angle)[:, None])
    np.testing.assert_allclose(K, 1.0 - 2 / np.pi * np.abs(np.subtract.outer(angle, angle)), rtol=0.0, atol=2e-15)


def test_kernel_of_a_row_does_not_depend_on_its_company(rng: np.random.Generator) -> None:
    X, X2 = rng.normal(size=(50, 4)), rng.normal(size=(7, 4))
    whole = arcsine_kernel(X, X2)
    assert whole.shape == (50, 7)
    for i in (0, 13, 49):
        np.testing.assert_array_equal(arcsine_kernel(X[i : i + 1], X2)[0], whole[i])
    np.testing.assert_array_equal(arcsine_kernel(X2, X), whole.T)


def test_kernel_survives_large_inputs() -> None:
    K = arcsine_kernel([[1e300, 0.0], [0.0, -1e300], [1e300, 1e300], [0.0, 0.0]])
    assert np.all(np.isfinite(K))
    np.testing.assert_allclose(K[0], [1.0, 0.0, 0.5, 0.0], atol=1e-15)


@pytest.mark.parametrize("sharpness", [0.1, 0.7, 5.0, 1000.0])
def test_smooth_kernel_is_williams_formula(sharpness: float, rng: np.random.Generator) -> None:
    X, X2 = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    Z, Z2 = add_constant(X), add_constant(X2)
    a, b = 1.0 + 2.0 * sharpness**2 * (Z**2).sum(axis=1), 1.0 + 2.0 * sharpness**2 * (Z2**2).sum(axis=1)
    expected = 2 / np.pi * np.arcsin(2.0 * sharpness**2 * Z @ Z2.T / np.sqrt(np.outer(a, b)))
    np.testing.assert_allclose(arcsine_kernel(X, X2, sharpness), expected, atol=1e-12)
    diagonal = np.diag(arcsine_kernel(X, sharpness=sharpness))
    np.testing.assert_allclose(kernel_diagonal(X, sharpness), diagonal, atol=1e-15)
    np.testing.assert_allclose(diagonal, 2 / np.pi * np.arcsin((a - 1.0) / a), atol=1e-9)


def test_smooth_kernel_is_the_mean_product_of_units(rng: np.random.Generator) -> None:
    X = np.array([[0.0, 1.0], [2.0, -1.0], [-0.5, 0.4]])
    values = unit_patterns(draw_hyperplanes(50_000, 2, rng), X, 0.8)
    i, j = np.triu_indices(3)
    checks.check_mean(values[:, i] * values[:, j], arcsine_kernel(X, sharpness=0.8)[i, j])


def test_units_become_signs_as_the_sharpness_grows(rng: np.random.Generator) -> None:
    X, h = rng.normal(size=(20, 2)), draw_hyperplanes(10, 2, rng)
    np.testing.assert_array_equal(unit_patterns(h, X, 1e9), unit_patterns(h, X))
    np.testing.assert_array_equal(unit_patterns(h, X), sign_patterns(h, X))
    np.testing.assert_allclose(arcsine_kernel(X, sharpness=1e9), arcsine_kernel(X), atol=1e-8)
    np.testing.assert_array_equal(kernel_diagonal(X), np.ones(20))


@pytest.mark.parametrize("sharpness", [0.0, -1.0, np.nan])
def test_a_sharpness_that_is_none_is_refused(sharpness: float) -> None:
    with pytest.raises(ValueError, match="expected a number above 0: pass inf for sign units"):
        arcsine_kernel([[0.0]], sharpness=sharpness)


def test_smooth_kernel_survives_large_inputs() -> None:
    K = arcsine_kernel([[1e300, 0.0], [0.0, -1e300], [0.0, 0.0]], sharpness=0.5)
    np.testing.assert_allclose(np.diag(K), [1.0, 1.0, 2 / np.pi * np.arcsin(1 / 3)], atol=1e-12)


def test_patterns_give_plus_one_on_the_hyperplane_itself() -> None:
    signs = sign_patterns([[0.0, 1.0], [0.0, -1.0], [-2.0, 1.0]], [[0.0], [2.0], [1.0]])
    assert signs.dtype == np.int8
    assert signs.tolist() == [[1, 1, 1], [1, -1, -1], [-1, 1, -1]]


def test_patterns_of_one_hyperplane_and_of_many() -> None:
    h, X = np.arange(24.0).reshape(2, 4, 3) - 11.5, np.array([[0.5, -1.0], [-0.2, 0.3]])
    assert sign_patterns(h, X).shape == (2, 4, 2)
    np.testing.assert_array_equal(sign_patterns(h[1, 2], X), sign_patterns(h, X)[1, 2])


def test_hyperplanes_change_sign_along_a_line_as_the_angles_say(rng: np.random.Generator) -> None:
    """No sign change has probability `1 - (atan x_n - atan x_1)/pi`; the published `1 +` exceeds 1."""
    signs = sign_patterns(draw_hyperplanes(50_000, 1, rng), LINE[:, None])
    first_change = np.where(signs[:, 0] == signs[:, -1], 0, np.argmax(signs != signs[:, :1], axis=1))
    counts = np.bincount(first_change, minlength=3)
    _, q = twins.line_partition(LINE)
    checks.check_frequencies(counts, q)
    printed = np.array([1 + (np.arctan(LINE[-1]) - np.arctan(LINE[0])) / np.pi, *q[1:]])
    with pytest.raises(AssertionError, match="sum to"):
        checks.check_frequencies(counts, printed)
    with pytest.raises(AssertionError, match="do not follow"):
        checks.check_frequencies(counts, printed / printed.sum())


# --- Networks of finite width ----------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.6, 1.0, 1.7, 2.0])
@pytest.mark.parametrize("width", [1, 4])
def test_stable_network_has_its_joint_law_at_any_width(alpha: float, width: int, rng: np.random.Generator) -> None:
    f = draw_network(LINE[:, None], width, alpha=alpha, nu=NU, random_state=rng, size=20_000)
    checks.check_characteristic_function(f, lambda c: twins.network_characteristic_function(c, LINE, width, alpha, NU))


def test_one_input_of_a_stable_network_is_exactly_stable(rng: np.random.Generator) -> None:
    f = draw_network([[0.4]], 3, alpha=1.0, nu=NU, random_state=rng, size=20_000)
    checks.check_cdf(f[:, 0], stats.cauchy(scale=np.sqrt(NU / 2)).cdf)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.8])
def test_student_weights_have_the_tail_of_the_stable_ones(alpha: float, rng: np.random.Generator) -> None:
    f = draw_network([[0.4]], 1, alpha=alpha, nu=NU, random_state=rng, size=20_000, weights="student")
    scale = np.sqrt(NU / 2) * twins.student_scale(alpha)
    checks.check_cdf(f[:, 0], stats.t(df=alpha, scale=scale).cdf)


def test_blocks_do_not_change_the_law(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    def draw() -> np.ndarray:
        return draw_network(LINE[:, None], 7, alpha=1.3, nu=NU, random_state=rng, size=2000)

    whole = draw()
    monkeypatch.setattr(network, "BLOCK", 20)  # units of one network come in blocks of 4 and 3
    blocks = draw()
    checks.check_same_law(whole, blocks)
    checks.check_characteristic_function(blocks, lambda c: twins.network_characteristic_function(c, LINE, 7, 1.3, NU))


def test_wide_networks_stay_inside_a_block_of_memory() -> None:
    """A width of a million at 100 rows would need 0.8 GB in one piece."""
    X = np.linspace(-1.0, 1.0, 100)[:, None]
    shapes = []

    def record(rows: np.ndarray, log_v: np.ndarray, sharpness: float, rng: np.random.Generator) -> np.ndarray:
        shapes.append(log_v.size * len(rows))
        return np.zeros((len(log_v), len(rows)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "_sum_of_units", record)
        draw_network(X, 1_000_000, alpha=1.0, nu=1.0, random_state=0)
    assert max(shapes) <= network.BLOCK
    assert sum(shapes) == 100_000_000


# --- The limit -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.6])
def test_process_has_its_joint_law(alpha: float, rng: np.random.Generator) -> None:
    f = draw_process(LINE[:, None], alpha=alpha, nu=NU, random_state=rng, n_atoms=200, size=10_000)
    checks.check_characteristic_function(f, lambda c: twins.process_characteristic_function(c, LINE, alpha, NU))


@pytest.mark.statistical
@pytest.mark.parametrize("alpha", [0.5, 1.1, 1.5, 2.0])
@pytest.mark.parametrize("sharpness", [0.4, 2.0])
def test_smooth_networks_and_their_limit_have_their_joint_laws(
    alpha: float, sharpness: float, rng: np.random.Generator
) -> None:
    def law(c: np.ndarray, width: float = np.inf) -> float:
        return twins.smooth_characteristic_function(c, LINE, alpha, NU, sharpness, width)

    given = {"alpha": alpha, "nu": NU, "random_state": rng, "sharpness": sharpness}
    checks.check_characteristic_function(draw_process(LINE[:, None], n_atoms=200, size=10_000, **given), law)
    checks.check_characteristic_function(draw_network(LINE[:, None], 5, size=20_000, **given), lambda c: law(c, 5))
    wide = draw_network(LINE[:, None], 10_000, size=1000, **given)
    checks.check_characteristic_function(wide, law)
    with pytest.raises(AssertionError):
        checks.check_characteristic_function(wide, lambda c: twins.process_characteristic_function(c, LINE, alpha, NU))


@pytest.mark.parametrize(("alpha", "n_atoms"), [(0.5, 2.0), (1.0, 0.7), (1.9, 3.0)])
def test_process_with_few_atoms_has_exactly_the_truncated_law(
    alpha: float, n_atoms: float, rng: np.random.Generator
) -> None:
    f = draw_process(LINE[:, None], alpha=alpha, nu=NU, random_state=rng, n_atoms=n_atoms, size=20_000)
    checks.check_characteristic_function(
        f, lambda c: twins.truncated_characteristic_function(c, LINE, n_atoms, alpha, NU)
    )


def test_process_at_the_gaussian_limit_is_a_gaussian_process(rng: np.random.Generator) -> None:
    X = np.array([[0.0, 1.0], [2.0, -1.0], [-0.5, 0.4]])
    f = draw_process(X, alpha=2.0, nu=NU, random_state=rng, n_atoms=5, size=20_000)
    i, j = np.triu_indices(3)
    checks.check_mean(f[:, i] * f[:, j], NU * arcsine_kernel(X)[i, j])
    checks.check_cdf(f[:, 0], stats.norm(scale=np.sqrt(NU)).cdf)


@pytest.mark.parametrize("sharpness", [np.inf, 0.7])
def test_relevances_scale_the_inputs(sharpness: float, rng: np.random.Generator) -> None:
    """At alpha = 2 the covariance of networks of any width, and of their limit, is the kernel of the scaled rows."""
    X, r = np.array([[0.0, 1.0], [2.0, -1.0], [-0.5, 0.4], [2.0, -1.0]]), np.array([3.0, 0.2])
    given = {"alpha": 2.0, "nu": NU, "random_state": rng, "sharpness": sharpness, "size": 20_000}
    i, j = np.triu_indices(4)
    expected = NU * arcsine_kernel(X * r, sharpness=sharpness)[i, j]
    for f in (draw_process(X, relevance=r, n_atoms=5, **given), draw_network(X, 6, relevance=r, **given)):
        checks.check_mean(f[:, i] * f[:, j], expected)
    f = draw_process(X, n_atoms=5, **given)
    with pytest.raises(AssertionError):  # and the check can tell the relevances
        checks.check_mean(f[:, i] * f[:, j], expected)


def test_hyperplanes_with_relevances_see_scaled_inputs(rng: np.random.Generator) -> None:
    X, r = rng.normal(size=(5, 2)), np.array([3.0, 0.2])
    np.testing.assert_array_equal(
        sign_patterns(draw_hyperplanes(50, 2, 0, relevance=r), X), sign_patterns(draw_hyperplanes(50, 2, 0), X * r)
    )


def test_process_at_alpha_one_is_cauchy(rng: np.random.Generator) -> None:
    f = draw_process([[0.7]], alpha=1.0, nu=NU, random_state=rng, n_atoms=100, size=20_000)
    checks.check_cdf(f[:, 0], stats.cauchy(scale=np.sqrt(NU / 2)).cdf)


def test_repeated_rows_get_equal_values(rng: np.random.Generator) -> None:
    X = np.array([[2.0], [0.5], [2.0], [-1.0], [0.5]])
    f = draw_process(X, alpha=1.5, nu=1.0, random_state=rng, size=3)
    np.testing.assert_array_equal(f[:, 0], f[:, 2])
    np.testing.assert_array_equal(f[:, 1], f[:, 4])
    assert np.all(f[:, 0] != f[:, 3])


@pytest.mark.parametrize("alpha", [0.05, 0.1, 1.999, 2.0])
def test_draws_are_finite_at_the_ends_of_alpha(alpha: float, rng: np.random.Generator) -> None:
    X = LINE[:, None]
    assert np.all(np.isfinite(draw_process(X, alpha=alpha, nu=1.0, random_state=rng, size=500)))
    assert np.all(np.isfinite(draw_network(X, 100, alpha=alpha, nu=1.0, random_state=rng, size=500)))
    if alpha < 2.0:
        f = draw_network(X, 100, alpha=alpha, nu=1.0, random_state=rng, size=500, weights="student")
        assert np.all(np.isfinite(f))


@pytest.mark.statistical
@pytest.mark.parametrize("alpha", [0.5, 1.1, 1.5])
def test_wide_networks_and_the_limit_have_the_same_joint_law(alpha: float, rng: np.random.Generator) -> None:
    """Generalised central limit theorem: width 10 000, stable and Student-t weights, and the jumps."""
    X = LINE[:, None]
    limit = draw_process(X, alpha=alpha, nu=NU, random_state=rng, size=40_000)
    for weights in ("stable", "student"):
        f = draw_network(X, 10_000, alpha=alpha, nu=NU, random_state=rng, weights=weights, size=2500)  # type: ignore[arg-type]
        checks.check_same_law(f, limit)
        with pytest.raises(AssertionError):  # and the test can tell a jump measure that is 30% off
            checks.check_same_law(1.3 ** (1 / alpha) * f, limit)


@pytest.mark.statistical
def test_wide_networks_and_the_limit_agree_in_the_plane(rng: np.random.Generator) -> None:
    X = np.array([[0.0, 1.0], [2.0, -1.0], [-0.5, 0.4], [-1.0, -1.0]])
    limit = draw_process(X, alpha=0.8, nu=NU, random_state=rng, size=10_000)
    checks.check_same_law(draw_network(X, 10_000, alpha=0.8, nu=NU, random_state=rng, size=1500), limit)


def test_draws_follow_their_random_state() -> None:
    def draws(random_state: int | np.random.Generator | None) -> np.ndarray:
        h = draw_hyperplanes(3, 1, random_state)
        f = draw_process([[0.3]], alpha=1.2, nu=1.0, random_state=random_state)
        g = draw_network([[0.3]], 5, alpha=1.2, nu=1.0, random_state=random_state)
        return np.concatenate([h.ravel(), f.ravel(), g.ravel()])

    np.testing.assert_array_equal(draws(4), draws(4))
    assert np.all(draws(4) != draws(5))
    assert np.all(draws(None) != draws(None))
    assert draws(np.random.default_rng(4))[0] == draws(4)[0]


# --- Errors ----------------------------------------------------------------------------------------------


def test_bad_arguments_are_refused(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match="two dimensions"):
        add_constant([1.0, 2.0])
    with pytest.raises(ValueError, match="'stable' or 'student'"):
        draw_network([[0.0]], 5, alpha=1.0, nu=1.0, random_state=rng, weights="normal")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="weights='stable'"):
        draw_network([[0.0]], 5, alpha=2.0, nu=1.0, random_state=rng, weights="student")
    with pytest.raises(ValueError, match=r"nu.*positive"):
        draw_network([[0.0]], 5, alpha=1.0, nu=-1.0, random_state=rng)
    with pytest.raises(ValueError, match=r"nu.*positive"):
        draw_process([[0.0]], alpha=1.0, nu=0.0, random_state=rng)
    for wrong in ([1.0], [1.0, 0.0], [1.0, np.nan], [[1.0, 1.0]]):
        with pytest.raises(ValueError, match="expected 2 positive numbers: pass one per input column"):
            draw_process([[0.0, 1.0]], alpha=1.0, nu=1.0, relevance=wrong)
    with pytest.raises(ValueError, match="alpha must lie"):
        draw_process([[0.0]], alpha=2.5, nu=1.0, random_state=rng)
