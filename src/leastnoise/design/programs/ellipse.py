"""The ellipses that fit noise to counting queries, to groups of them, and to any finite set.

Each function proposes a geometry in floats; how long the shifts are that the noise must hide is
worked out exactly, from the geometry alone (`Geometry.hidden`). A worse proposal costs accuracy,
never privacy.

notation (theory/noise.md §8): Σ = A·Aᵀ has the eigenvalue U along 𝟙 and V across it; P = Σ⁻¹ has
a = 1/U and b = 1/V, and with the number of records the entries α (‖v‖²), β (s²), η (s·n), ν (n²).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.bodies.base import check_size
from leastnoise.guarantees.geometry import Blocks, CountEllipse, Matrix
from leastnoise.guarantees.structured import CountingQueries, Groups, Vertices
from leastnoise.numerics.bisection import Bisection
from leastnoise.numerics.searches import minimise

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MISSED = 1e-9  # by which a constraint may be missed: it costs as much in variance


def least_variance(queries: CountingQueries) -> CountEllipse:
    """Return the ellipse of least total variance for `queries`, and for n if it is released.

    Without n it is the closed form of theory/noise.md §8 for one record that is added or removed,
    and a search in one unknown for one that is replaced. Among all linear maps none has a
    smaller variance, for any spherical noise: averaging over permutations makes any map symmetric.

    >>> queries = CountingQueries(dimension=2)
    >>> found = least_variance(queries)
    >>> shifts = found.shifts(queries)
    >>> round(float(shifts.outer.bound * found.deviations[0]) ** 2, 9)
    1.333333333
    """
    d = queries.dimension
    if queries.neighbours == "replace-one":
        return _replaced(queries)
    if queries.with_total:
        return with_total(queries)
    along, across = _eigenvalues(d, queries.max_nonzero)
    return CountEllipse(queries=d, shared=_float((math.sqrt(across / along) - 1) / d))


def _eigenvalues(d: int, k: int) -> tuple[float, float]:
    """Return (U, V) with the longest image of a shift 1 (theory/noise.md §8, closed form)."""
    if d == 1:
        return 1.0, 1.0

    def kappa(m: int) -> float:
        return math.sqrt((d - 1) * m / (d - m))

    m, _ = Bisection().close(lambda m: not kappa(m) * (2 * m - 1 - d) <= 2 * m - 1, 1, d)
    if k <= m or kappa(m) * (2 * m + 1 - d) >= 2 * m + 1:
        m = min(k, m)
        along = m * (m + kappa(m) * (d - m)) / d
        return along, along / kappa(m)
    return m * (m + 1) / (2 * m + 1 - d), m * (m + 1) / (2 * m + 1)


def _replaced(queries: CountingQueries) -> CountEllipse:
    """Return the best ellipse for a record that is replaced, by a search over ρ = β/α.

    Its total variance is max(N + ρD²)·(d − 1 + 1/(1 + dρ)), over the corners' N = ‖v‖², D² = s².
    """
    d, corners = queries.dimension, _corners(queries)

    def log_variance(log_ratio: float) -> float:
        rho = math.expm1(log_ratio) / d
        longest = float((corners[:, 0] + rho * corners[:, 1]).max())
        return math.log(longest * (d - 1 + math.exp(-log_ratio)))

    # 1 + dρ = V/U lies within [1/(d + 1)², d + 1]: beyond, one eigenvalue alone costs more
    grid = np.linspace(-2 * math.log(d + 1), math.log(d + 1), 32)
    best = minimise(log_variance, grid.tolist())
    return CountEllipse(queries=d, shared=_float(math.expm1(best / 2) / d))


def with_total(queries: CountingQueries) -> CountEllipse:
    """Return the ellipse of least total variance in queries and n, by convex programming.

    Raises NotApplicable if the solver fails.
    """
    return _least(queries.dimension, _corners(queries))


def least_groups(sensitivity: Groups) -> Blocks:
    """Return the ellipse of least total variance in each of several groups and its row count.

    A record that is replaced may leave its group, which is two shifts as of a record added, or stay
    in it, which leaves n alone; if there is one group, n is public, and its noise for nothing.
    Raises NotApplicable if the solver fails.
    """
    added = CountingQueries(
        dimension=sensitivity.dimension, with_total=True, bound=sensitivity.bound
    )
    corners = _corners(added)
    if sensitivity.neighbours == "replace-one":
        replaced = CountingQueries(
            dimension=sensitivity.dimension, neighbours="replace-one", bound=sensitivity.bound
        )
        corners = np.concatenate([2 * corners, _corners(replaced)])
    return _in_each(sensitivity, _least(sensitivity.dimension, corners))


def _least(d: int, corners: NDArray[np.float64]) -> CountEllipse:
    """Return the ellipse with n of least total variance whose form is at most 1 at all `corners`.

    Minimise tr P⁻¹ = (d − 1)/α + (ν + α + dβ)/((α + dβ)ν − dη²) under
    α‖v‖² + βs² + 2ηsn + νn² <= 1; corners as `_corners` returns them.
    """
    from scipy.optimize import minimize  # noqa: PLC0415 (half a second, paid for when it is used)

    unit = corners.max(axis=0)
    rows = corners / unit  # so that all unknowns are of the order of 1

    def trace(x: NDArray[np.float64]) -> float:
        alpha, beta, eta, nu = (x / unit).tolist()
        along = alpha + d * beta
        determinant = along * nu - d * eta * eta
        if min(alpha, determinant) <= 0:
            return math.inf
        return (d - 1) / alpha + (nu + along) / determinant

    x = np.array([0.5, 0.0, 0.0, 0.5])  # the ball
    active = {0, len(rows) - 1, len(rows) // 2}
    start = trace(x)
    for _ in range(60):  # cutting planes; three or four are usual
        chosen = rows[sorted(active)]
        found = minimize(
            lambda x: trace(x) / start,
            x,
            constraints={"type": "ineq", "fun": lambda x, a=chosen: 1 - a @ x},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        lengths = rows @ found.x
        worst = int(lengths.argmax())
        x = found.x / max(1.0, lengths[worst])
        if lengths[worst] <= 1 + _MISSED or worst in active:
            break
        active.add(worst)
    if not trace(x) <= start:
        raise NotApplicable(family="ellipse", why="the convex program was not solved")
    return _ellipse(d, (x / unit).tolist())


def _corners(queries: CountingQueries) -> NDArray[np.float64]:
    """Return ‖v‖², s², 2sn and n² at every corner that can be worst, shape (corners, 4)."""
    k, bound = queries.max_nonzero, float(queries.bound)
    if queries.neighbours == "add-remove":
        size = np.arange(k + 1.0)
        far, n = size, 1.0
    else:
        most = np.arange(min(2 * k, queries.dimension) + 1.0)
        size, n = np.concatenate([most, most]), 0.0
        far = np.concatenate([np.minimum(most, 2 * k - most), most % 2])
    total = bound * far
    return np.stack([bound**2 * size, total**2, 2 * total * n, np.full_like(size, n)], axis=1)


def _ellipse(d: int, form: Sequence[float]) -> CountEllipse:
    """Return the map W, with n, that has WᵀW = P/α; `form` is (α, β, η, ν)."""
    alpha, beta, eta, nu = form
    root = math.sqrt(1 + d * beta / alpha)
    offset = eta / alpha / root
    return CountEllipse(
        queries=d,
        shared=_float((root - 1) / d),
        offset=_float(offset),
        total=_float(math.sqrt(nu / alpha - d * offset**2)),
    )


def lebeda(
    queries: int, *, weight: float | None = None, bound: Fraction = Fraction(1)
) -> CountEllipse:
    """Return Algorithm 1 of Lebeda (2024): 2v − n and C·n are released, with C = `weight`.

    For values up to another `bound` b it is applied to v/b: 2v − bn and C·b·n.

    Without a weight C = d^¼, which has the least error in the queries, (√d + 1)²/(4μ²); a larger
    one tells n better. Its covariance is Corollary 3.1's.

    >>> queries = CountingQueries(dimension=4, with_total=True)
    >>> shifts = lebeda(4).shifts(queries)
    >>> round(float(shifts.outer.bound * lebeda(4).deviations[0]) ** 2, 9)  # (√4 + 1)²/4
    2.25
    """
    chosen = queries**0.25 if weight is None else weight
    return CountEllipse(queries=queries, offset=-bound / 2, total=_float(chosen) * bound / 2)


def grouped(sensitivity: Groups) -> Blocks:
    """Return Algorithm 2 of Lebeda (2024) for disjoint groups, with its error in η corrected.

    Each group releases 2v − n and C·n: C = d^¼ for records that are added or removed, C = √d for
    records that are replaced, where the noise that a group's queries share has variance 1/μ²
    instead of the printed 4/μ² (theory/noise.md §8).
    """
    power = 0.25 if sensitivity.neighbours == "add-remove" else 0.5
    d = sensitivity.dimension
    return _in_each(sensitivity, lebeda(d, weight=d**power, bound=sensitivity.bound))


def _in_each(sensitivity: Groups, one: CountEllipse) -> Blocks:
    return Blocks(
        groups=sensitivity.groups,
        queries=one.queries,
        shared=one.shared,
        offset=one.offset,
        total=one.total,
    )


def least_trace(sensitivity: Vertices) -> Matrix:
    """Return the map whose ellipsoid has the least total variance for any finite set of points.

    The dual of min tr P⁻¹ under pᵀPp <= 1 is max tr(M^½)² over M = Σ uᵢ pᵢpᵢᵀ, u >= 0, Σu = 1, and
    P ∝ M^(−½). Raises InvalidArgument if the points span less than the whole space, OutOfRange if
    their squares aren't floats.
    """
    from scipy.optimize import minimize  # noqa: PLC0415

    check_size([max(abs(v) for point in sensitivity.points for v in point)], name="points")

    points = np.array([[float(value) for value in point] for point in sensitivity.points])
    if np.linalg.matrix_rank(points) < points.shape[1]:
        raise InvalidArgument(
            name="points",
            value=f"points of rank {np.linalg.matrix_rank(points)}",
            expected=f"points that span all {points.shape[1]} dimensions",
        )

    def negative(logits: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights = _softmax(logits)
        values, vectors = np.linalg.eigh((points.T * weights) @ points)
        roots = np.sqrt(np.maximum(values, 1e-300))
        pull = 0.5 * (((points @ vectors) ** 2) / roots).sum(axis=1)
        return -math.log(roots.sum()), -weights * (pull - weights @ pull) / roots.sum()

    start = np.zeros(len(points))
    precise = {"maxiter": 5000, "ftol": 0.0, "gtol": 1e-12}
    found = minimize(negative, start, jac=True, method="L-BFGS-B", options=precise)
    values, vectors = np.linalg.eigh((points.T * _softmax(found.x)) @ points)
    quarter = (vectors * np.maximum(values, 1e-300) ** -0.25) @ vectors.T
    return Matrix(rows=[[_float(value) for value in row] for row in quarter / quarter.max()])


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def _float(number: float) -> Fraction:
    return Fraction(float(number))
