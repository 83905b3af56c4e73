"""Export a mechanism as an OpenDP measurement: its release, and its privacy map."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from leastnoise import _validate
from leastnoise.errors import InvalidArgument, NotApplicable, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import Exact, decimal_text, float_at_least
from leastnoise.guarantees.sensitivity import L1, L2, Integer
from leastnoise.interop.extra import require
from leastnoise.mechanism.mechanism import Mechanism

if TYPE_CHECKING:
    from opendp.mod import Measurement

_Map = Callable[[Any], Any]


def to_opendp(
    mechanism: Mechanism,
    *,
    measure: Literal["dp", "zcdp"] = "dp",
    epsilon: Exact | None = None,
    numbers: Literal["f64", "i32"] = "f64",
) -> Measurement:
    """Make a `Measurement` that calls `mechanism.release`, with its noise and rounding.

    The input space follows the sensitivity: vectors of floats under `l2_distance` or `l1_distance`,
    or one number under `absolute_distance` (an i32 if it changes by whole numbers). OpenDP's d_in,
    the largest distance of two inputs, is the exact value of a float. The float 0.1 is more than
    1/10, so that only a mechanism with `L2(Fraction(0.1))` accepts it. OpenDP doesn't check the
    proof, so it requires `enable_features("contrib", "honest-but-curious")`.

    Args:
        mechanism: The mechanism, for one release of the whole data.
        measure: "dp" maps d_in, up to the certified sensitivity, to (ε, δ) under
            `approximate(max_divergence())`, or to ε under `max_divergence()` for δ = 0. "zcdp" maps
            every d_in to ρ = d_in²/2σ² under `zero_concentrated_divergence()`, for Gaussian noise
            of standard deviation σ and mixtures of it.
        epsilon: With "dp", the ε of the map, for which δ of one release is proved. Without it the
            map has the certificate's ε and δ.
        numbers: With "i32" the measurement takes a whole number or, in several dimensions, vectors
            of whole numbers, of any size, as `then_count_by_categories` returns them.

    Returns:
        The measurement. Numbers of its map are rounded up to floats.

    Raises:
        MissingExtra: OpenDP isn't installed.
        NotApplicable: OpenDP has no metric for the sensitivity; the certificate is about samples,
            or about several releases without `epsilon`; or "zcdp" isn't known for the noise.
        Refused: OpenDP makes no measurement, such as without those features.
    """
    opendp = require("opendp.prelude")
    _validate.instance(mechanism, Mechanism, name="mechanism", like="a Mechanism")
    _validate.one_of(measure, ("dp", "zcdp"), name="measure")
    _validate.one_of(numbers, ("f64", "i32"), name="numbers")
    _check_one_release(mechanism, measure, epsilon)
    sensitivity = _ball(mechanism)
    domain, metric = _space(opendp, sensitivity, mechanism.certificate.dimension, numbers)
    output, privacy_map = _privacy(
        opendp, mechanism, bound=sensitivity.bound, measure=measure, epsilon=epsilon
    )
    several = mechanism.certificate.dimension > 1

    def release(values: Any) -> Any:
        return mechanism.release(values).values.tolist()

    try:
        return opendp.m.make_user_measurement(
            domain, metric, output, release, privacy_map, TO="Vec<f64>" if several else "f64"
        )
    except require("opendp.mod").OpenDPException as error:  # usually a feature isn't enabled
        raise Refused(f"OpenDP can't make a measurement from this mechanism. {error}") from error


def _check_one_release(mechanism: Mechanism, measure: str, epsilon: Exact | None) -> None:
    certificate = mechanism.certificate
    if certificate.sampling_rate != 1:
        raise NotApplicable(
            family=mechanism.noise.name,
            why="its certificate is about Poisson samples, which OpenDP measurements don't draw",
        )
    if certificate.compositions > 1 and measure == "dp" and epsilon is None:
        raise NotApplicable(
            family=mechanism.noise.name,
            why=(
                f"its certificate is for {certificate.compositions} releases together. Give "
                "epsilon, for which the delta of one release is then computed"
            ),
        )


def _ball(mechanism: Mechanism) -> L1 | L2 | Integer:
    sensitivity = mechanism.certificate.sensitivity
    if isinstance(sensitivity, L1 | L2 | Integer):
        return sensitivity
    raise NotApplicable(
        family=mechanism.noise.name,
        why=f"OpenDP has no metric for a sensitivity of the kind {sensitivity.kind}",
    )


def _space(
    opendp: Any, sensitivity: L1 | L2 | Integer, dimension: int, numbers: str
) -> tuple[Any, Any]:
    """The input domain and the input metric of OpenDP for the sensitivity."""
    whole = isinstance(sensitivity, Integer) or numbers == "i32"
    kind = "i32" if whole else "f64"
    number = opendp.atom_domain(T="i32") if whole else opendp.atom_domain(T="f64", nan=False)
    if dimension == 1:
        return number, opendp.absolute_distance(T=kind)
    distance = opendp.l1_distance if isinstance(sensitivity, L1) else opendp.l2_distance
    size = {} if whole else {"size": dimension}  # OpenDP's counts have no size
    return opendp.vector_domain(number, **size), distance(T=kind)


def _privacy(
    opendp: Any, mechanism: Mechanism, *, bound: Fraction, measure: str, epsilon: Exact | None
) -> tuple[Any, _Map]:
    """The output measure of OpenDP, and the privacy map."""
    if measure == "zcdp":
        of_all = Fraction(mechanism.zcdp.value.upper)
        rho = of_all / (mechanism.certificate.compositions * bound**2)
        return opendp.zero_concentrated_divergence(), lambda d_in: float_at_least(
            rho * Fraction(d_in) ** 2
        )
    budget = _budget(mechanism, epsilon)
    ceiling = float_at_least(budget.epsilon), float_at_least(budget.delta)
    pure = budget.delta == 0

    def privacy_map(d_in: float) -> float | tuple[float, float]:
        if not 0 <= Fraction(d_in) <= bound:
            raise InvalidArgument(
                name="d_in",
                value=d_in,
                expected=f"0 <= d_in <= {decimal_text(bound)}, the certified sensitivity",
                hint="If one person can change the query by more, calibrate again with a larger "
                "sensitivity. OpenDP computes it for inputs that differ by at most d: give "
                "sensitivity=L1(Fraction(query.map(d))), or L2 for an l2 distance.",
            )
        return ceiling[0] if pure else ceiling

    divergence = opendp.max_divergence()
    return divergence if pure else opendp.approximate(divergence), privacy_map


def _budget(mechanism: Mechanism, epsilon: Exact | None) -> Budget:
    if epsilon is None:
        return mechanism.certificate.budget
    at = Budget(epsilon=epsilon, delta="0.5").epsilon
    return Budget(epsilon=at, delta=Fraction(mechanism.delta_per_release(epsilon=at).upper))
