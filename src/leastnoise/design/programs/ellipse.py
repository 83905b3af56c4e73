"""Ellipses that fit noise to counting queries, to groups of them, and to any finite set of shifts.

Each function proposes a geometry in floats. The shifts that the noise must hide are then computed
exactly, from the geometry alone (`Geometry.shifts`). A worse proposal costs accuracy, never
privacy.

Notation (theory/noise.md §8): d is the number of queries, and 𝟙 the vector of d ones. A shift moves
the queries by the vector v, whose sum is s, and the number of records by n; a corner is an extreme
shift. The geometry is a linear map A, and Σ = A·Aᵀ has the eigenvalue U along 𝟙 and V across it. P
= Σ⁻¹ is the quadratic form α‖v‖² + βs² + 2ηsn + νn², which is at most 1 at every shift. Without the
number of records, P has the eigenvalue 1/U along 𝟙, and 1/V across it.
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

_MISSED = 1e-9  # the relative violation of a constraint that is accepted; it costs as much variance


def least_variance(queries: CountingQueries) -> CountEllipse:
    """The ellipse of least total variance for `queries`, with the number of records if released.

    Without that number there is a closed form for a record that is added or removed
    (theory/noise.md §8), and a search in one unknown for a record that is replaced. No linear map
    has a smaller total variance, for any spherical noise: averaging over permutations of the
    queries makes any map symmetric, and doesn't increase the variance.

    Args:
        queries: The counting queries.

    Returns:
        The geometry.

    Raises:
        NotApplicable: The solver failed, for queries with a record count.

    Source:
        theory/noise.md §8.

    Examples:
        >>> queries = CountingQueries(dimension=2)
        >>> ellipse = least_variance(queries)
        >>> shifts = ellipse.shifts(queries)
        >>> round(float(shifts.outer.bound * ellipse.deviations[0]) ** 2, 9)
        1.333333333
    """
    d = queries.dimension
    if queries.neighbours == "replace-one":
        return _ellipse_for_replaced(queries)
    if queries.with_total:
        return with_total(queries)
    along, across = _eigenvalues(d, queries.max_nonzero)
    return CountEllipse(queries=d, shared=_float((math.sqrt(across / along) - 1) / d))


def _eigenvalues(d: int, k: int) -> tuple[float, float]:
    """The eigenvalues (U, V) of the ellipse of least total variance, in closed form.

    There are d queries, and a record is added or removed, which counts in at most k of them with at
    most 1. U and V are scaled so that P is 1 at the worst corner (theory/noise.md §8).
    """
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


def _ellipse_for_replaced(queries: CountingQueries) -> CountEllipse:
    """The best ellipse for a record that is replaced, found by a search over the ratio ρ = β/α.

    Its total variance is max(‖v‖² + ρs²)·(d − 1 + 1/(1 + dρ)), with the maximum over all corners.
    """
    d, corners = queries.dimension, _corners(queries)

    def log_variance(log_ratio: float) -> float:
        rho = math.expm1(log_ratio) / d
        longest = float((corners[:, 0] + rho * corners[:, 1]).max())
        return math.log(longest * (d - 1 + math.exp(-log_ratio)))

    # 1 + dρ = V/U lies within [1/(d + 1)², d + 1]; outside, one eigenvalue alone costs more
    grid = np.linspace(-2 * math.log(d + 1), math.log(d + 1), 32)
    best = minimise(log_variance, grid.tolist())
    return CountEllipse(queries=d, shared=_float(math.expm1(best / 2) / d))


def with_total(queries: CountingQueries) -> CountEllipse:
    """The ellipse of least total variance in the queries and the record count together.

    It is found by convex programming.

    Args:
        queries: The counting queries.

    Returns:
        The geometry.

    Raises:
        NotApplicable: The solver failed.
    """
    return _solve_ellipse(queries.dimension, _corners(queries))


def least_groups(sensitivity: Groups) -> Blocks:
    """The ellipse of least total variance for each group's queries and row count together.

    A replaced record may leave its group, which counts as two shifts by an added record. Or it
    stays in its group, and the row count is unchanged. With only one group, replacing a record
    never changes the row count, so the noise of the row count is wasted.

    Args:
        sensitivity: The groups.

    Returns:
        The geometry.

    Raises:
        NotApplicable: The solver failed.
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
    return _repeat_in_groups(sensitivity, _solve_ellipse(sensitivity.dimension, corners))


def _solve_ellipse(d: int, corners: NDArray[np.float64]) -> CountEllipse:
    """The ellipse of least total variance for d queries and the record count.

    Its form P is at most 1 at all `corners`, which are rows as `_corners` returns them. The total
    variance to minimise is tr P⁻¹ = (d − 1)/α + (ν + α + dβ)/((α + dβ)ν − dη²). Raises
    NotApplicable if the program wasn't solved.
    """
    from scipy.optimize import minimize  # noqa: PLC0415 (half a second to import)

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
        cuts = rows[sorted(active)]
        optimum = minimize(
            lambda x: trace(x) / start,
            x,
            constraints={"type": "ineq", "fun": lambda x, a=cuts: 1 - a @ x},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        lengths = rows @ optimum.x
        worst = int(lengths.argmax())
        x = optimum.x / max(1.0, lengths[worst])
        if lengths[worst] <= 1 + _MISSED or worst in active:
            break
        active.add(worst)
    if not trace(x) <= start:
        raise NotApplicable(family="ellipse", why="the convex program was not solved")
    return _ellipse(d, (x / unit).tolist())


def _corners(queries: CountingQueries) -> NDArray[np.float64]:
    """The coefficients of α, β, η and ν in the form P, at every corner that can be the worst.

    They are ‖v‖², s², 2sn and n², in an array of shape (corners, 4).
    """
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
    """The geometry of a form P with record count: a map W with WᵀW = P/α.

    `form` is (α, β, η, ν).
    """
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
    """Algorithm 1 of Lebeda (2024), which releases 2v − n and C·n, with C = `weight`.

    v has the sums of the d queries over the records, and n is the number of records. For values up
    to another `bound` b it is applied to v/b: 2v − bn and C·b·n. Its covariance is Corollary 3.1's.

    Args:
        queries: Number of counting queries d.
        weight: C; default d^¼, which has the smallest error in the queries: variance
            (√d + 1)²/(4μ²) under μ-GDP. A larger C gives n more accurately.
        bound: The largest entry of a record.

    Returns:
        The geometry.

    Source:
        Lebeda (2024), Algorithm 1.

    Examples:
        >>> queries = CountingQueries(dimension=4, with_total=True)
        >>> shifts = lebeda(4).shifts(queries)
        >>> round(float(shifts.outer.bound * lebeda(4).deviations[0]) ** 2, 9)  # (√4 + 1)²/4
        2.25
    """
    factor = queries**0.25 if weight is None else weight
    return CountEllipse(queries=queries, offset=-bound / 2, total=_float(factor) * bound / 2)


def grouped(sensitivity: Groups) -> Blocks:
    """Algorithm 2 of Lebeda (2024) for disjoint groups of d queries each, with a correction.

    Each group releases 2v − n and C·n as in `lebeda`: C = d^¼ for records that are added or
    removed, C = √d for records that are replaced. In the latter case, under μ-GDP, the noise that a
    group's queries share (the paper's η) has variance 1/μ². The paper prints 4/μ².

    Args:
        sensitivity: The groups.

    Returns:
        The geometry.

    Source:
        Lebeda (2024), Algorithm 2; theory/noise.md §8.
    """
    power = 0.25 if sensitivity.neighbours == "add-remove" else 0.5
    d = sensitivity.dimension
    return _repeat_in_groups(sensitivity, lebeda(d, weight=d**power, bound=sensitivity.bound))


def _repeat_in_groups(sensitivity: Groups, ellipse: CountEllipse) -> Blocks:
    return Blocks(
        groups=sensitivity.groups,
        queries=ellipse.queries,
        shared=ellipse.shared,
        offset=ellipse.offset,
        total=ellipse.total,
    )


def least_trace(sensitivity: Vertices) -> Matrix:
    """The map whose ellipsoid has the least total variance for any finite set of points.

    Among all ellipsoids pᵀPp <= 1 that contain the points pᵢ, it minimises tr P⁻¹. The dual problem
    is to maximise (tr M^½)² over M = Σ uᵢ pᵢpᵢᵀ with weights u >= 0 that sum to 1; the optimum has
    P ∝ M^(−½). It is found by a search in floats.

    Args:
        sensitivity: The points.

    Returns:
        The geometry.

    Raises:
        InvalidArgument: The points do not span the whole space, or a point's largest entry is too
            large or too small to be squared in floats.
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
    optimum = minimize(negative, start, jac=True, method="L-BFGS-B", options=precise)
    values, vectors = np.linalg.eigh((points.T * _softmax(optimum.x)) @ points)
    quarter = (vectors * np.maximum(values, 1e-300) ** -0.25) @ vectors.T
    return Matrix(rows=[[_float(value) for value in row] for row in quarter / quarter.max()])


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def _float(number: float) -> Fraction:
    return Fraction(float(number))
