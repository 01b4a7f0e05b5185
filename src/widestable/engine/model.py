"""What stays the same during sampling."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._types import FloatArray, IntArray


class Model(NamedTuple):
    """Everything that stays the same during sampling: n rows, inputs of width d + 1 with a constant in front.

    The kernel of the weighted rows, W^(1/2) K W^(1/2), is known by its leading r eigenvalues and eigenvectors U, the
    other n - r eigenvalues being put equal to their mean. With up to a few thousand rows r = n, and nothing is left
    out; beyond, the leading part comes from m landmarks.
    """

    Z: FloatArray  # (n, d + 1)
    row_norm: FloatArray  # (n,) lengths of the rows of Z
    weight: FloatArray  # (n,)
    row_y: FloatArray  # (n,) mean output of each row
    sum_y2: float  # row_y' W row_y
    landmarks: FloatArray  # (m, d + 1) rows whose covariances make predictions: all of Z when r = n
    n_rest: int  # n - r
    # The kernel in use, that of one sharpness; compiled code sets these seven when the sharpness changes.
    basis: FloatArray  # (n, r) B = W^(1/2) U: a pattern tau is B' tau in the eigenbasis
    landmark_basis: FloatArray  # (m, r) turns covariances with the landmarks into the eigenbasis; B when r = n
    eigenvalues: FloatArray  # (r,) of W^(1/2) K W^(1/2)
    rest_eigenvalue: float  # the mean of the others
    y: FloatArray  # (r,) U' W^(1/2) row_y
    sharpness: float  # infinity: sign units
    log_diagonal: float  # log of the mean of K(x, x) over the rows
    # The same for every sharpness on the grid, made when first needed.
    grid: FloatArray  # (G,) values of the sharpness; one value when it is fixed
    grid_log_prior: FloatArray  # (G,)
    grid_log_diagonal: FloatArray  # (G,)
    grid_basis: FloatArray  # (G, n, r)
    grid_landmark_basis: FloatArray  # (G, m, r)
    grid_eigenvalues: FloatArray  # (G, r)
    grid_rest_eigenvalue: FloatArray  # (G,)
    grid_y: FloatArray  # (G, r)
    is_made: npt.NDArray[np.bool_]  # (G,)
    # A binary tree over the rows, node i above nodes 2i + 1 and 2i + 2; without nodes unless rows are many.
    node_rows: IntArray  # (nodes, 2) first row and end
    node_centre: FloatArray  # (nodes, d + 1)
    node_radius: FloatArray  # (nodes,)
    node_basis: FloatArray  # (nodes, r) sum of the rows of the basis
    n_extra: float  # number of observations beyond one a row
    ss_within: float  # sum of squares within rows
    sum_log_weight: float
    rows: IntArray  # rows at which f is stored
    n_atoms: float  # N, expected number of atoms above the threshold
    infer_alpha: bool
    infer_nu: bool
    infer_sigma2: bool
    has_atoms: bool
    alpha_low: float
    alpha_high: float
    log_nu_sd: float


class Plan(NamedTuple):
    """How much of each move a sweep makes."""

    n_hyper: int = 1  # rounds of alpha, nu and sigma2
    n_sharpness: int = 1  # changes of the sharpness
    n_births: int = 4  # births or deaths
    n_passes: int = 1  # rounds over all atoms
    n_rotations: int = 4  # of each atom that matters, in a pass
    n_reflections: int = 1  # likewise
    n_pairs: int = 8  # pairs of near-parallel atoms
    n_pair_reflections: int = 8  # two atoms reflected in the same rows
