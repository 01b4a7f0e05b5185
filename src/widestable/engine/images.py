"""Images of patterns: what inner products under the precision of y are taken from.

Let M be the precision of the mean outputs, sizes left out. There are two kinds of image of a pattern x:

* its place in the eigenbasis, `t = B' x`. Then `x'My = sum_i p_i t_i t'_i`, for every alpha, nu and sigma2.
* its product with the precision, `M x`. Then `x'My` is a sum over the rows, and what a row adds to it when it changes
  sides is one number of the image. M holds for one precision only, and to make it costs as much as fifty rotations.

Both are linear: `chain.basis` has the image of each single row. Chains over many rows, and of smooth units, keep to the
first kind. Others have the first while parameters move, and the second while hyperplanes do.
"""

from __future__ import annotations

import math

import numpy as np

from .._algebra import dot, dot3
from .._blas import one_blas_thread
from .._jit import inner_kernel
from .chain import Chain
from .model import Model


def may_be_over_rows(chain: Chain, model: Model) -> bool:
    """Whether the second kind is of use: for sign units, over rows that are few enough for a matrix of all pairs."""
    return model.n_rest == 0 and model.row_y.size > 0 and model.has_atoms and math.isinf(chain.kernel.sharpness)


def see_over_rows(chain: Chain, model: Model) -> Chain:
    """The chain with products with the precision as images; its system stays as it is."""
    # One thread: the last bits of the products, and so the draws, must not depend on the machine's load.
    with one_blas_thread():
        root = chain.kernel.basis * np.sqrt(chain.precision)
        M = root @ root.T
        chain.T[: chain.n_groups] = chain.tau[: chain.n_groups] @ M
        return chain._replace(over_rows=True, basis=M, y_image=M @ model.row_y)


def see_in_eigenbasis(chain: Chain) -> Chain:
    """The chain with places in the eigenbasis as images; its system stays as it is."""
    basis = chain.kernel.basis
    if chain.over_rows:
        with one_blas_thread():
            chain.T[: chain.n_groups] = chain.tau[: chain.n_groups] @ basis
    return chain._replace(over_rows=False, basis=basis, y_image=chain.kernel.y)


@inner_kernel
def product(chain, one, two):
    """The inner product of two loose atoms or spikes, less that over the rows where the remainder is of low rank."""
    if chain.over_rows:
        return dot(one.tau, two.t, one.tau.size)
    return dot3(one.t, two.t, chain.precision, one.t.size)
