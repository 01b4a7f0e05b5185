"""The normal distribution, without branches or calls, so that loops over the components of a mixture are vectorised.

Chebyshev approximations on the range that counts, with errors of 1e-17 beside those of rounding.
"""

from __future__ import annotations

from .._jit import inner_kernel, polynomial

# Beyond this many standard deviations the normal distribution function is 0 or 1 to machine precision.
FAR = 8.3

# fmt: off
# exp(v) for v from -(FAR^2 / 2) / 32 to 0.
exponential = polynomial(
    9.420574055561777e-11, 1.884707660407622e-09, 2.4668959844149582e-08, 2.7509090734292295e-07, 2.755310949127813e-06,
    2.4801328037743116e-05, 0.0001984125855532229, 0.0013888888545765254, 0.008333333326241612, 0.04166666666571601,
    0.16666666666659025, 0.4999999999999968, 1.0, 1.0,
)
# (z + 4) exp(z^2 / 2) P(N(0, 1) > z) for z from 0 to FAR, in t = (z - 4) / (z + 4).
scaled_tail = polynomial(
    6.064272055560164e-09, 1.124526260933523e-07, 6.062080107495709e-07, 1.2164798274602253e-06, -6.291285665920929e-07,
    -5.9897967017402835e-06, 6.832048025863439e-07, 3.514741233718904e-05, -1.9017416591655655e-06,
    -0.000231093835925131, 0.0001333438255489686, 0.0016308183071827656, -0.003479692352793463, -0.007540188959228941,
    0.060396574890838155, -0.1865218579598083, 0.38713740074221337, -0.6078966419718912, 0.7552851304157515,
)
# fmt: on


@inner_kernel
def bell(z):
    """exp(-z^2 / 2) for |z| up to FAR."""
    value = exponential(z * z * (-0.5 / 32.0))
    for _ in range(5):
        value *= value
    return value


@inner_kernel
def upper_tail(z, bell_of_z):
    """P(N(0, 1) > z) for z from 0 to FAR."""
    reciprocal = 1.0 / (z + 4.0)
    return bell_of_z * scaled_tail((z - 4.0) * reciprocal) * reciprocal
