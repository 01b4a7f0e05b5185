"""The Gaussian limit (alpha = 2) written independently: the formula of its kernel, for scikit-learn and in bulk."""

from __future__ import annotations

import numpy as np
from sklearn.gaussian_process.kernels import Kernel


class Arcsine(Kernel):
    """The kernel of a wide network of sign or erf units (Williams 1998), with a relevance per input."""

    def __init__(self, nu: float, relevance: tuple[float, ...], sharpness: float) -> None:
        self.nu, self.relevance, self.sharpness = nu, relevance, sharpness

    def __call__(self, X: np.ndarray, Y: np.ndarray | None = None, eval_gradient: bool = False) -> np.ndarray:
        Z, Z2 = (np.c_[np.ones(len(A)), A * self.relevance] for A in (X, X if Y is None else Y))
        norm2, norm2_2 = (np.sum(A**2, axis=1) + 0.5 / self.sharpness**2 for A in (Z, Z2))
        cosine = Z @ Z2.T / np.sqrt(np.outer(norm2, norm2_2))
        cosine[cosine > 1.0 - 1e-14] = 1.0  # the arcsine would make 1e-8 of a rounding error of 1e-16
        return self.nu * 2.0 / np.pi * np.arcsin(cosine)

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.diag(self(X))

    def is_stationary(self) -> bool:
        return False


def kernels(X: np.ndarray, relevance: np.ndarray, sharpness: np.ndarray) -> np.ndarray:
    """The kernel matrices of m laws, shape (m, n, n), from relevances (m, d) and sharpnesses (m,)."""
    Z = np.concatenate([np.ones((len(relevance), len(X), 1)), X * relevance[:, None, :]], axis=2)
    inner = Z @ Z.transpose(0, 2, 1)
    norm = np.sqrt(np.einsum("mii->mi", inner) + 0.5 / sharpness[:, None] ** 2)
    cosine = inner / (norm[:, :, None] * norm[:, None, :])
    return 2.0 / np.pi * np.arcsin(np.where(cosine > 1.0 - 1e-14, 1.0, cosine))


def log_densities(y: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Log densities of y under m normal laws with covariances (m, n, n), up to a common constant."""
    L = np.linalg.cholesky(covariance)
    solved = np.linalg.solve(L, np.broadcast_to(y[:, None], (len(L), y.size, 1)))
    return -np.log(np.einsum("mii->mi", L)).sum(axis=1) - 0.5 * np.sum(solved**2, axis=(1, 2))
