"""Minima of functions of two variables, without derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Point = tuple[float, float]


def simplex(
    f: Callable[[float, float], float],
    corners: Sequence[Point],
    *,
    steps: int = 60,
    flat: float = 1e-9,
) -> Point:
    """Return about where f is least, from three corners (Nelder & Mead 1965).

    It stops after `steps`, or when the values at the corners differ by at most `flat`.

    >>> x, y = simplex(lambda x, y: (x - 1) ** 2 + (y + 2) ** 2, [(0, 0), (1, 0), (0, 1)])
    >>> round(x, 3), round(y, 3)
    (1.0, -2.0)
    """
    held = sorted(((f(*corner), corner) for corner in corners), key=lambda one: one[0])
    for _ in range(steps):
        (best, first), (_, second), (worst, third) = held
        if worst - best <= flat:
            break
        middle = ((first[0] + second[0]) / 2, (first[1] + second[1]) / 2)

        def along(by: float, middle: Point = middle, third: Point = third) -> tuple[float, Point]:
            point = tuple(m + by * (m - t) for m, t in zip(middle, third, strict=True))
            return f(point[0], point[1]), (point[0], point[1])

        new = along(1.0)
        if new[0] < best:
            new = min(new, along(2.0), key=lambda one: one[0])
        elif new[0] >= held[1][0]:
            new = min(along(0.5), along(-0.5), key=lambda one: one[0])
        if new[0] < worst:
            held[2] = new
        else:
            held[1:] = [_halved(f, first, corner) for _, corner in held[1:]]
        held.sort(key=lambda one: one[0])
    return held[0][1]


def _halved(
    f: Callable[[float, float], float], towards: Point, corner: Point
) -> tuple[float, Point]:
    point = ((towards[0] + corner[0]) / 2, (towards[1] + corner[1]) / 2)
    return f(*point), point
