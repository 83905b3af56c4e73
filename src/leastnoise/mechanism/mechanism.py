"""`Mechanism`: a proved law that releases, composes and says how accurate it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from leastnoise import _validate, _words
from leastnoise._record import field, record, takes
from leastnoise.accounting.proof.composed import gaussian_square, prove_composed
from leastnoise.balls.core import PLAIN_BITS, ball, float_above, float_below, precision
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.subject import noise_of, statement
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget, sampling_rate_of
from leastnoise.guarantees.exact import Exact, Interval, exact
from leastnoise.mechanism.accuracy import at_accuracy, half_widths
from leastnoise.mechanism.rounding import PreparedNoise, VectorDraw, check_grid, default_grid
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.question import Releases

if TYPE_CHECKING:
    from leastnoise.accounting.composition import Composition
    from leastnoise.accounting.conversions import Converted
    from leastnoise.mechanism.reading import Values


@final
@dataclass(frozen=True, kw_only=True)
class Released:
    """Values that are safe to publish, and the certificate that says why.

    `values` has the shape of the query. numpy reads it as an array.
    """

    values: NDArray[np.float64]
    certificate: Certificate

    def __post_init__(self) -> None:
        """Check the types; raises InvalidArgument."""
        values = _validate.instance(self.values, np.ndarray, name="values", like="an array")
        if isinstance(values, np.ma.MaskedArray) or values.dtype != np.float64:
            kind = f"an array of {values.dtype.type.__name__}"
            raise InvalidArgument(name="values", value=kind, expected="an array of float64")
        _validate.instance(self.certificate, Certificate, name="certificate", like="a Certificate")

    def __repr__(self) -> str:
        kind = _words.count_noun(self.values.size, "value")
        return _words.line("Released", f"{kind}, safe to publish; {statement(self.certificate)}")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: FBT001
        return np.array(self.values, dtype=dtype, copy=copy)


def _ready(certificate: Certificate, *, name: str) -> Certificate:
    """Return a certificate that is proved, with a grid that its noise has."""
    hint = "calibrate() returns mechanisms; Certificate.prove() certificates."
    _validate.instance(certificate, Certificate, name=name, like="a Certificate", hint=hint)
    if not certificate.proved:
        certificate.verify()
    if certificate.grid is None:
        return certificate.on_grid(default_grid(certificate.noise))
    check_grid(certificate.grid, certificate.noise)
    return certificate


@final
@record(kw_only=False)
class Mechanism:
    """v ↦ g · round((v + X)/g), X drawn from the certificate's noise, g its grid.

    With a geometry, W·v takes the place of v and what is released is mapped back by W⁻¹.

    A certificate that was not proved in this process (one read from a file) is verified first;
    CertificateRejected if it doesn't hold.
    """

    certificate: Certificate = field(converter=takes(_ready))

    def __repr__(self) -> str:
        noise = f"{noise_of(self.certificate)} noise of scale {_words.number(self.noise.scale)}"
        return _words.line("Mechanism", f"{noise}, {statement(self.certificate)}")

    def __reduce__(self) -> tuple[type[Mechanism], tuple[Certificate]]:
        """Copy and unpickle through the constructor: what was stored has to verify again."""
        return Mechanism, (self.certificate,)

    @property
    def noise(self) -> Noise:
        """The noise law."""
        return self.certificate.noise

    @property
    def grid(self) -> Fraction:
        """The spacing g of released values, a power of two that depends on public numbers only."""
        assert self.certificate.grid is not None  # set in __post_init__  # noqa: S101
        return self.certificate.grid

    @property
    def mse(self) -> float:
        """E‖error‖₂², the total over the coordinates, before rounding (which adds g²/12 each)."""
        geometry = self.certificate.geometry
        if geometry is None:
            return self.noise.mse
        return self.noise.variance * math.fsum(
            count * deviation**2 for deviation, count in geometry.counted_deviations
        )

    @property
    def mae(self) -> float:
        """E‖error‖₁, the total over the coordinates, before rounding."""
        geometry = self.certificate.geometry
        if geometry is None:
            return self.noise.mae
        return self.noise.mean_abs * math.fsum(
            count * deviation for deviation, count in geometry.counted_deviations
        )

    @property
    def variances(self) -> NDArray[np.float64]:
        """The variance of each coordinate's error before rounding, shape (dimension,).

        Where all are alike it is a view of one number, not to be written to: it takes no memory.
        """
        geometry = self.certificate.geometry
        if isinstance(self.noise, VectorNoise):
            return self.noise.variances
        if geometry is None:
            return np.broadcast_to(np.float64(self.noise.variance), self.noise.dimension)
        return self.noise.variance * geometry.deviations**2

    @property
    def std(self) -> NDArray[np.float64]:
        """The standard deviation of each coordinate's error before rounding, like `variances`."""
        if self.certificate.geometry is None and not isinstance(self.noise, VectorNoise):
            return np.broadcast_to(np.sqrt(self.noise.variance), self.noise.dimension)
        return np.sqrt(self.variances)

    @property
    def covariance(self) -> NDArray[np.float64]:
        """The covariance of the errors before rounding, shape (dimension, dimension).

        Raises NotApplicable for noise in the shape of a body, whose coordinates depend on each
        other in ways that aren't worked out.
        """
        if isinstance(self.noise, VectorNoise):
            raise NotApplicable(family=self.noise.name, why="its covariances aren't known")
        geometry = self.certificate.geometry
        identity = np.eye(self.noise.dimension)
        return self.noise.variance * (geometry.covariance() if geometry else identity)

    def accuracy(self, probability: float) -> NDArray[np.float64]:
        """Return t_i with P(|error_i| <= t_i) >= probability, shape (dimension,).

        Each coordinate by itself, rounding to the grid counted; accurate to about 1e-10. Noise on
        whole numbers is for values that are whole: others are rounded first, which isn't counted
        (up to 1/2 more). Raises InvalidArgument unless 0 < probability < 1, NotApplicable for noise
        in the shape of a body one of whose coordinates has no known law.
        """
        return half_widths(self.certificate, _validate.real(probability, name="probability"))

    def at_accuracy(self, half_width: float, *, probability: float = 0.95) -> Mechanism:
        """Return this family's noise at the least ε with which `accuracy` is at most `half_width`.

        For the same sensitivity, δ and number of releases; parameters beside the scale are found
        anew. The ε is that of its certificate, proved as ever, and is found to a relative 1e-6
        (1e-5 where a shape is searched). On whole numbers a shape may jump, so that errors grow by
        a step as ε does: smaller ε are tried, too, down to about half of it at steps of 2 %.
        Raises InvalidArgument unless half_width > 0 and 0 < probability < 1, Refused unless that ε
        is from 1e-6 to 1,000.

        >>> from leastnoise.guarantees.sensitivity import L1
        >>> from leastnoise.selection.public import calibrate
        >>> noise = calibrate("laplace", epsilon=1, sensitivity=L1(1)).at_accuracy(10)
        >>> round(float(noise.certificate.budget.epsilon), 5), noise.accuracy(0.95) <= 10
        (0.29957, array([ True]))
        """
        target = _validate.real(half_width, name="half_width")
        if not 0 < target < math.inf:
            raise InvalidArgument(
                name="half_width", value=target, expected="a finite half_width > 0"
            )
        found = at_accuracy(
            self.certificate, target, _validate.real(probability, name="probability")
        )
        return Mechanism(found)

    def on_grid(self, grid: Exact) -> Mechanism:
        """Return the mechanism that rounds to multiples of `grid` instead.

        Raises InvalidArgument unless it is a power of two, at least 2^-30 standard deviations.
        """
        return Mechanism(self.certificate.on_grid(exact(grid, name="grid")))

    def compose(self, count: int, *, sampling_rate: Exact | None = None) -> Composition:
        """Return the joint cost of `count` releases of this mechanism.

        Each is of a Poisson sample of its own if there is a `sampling_rate`, by default that of the
        certificate. Raises InvalidArgument unless count is whole, 1 to 2^53, and 0 < sampling_rate
        <= 1, NotApplicable where subsampling isn't proved.
        """
        return compose([(self, count)], sampling_rate=sampling_rate)

    def delta(self, *, epsilon: Exact) -> Interval:
        """Return an interval that contains δ(epsilon), the smallest δ at that ε.

        Of as many releases as the certificate is about: at its ε it is `certificate.delta`.
        """
        budget = Budget(epsilon=epsilon, delta="0.5")
        return prove_composed((self.certificate.releases,), budget.epsilon).interval

    def delta_per_release(self, *, epsilon: Exact) -> Interval:
        """Return an interval that contains δ(epsilon) of one release alone."""
        return self._once.delta(epsilon=epsilon)

    def epsilon(self, *, delta: Exact) -> Interval:
        """Return an interval that contains ε(delta), the smallest ε at that δ.

        Of as many releases as the certificate is about. Raises NotApplicable where there is none (a
        Gaussian at delta=0).
        """
        from leastnoise.accounting.composition import Composition  # noqa: PLC0415 (see `compose`)

        releases = Composition(parts=(self.certificate.releases,))
        return releases.epsilon(delta=delta, accuracy=0)  # no more than the certificate says

    def epsilon_per_release(self, *, delta: Exact) -> Interval:
        """Return an interval that contains ε(delta) of one release alone."""
        return self._once.epsilon(delta=delta)

    @property
    def _once(self) -> Composition:
        from leastnoise.accounting.composition import Composition  # noqa: PLC0415 (see `compose`)

        return Composition(parts=(self.certificate.one_release,))

    @property
    def gdp(self) -> Converted:
        """μ of Gaussian differential privacy: √k·Δ/σ for k releases (Dong, Roth & Su 2022).

        Exact for Gaussian noise; an upper bound for gaussian-mixture, which is Gaussian noise and
        more that doesn't depend on the data. Raises NotApplicable for other noise and for samples.
        """
        low, high = self._gaussian_squares()
        with precision(PLAIN_BITS):
            return self._converted(float_below(ball(low).sqrt()), float_above(ball(high).sqrt()))

    @property
    def zcdp(self) -> Converted:
        """ρ of zero-concentrated differential privacy: k·Δ²/2σ² for k releases; see `gdp`."""
        low, high = self._gaussian_squares()
        with precision(PLAIN_BITS):
            return self._converted(float_below(ball(low / 2)), float_above(ball(high / 2)))

    def _converted(self, lower: float, upper: float) -> Converted:
        from leastnoise.accounting.conversions import (  # noqa: PLC0415 (see `compose`)
            Converted,
            Nature,
        )

        nature = Nature.EXACT if self.noise.gaussian_square is not None else Nature.UPPER_BOUND
        return Converted(value=Interval(lower, upper), nature=nature)

    def _gaussian_squares(self) -> tuple[Fraction, Fraction]:
        """Return μ², below and above what rounded roots in the sensitivity make it."""
        part = self.certificate.releases
        if self.noise.smoothed_square is None or part.sampling_rate != 1:
            why = "zCDP and GDP are stated for Gaussian noise and mixtures of it, without sampling"
            raise NotApplicable(family=self.noise.name, why=why)
        return gaussian_square((part,), inner=True), gaussian_square((part,), inner=False)

    def release(self, values: Values) -> Released:
        """Add fresh noise to `values`, on the grid. Every call spends the budget again.

        `values` (shape (dimension,), or a number if the dimension is 1) must be a query whose
        sensitivity really is the certificate's. Floats are taken as the exact reals that they are;
        NaN becomes 0 and ±inf ±2^61 grid steps, since an error that depended on the data would be
        an output too. For the same reason values that aren't whole are rounded, halves up, before
        noise on the whole numbers is added (discrete-staircase). Results are cut off at ±2^62 grid
        steps, after the noise.
        Raises InvalidArgument for a wrong shape and for types that aren't exact numbers: masked
        arrays, texts, None, Decimal and complex numbers, floats of more than 64 bits.
        """
        return Released(values=self._prepared.add_to(values), certificate=self.certificate)

    @cached_property
    def _prepared(self) -> PreparedNoise:
        return PreparedNoise(self.noise, self.grid, geometry=self.certificate.geometry)

    def release_chunks(self, chunks: Iterable[Values]) -> Iterator[NDArray[np.float64]]:
        """Return an iterator over one release of a vector that comes in `chunks`, in order.

        For vectors that no memory holds: all chunks share one draw of noise, and no more than one
        of each is held at a time (but for generalized-gamma and noise in the shape of a body, which
        keep numbers for every coordinate). It spends the budget once, as `release` does, and what
        it yields is to be kept: asking again is another release. Chunks are as `release` takes
        values; nothing is promised of how long each takes. Raises NotApplicable for a geometry,
        InvalidArgument for what can't be iterated, and while it is iterated for chunks of wrong
        types, for more coordinates than the dimension, and at the end for fewer.

        >>> import numpy as np
        >>> from leastnoise.guarantees.sensitivity import L2
        >>> from leastnoise.selection.public import calibrate
        >>> noise = calibrate("l2", epsilon=1, sensitivity=L2(1), dimension=10**5)
        >>> parts = noise.release_chunks(np.zeros(25_000) for _ in range(4))
        >>> sum(part.size for part in parts)
        100000
        """
        if self.certificate.geometry is not None:
            why = "a geometry takes the whole vector at once; release it as one"
            raise NotApplicable(family=self.noise.name, why=why)
        like = "an iterable of vectors, such as a generator of arrays"
        given = _validate.in_order(chunks, name="chunks", like=like)
        return _in_chunks(self.noise, self.grid, given)


def _in_chunks(
    noise: Noise, grid: Fraction, chunks: Iterator[Values]
) -> Iterator[NDArray[np.float64]]:
    draw = VectorDraw(noise, grid)
    for values in chunks:
        yield draw.chunk(values)
    if draw.left:
        raise InvalidArgument(
            name="chunks",
            value=f"{noise.dimension - draw.left:,} coordinates",
            expected=f"{noise.dimension:,} in all, one for each coordinate of the noise",
        )


def compose(
    releases: Sequence[tuple[Mechanism, int]], *, sampling_rate: Exact | None = None
) -> Composition:
    """Return the joint cost of releases: pairs of a mechanism and how often it is used.

    All of them on data of the same units, with scales that were fixed in advance. With a
    `sampling_rate` each is of a Poisson sample of its own; else the certificates say of what.
    Raises InvalidArgument without a release, and unless counts are whole, 1 to 2^53.

    >>> from leastnoise.guarantees.sensitivity import L2
    >>> from leastnoise.selection.public import calibrate
    >>> noise = calibrate("gaussian", epsilon="0.1", delta="1e-6", sensitivity=L2(1))
    >>> spent = compose([(noise, 100)]).epsilon(delta="1e-6")
    >>> round(spent.lower, 9) == round(spent.upper, 9), round(spent.upper, 6)
    (True, 1.177742)
    """
    # The accountant is imported where it is used: who releases once need not wait for it.
    from leastnoise.accounting.composition import Composition  # noqa: PLC0415

    ones = [(_one_release(one, sampling_rate), count) for one, count in mechanism_counts(releases)]
    return Composition(parts=tuple(one.times(count) for one, count in ones))


def mechanism_counts(releases: object) -> tuple[tuple[Mechanism, int], ...]:
    """Return pairs of a mechanism and a count; raises InvalidArgument for all else."""
    like = "pairs of a mechanism and a count, such as [(mechanism, 12)]"
    found = tuple(
        (
            _validate.instance(mechanism, Mechanism, name="releases", like=like),
            _validate.whole(count, name="compositions"),
        )
        for mechanism, count in _validate.pairs(releases, name="releases", like=like)
    )
    if not found:
        raise InvalidArgument(
            name="releases", value="none", expected="at least one release", hint=f"Give {like}."
        )
    return found


def _one_release(mechanism: Mechanism, sampling_rate: Exact | None) -> Releases:
    certificate = mechanism.certificate
    if sampling_rate is None:
        return certificate.one_release
    return certificate.one_release_at(sampling_rate_of(sampling_rate))
