"""Several mechanisms together: the privacy cost of all their releases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from leastnoise import _validate
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.budget import sampling_rate_of
from leastnoise.mechanism.mechanism import Mechanism

if TYPE_CHECKING:
    from leastnoise.accounting.composition import Composition
    from leastnoise.guarantees.exact import Exact
    from leastnoise.noise.question import Releases


def compose(
    releases: Sequence[tuple[Mechanism, int]], *, sampling_rate: Exact | None = None
) -> Composition:
    """The joint privacy cost of several releases, on data of the same units.

    Scales have to be fixed in advance; they may not depend on earlier results.

    Args:
        releases: Pairs of a mechanism and the number of its releases, 1 to 2^53.
        sampling_rate: Probability with which each record is in the Poisson sample of each release;
            default: the rates of the certificates.

    Returns:
        The composition, which has `epsilon(delta=…)` and `delta(epsilon=…)`.

    Raises:
        InvalidArgument: No release is given, or a count is out of its range.
        NotApplicable: The releases are about different neighbours, or sampling isn't proved for a
            noise.

    Examples:
        >>> from leastnoise.guarantees.sensitivity import L2
        >>> from leastnoise.selection.public import calibrate
        >>> noise = calibrate("gaussian", epsilon="0.1", delta="1e-6", sensitivity=L2(1))
        >>> spent = compose([(noise, 100)]).epsilon(delta="1e-6")
        >>> round(spent.lower, 9) == round(spent.upper, 9), round(spent.upper, 6)
        (True, 1.177742)

    """
    # The accountant is imported here, so that a single release need not wait for it.
    from leastnoise.accounting.composition import Composition  # noqa: PLC0415

    counts = mechanism_counts(releases)
    parts = [(_one_release(mechanism, sampling_rate), count) for mechanism, count in counts]
    return Composition(parts=tuple(part.times(count) for part, count in parts))


def mechanism_counts(releases: object) -> tuple[tuple[Mechanism, int], ...]:
    """Check that `releases` are pairs of a mechanism and a count, and return them as a tuple.

    Raises InvalidArgument otherwise.
    """
    like = "pairs of a mechanism and a count, such as [(mechanism, 12)]"
    pairs = tuple(
        (
            _validate.instance(mechanism, Mechanism, name="releases", like=like),
            _validate.whole(count, name="compositions"),
        )
        for mechanism, count in _validate.pairs(releases, name="releases", like=like)
    )
    if not pairs:
        raise InvalidArgument(
            name="releases", value="none", expected="at least one release", hint=f"Give {like}."
        )
    return pairs


def _one_release(mechanism: Mechanism, sampling_rate: Exact | None) -> Releases:
    certificate = mechanism.certificate
    if sampling_rate is None:
        return certificate.one_release
    return certificate.one_release_at(sampling_rate_of(sampling_rate))
