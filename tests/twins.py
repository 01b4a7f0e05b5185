"""Slow, obvious twins of the library's functions, and closed forms it must agree with."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from scipy import integrate, special

# --- Stable laws -----------------------------------------------------------------------------------------


def kanter(u: float, alpha: float) -> float:
    """`A(u)` as printed."""
    a = alpha / 2
    top = math.sin(a * u) ** (a / (1 - a)) * math.sin((1 - a) * u)
    return top / math.sin(u) ** (1 / (1 - a))


def positive_density(s: float, alpha: float) -> float:
    """Density of S+(alpha/2): the change of variables e -> s in Kanter's formula, averaged over u."""
    a = alpha / 2

    def integrand(u: float) -> float:
        A = kanter(u, alpha)
        return A * math.exp(-A * s ** (-a / (1 - a))) / math.pi

    constant = a / (1 - a) * s ** (-1 / (1 - a))
    return constant * integrate.quad(integrand, 0, math.pi, epsabs=0, epsrel=1e-11, limit=500)[0]


def symmetric_density(x: float, alpha: float) -> float:
    """Inverse Fourier transform of `exp(-|t|**alpha)`; alpha not small, so that 60 cuts the integral."""
    top = 60 ** (1 / alpha)
    points = np.linspace(0, top, max(2, int(top * abs(x) / 6) + 2))
    parts = [
        integrate.quad(lambda t: math.cos(t * x) * math.exp(-(t**alpha)), low, high, epsabs=1e-14)[0]
        for low, high in pairwise(points)
    ]
    return math.fsum(parts) / math.pi


def levy_density(s: np.ndarray) -> np.ndarray:
    """S+(1/2): Lévy with scale 1/2."""
    return np.exp(-1 / (4 * s)) / np.sqrt(4 * np.pi * s**3)


def levy_cdf(s: np.ndarray) -> np.ndarray:
    return special.erfc(1 / np.sqrt(4 * s))


def cauchy_density(x: np.ndarray) -> np.ndarray:
    return 1 / (np.pi * (1 + x**2))


def voigt_density(y: float, *, nu: float, sigma2: float) -> float:
    """n = 1, alpha = 1: a Cauchy with scale sqrt(nu/2) plus a normal."""
    return float(special.voigt_profile(y, math.sqrt(sigma2), math.sqrt(nu / 2)))


# --- The jump measure ------------------------------------------------------------------------------------


def log_jump_density(log_v: float, alpha: float, nu: float) -> float:
    """`log rho(v)`, `rho(v) = nu**a * a / Gamma(1-a) * v**(-1-a)`."""
    a = alpha / 2
    return a * math.log(nu) + math.log(a / math.gamma(1 - a)) - (1 + a) * log_v


def integral_of_jumps(power: float, alpha: float, nu: float, low: float, high: float) -> float:
    """Integral of `v**power * rho(v)` over log v from low to high, in 40 panels."""

    def integrand(log_v: float) -> float:
        return math.exp((power + 1) * log_v + log_jump_density(log_v, alpha, nu))

    panels = pairwise(np.linspace(low, high, 41))
    return math.fsum(integrate.quad(integrand, *panel, epsrel=1e-12)[0] for panel in panels)


def laplace_exponent(t: float, alpha: float, nu: float, *, low: float = -300, high: float = 300) -> float:
    """Integral of `(1 - exp(-t v)) rho(v)` over log v: minus the log Laplace transform of the sum of scales."""

    def integrand(log_v: float) -> float:
        return -math.expm1(-t * math.exp(log_v)) * math.exp(log_v + log_jump_density(log_v, alpha, nu))

    panels = pairwise(np.linspace(low, high, 31))
    return math.fsum(integrate.quad(integrand, *panel, epsrel=1e-12)[0] for panel in panels)


# --- Networks --------------------------------------------------------------------------------------------


def arcsine_kernel(X: np.ndarray) -> np.ndarray:
    """K0, entry by entry, from the angle between (1, x) and (1, x')."""
    n = len(X)
    K = np.ones((n, n))
    for i in range(n):
        for j in range(n):
            z, z2 = [1, *X[i]], [1, *X[j]]
            cosine = np.dot(z, z2) / math.sqrt(np.dot(z, z) * np.dot(z2, z2))
            K[i, j] = 1 - 2 * math.acos(max(-1, min(1, cosine))) / math.pi
    return K


def line_partition(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sign patterns (n, n) and probabilities of the cells of sorted, distinct 1-D inputs."""
    angle = np.arctan(x)
    n = len(x)
    signs = [[1] * n] + [[-1] * j + [1] * (n - j) for j in range(1, n)]
    q = [1 - (angle[-1] - angle[0]) / np.pi, *np.diff(angle) / np.pi]
    return np.array(signs), np.array(q)


def process_characteristic_function(c: np.ndarray, x: np.ndarray, alpha: float, nu: float) -> float:
    """`E exp(i c . f)` of the limit at sorted 1-D inputs: `exp(-(nu/2)**a sum_l q_l |c . tau_l|**alpha)`."""
    signs, q = line_partition(x)
    return math.exp(-((nu / 2) ** (alpha / 2)) * float(q @ np.abs(signs @ c) ** alpha))


def smooth_characteristic_function(
    c: np.ndarray, x: np.ndarray, alpha: float, nu: float, sharpness: float, width: float = math.inf
) -> float:
    """`E exp(i c . f)` of smooth units at 1-D inputs, in the limit or of a network with stable weights.

    The mean over hyperplanes is a midpoint rule in their angle and in the quantiles of their length (Rayleigh).
    """
    angle = (np.arange(2000) + 0.5) * np.pi / 2000
    length = np.sqrt(-2.0 * np.log1p(-(np.arange(400) + 0.5) / 400))[:, None]
    total = sum(
        weight * special.erf(sharpness * length * (np.cos(angle) + at * np.sin(angle)))
        for weight, at in zip(c, x, strict=True)
    )
    exponent = (nu / 2) ** (alpha / 2) * np.abs(total) ** alpha
    if math.isinf(width):
        return math.exp(-float(exponent.mean()))
    return float(np.exp(-exponent / width).mean()) ** width


def network_characteristic_function(c: np.ndarray, x: np.ndarray, width: int, alpha: float, nu: float) -> float:
    """The same for a network of finite width with stable weights: independent units."""
    signs, q = line_partition(x)
    return float(q @ np.exp(-((nu / 2) ** (alpha / 2)) * np.abs(signs @ c) ** alpha / width)) ** width


def truncated_characteristic_function(c: np.ndarray, x: np.ndarray, n_atoms: float, alpha: float, nu: float) -> float:
    """The same for the model of the library: Poisson atoms above the threshold, their mean below it.

    An atom that c . tau = t sees contributes `exp(-v t**2 / 2)`, the remainder `exp(-g t**2 / 2)`.
    """
    a = alpha / 2
    log_v0 = math.log(nu) - math.log(math.gamma(1 - a) * n_atoms) / a
    g = n_atoms * math.exp(log_v0) * alpha / (2 - alpha)

    def exponent(t: float) -> float:
        return laplace_exponent(t**2 / 2, alpha, nu, low=log_v0, high=log_v0 + 80 / alpha) + g * t**2 / 2

    signs, q = line_partition(x)
    return math.exp(-math.fsum(q * [exponent(t) for t in signs @ c]))


def student_scale(alpha: float) -> float:
    """Multiple of a Student-t with alpha degrees of freedom whose tail equals that of a standard stable law.

    `P(|x| > t) ~ 2 Gamma(alpha) sin(pi alpha / 2) / pi * t**-alpha` for the stable law.
    """
    stable = 2 * math.gamma(alpha) * math.sin(math.pi * alpha / 2) / math.pi
    peak = math.gamma((alpha + 1) / 2) / (math.sqrt(alpha * math.pi) * math.gamma(alpha / 2))
    student = 2 * peak * alpha ** ((alpha + 1) / 2) / alpha
    return (stable / student) ** (1 / alpha)


# --- Likelihood ------------------------------------------------------------------------------------------


def log_normal_density(y: np.ndarray, covariance: np.ndarray) -> float:
    """Log density of N(0, covariance)."""
    _, log_determinant = np.linalg.slogdet(2 * np.pi * covariance)
    return float(-0.5 * log_determinant - 0.5 * y @ np.linalg.solve(covariance, y))
