"""`Mechanism`: a proved law that releases values, composes and knows its accuracy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
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
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import Exact, Interval, exact
from leastnoise.mechanism.accuracy import calibrate_to_accuracy, half_widths
from leastnoise.mechanism.rounding import PreparedNoise, VectorDraw, check_grid, default_grid
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise

if TYPE_CHECKING:
    from leastnoise.accounting.composition import Composition
    from leastnoise.accounting.conversions import Converted
    from leastnoise.mechanism.reading import Values


@final
@dataclass(frozen=True, kw_only=True)
class Released:
    """Values that are safe to publish, and the certificate that proves it.

    numpy reads it as an array.

    Attributes:
        values: The released numbers, in the shape of the query.
        certificate: The guarantee, which `verify()` proves again.

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


def _prepare_certificate(certificate: Certificate, *, name: str) -> Certificate:
    """Return the certificate with a grid: its own, which is checked, or the noise's default grid.

    The certificate is verified first, unless it was proved in this process.
    """
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
    """A noise law with a proved guarantee: it publishes values v as g · round((v + X)/g).

    X is drawn from the certificate's noise, and g is the grid. With a geometry, which has a linear
    map W, W·v takes the place of v and the result is mapped back by W⁻¹.

    Args:
        certificate: A certificate. One that was not proved in this process, such as one read from a
            file, is verified first.

    Raises:
        InvalidArgument: The argument is no certificate, or its grid does not suit the noise.
        CertificateRejected: The certificate doesn't hold.

    Examples:
        >>> from leastnoise.guarantees.sensitivity import L1
        >>> from leastnoise.selection.public import calibrate
        >>> noise = calibrate("laplace", epsilon=1, sensitivity=L1(1))
        >>> round(noise.mse, 6), noise.release(41).values.shape
        (2.0, ())
    """

    certificate: Certificate = field(converter=takes(_prepare_certificate))

    def __repr__(self) -> str:
        noise = f"{noise_of(self.certificate)} noise of scale {_words.number(self.noise.scale)}"
        return _words.line("Mechanism", f"{noise}, {statement(self.certificate)}")

    def __reduce__(self) -> tuple[type[Mechanism], tuple[Certificate]]:
        """Copy and unpickle through the constructor: a stored certificate is verified again."""
        return Mechanism, (self.certificate,)

    @property
    def noise(self) -> Noise:
        """The noise law."""
        return self.certificate.noise

    @property
    def grid(self) -> Fraction:
        """The spacing g of released values, a power of two that depends on public numbers only."""
        assert self.certificate.grid is not None  # set by the converter  # noqa: S101
        return self.certificate.grid

    @property
    def mse(self) -> float:
        """The sum of all coordinates' mean squared errors, before rounding: the mean of ‖error‖₂².

        Without a geometry, rounding to the grid g adds about g²/12 for each coordinate. It adds
        nothing if noise on the integers has all its points on the grid.
        """
        geometry = self.certificate.geometry
        if geometry is None:
            return self.noise.mse
        return self.noise.variance * math.fsum(
            count * deviation**2 for deviation, count in geometry.counted_deviations
        )

    @property
    def mae(self) -> float:
        """The sum of all coordinates' mean absolute errors, before rounding."""
        geometry = self.certificate.geometry
        if geometry is None:
            return self.noise.mae
        return self.noise.mean_abs * math.fsum(
            count * deviation for deviation, count in geometry.counted_deviations
        )

    @property
    def variances(self) -> NDArray[np.float64]:
        """The variance of each coordinate's error before rounding, shape (dimension,).

        If all are equal it may be a read-only view of one number, which takes no memory.
        """
        geometry = self.certificate.geometry
        if isinstance(self.noise, VectorNoise):
            return self.noise.variances
        if geometry is None:
            return np.broadcast_to(np.float64(self.noise.variance), self.noise.dimension)
        return self.noise.variance * geometry.deviations**2

    @property
    def std(self) -> NDArray[np.float64]:
        """The standard deviation of each coordinate's error before rounding, shape (dimension,).

        Like `variances` it may be a read-only view of one number.
        """
        if self.certificate.geometry is None and not isinstance(self.noise, VectorNoise):
            return np.broadcast_to(np.sqrt(self.noise.variance), self.noise.dimension)
        return np.sqrt(self.variances)

    @property
    def covariance(self) -> NDArray[np.float64]:
        """The covariance of the errors before rounding, shape (dimension, dimension).

        Raises NotApplicable for noise in the shape of a body, whose covariances aren't computed.
        """
        if isinstance(self.noise, VectorNoise):
            raise NotApplicable(family=self.noise.name, why="its covariances aren't known")
        geometry = self.certificate.geometry
        identity = np.eye(self.noise.dimension)
        return self.noise.variance * (geometry.covariance() if geometry else identity)

    def accuracy(self, probability: float) -> NDArray[np.float64]:
        """The half-width of each coordinate's error: t_i with P(|error_i| <= t_i) >= probability.

        Each coordinate is considered by itself. The half-width of its noise is accurate to about
        1e-10 (relative); the largest error of rounding to the grid is added. Noise on the integers
        is for integer values: other values are rounded first, by up to 1/2, which is not counted.

        Args:
            probability: Probability of the interval, between 0 and 1.

        Returns:
            The half-widths, shape (dimension,), in the units of the query.

        Raises:
            InvalidArgument: The probability is not between 0 and 1.
            NotApplicable: The law of a coordinate isn't known, for noise in the shape of some
                bodies.

        """
        return half_widths(self.certificate, _validate.real(probability, name="probability"))

    def at_accuracy(self, half_width: float, *, probability: float = 0.95) -> Mechanism:
        """Noise of the same family at the smallest ε for which `accuracy` is at most `half_width`.

        Sensitivity, δ and number of releases stay the same; parameters other than the scale are
        searched again. The new certificate states ε and is proved as always. ε is accurate to a
        relative 1e-6, or 1e-5 if other parameters are searched. For noise on integers, errors may
        jump up at an ε where the best shape changes. Then smaller ε are tried, too, down to about
        half of that ε in steps of 2 %.

        Args:
            half_width: The largest allowed error, > 0.
            probability: Probability that an error is at most that, between 0 and 1.

        Returns:
            The new mechanism.

        Raises:
            InvalidArgument: An argument is out of its range.
            NotApplicable: The law of a coordinate isn't known, as in `accuracy`.
            Refused: No such ε was found between 1e-6 and 1,000.

        Examples:
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
        certificate = calibrate_to_accuracy(
            self.certificate, target, _validate.real(probability, name="probability")
        )
        return Mechanism(certificate)

    def on_grid(self, grid: Exact) -> Mechanism:
        """This mechanism with values rounded to multiples of another grid.

        Args:
            grid: A power of two, at least 2^-30 standard deviations. For noise on the integers, a
                standard deviation below 1 counts as 1.

        Returns:
            The new mechanism.

        Raises:
            InvalidArgument: The grid is no power of two, or too fine.

        """
        return Mechanism(self.certificate.on_grid(exact(grid, name="grid")))

    def compose(self, count: int, *, sampling_rate: Exact | None = None) -> Composition:
        """The joint privacy cost of `count` releases of this mechanism.

        Args:
            count: Number of releases, 1 to 2^53.
            sampling_rate: Probability with which each record is in the Poisson sample of each
                release; default: the certificate's rate.

        Returns:
            The composition, which has `epsilon(delta=…)` and `delta(epsilon=…)`.

        Raises:
            InvalidArgument: An argument is out of its range.
            NotApplicable: Sampling isn't proved for this noise. Or the certificate is about
                replaced records, of which nothing is proved with sampling.

        """
        from leastnoise.mechanism.composed import compose  # noqa: PLC0415 (it imports this file)

        return compose([(self, count)], sampling_rate=sampling_rate)

    def delta(self, *, epsilon: Exact) -> Interval:
        """An interval that contains δ(epsilon), the smallest δ at that ε.

        The interval is about all releases of the certificate together. At the certificate's ε it
        lies within `certificate.delta`.

        Args:
            epsilon: ε >= 0, an exact number.

        Returns:
            The interval, rounded outward.

        Raises:
            InvalidArgument: The number is malformed or out of its range.
        """
        budget = Budget(epsilon=epsilon, delta="0.5")
        return prove_composed((self.certificate.releases,), budget.epsilon).interval

    def delta_per_release(self, *, epsilon: Exact) -> Interval:
        """An interval that contains δ(epsilon) of one release.

        Args:
            epsilon: ε >= 0, an exact number.

        Returns:
            The interval, rounded outward.

        Raises:
            InvalidArgument: The number is malformed or out of its range.

        """
        return self._one_release_composition.delta(epsilon=epsilon)

    def epsilon(self, *, delta: Exact) -> Interval:
        """An interval that contains ε(delta), the smallest ε at that δ.

        The interval is about all releases of the certificate together.

        Args:
            delta: 0 <= δ < 1, an exact number.

        Returns:
            The interval, rounded outward.

        Raises:
            InvalidArgument: The number is malformed or out of its range.
            NotApplicable: No ε exists, such as for a Gaussian at delta=0.
        """
        from leastnoise.accounting.composition import Composition  # noqa: PLC0415 (see `compose`)

        releases = Composition(parts=(self.certificate.releases,))
        return releases.epsilon(delta=delta, accuracy=0)  # at most the certificate's epsilon

    def epsilon_per_release(self, *, delta: Exact) -> Interval:
        """An interval that contains ε(delta) of one release.

        Args:
            delta: 0 <= δ < 1, an exact number.

        Returns:
            The interval, rounded outward.

        Raises:
            InvalidArgument: The number is malformed or out of its range.
            NotApplicable: No ε exists, such as for a Gaussian at delta=0.

        """
        return self._one_release_composition.epsilon(delta=delta)

    @property
    def _one_release_composition(self) -> Composition:
        from leastnoise.accounting.composition import Composition  # noqa: PLC0415 (see `compose`)

        return Composition(parts=(self.certificate.one_release,))

    @property
    def gdp(self) -> Converted:
        """The μ of Gaussian differential privacy: √k·Δ/σ for k releases (Dong, Roth & Su 2022).

        Δ is the l2 sensitivity, and σ the standard deviation of a coordinate's noise. The value is
        exact for Gaussian noise. For gaussian-mixture, which is Gaussian noise plus an independent
        part, σ belongs to the Gaussian noise, and the value is an upper bound. Raises NotApplicable
        for other noise and for samples.
        """
        low, high = self._gaussian_squares()
        with precision(PLAIN_BITS):
            return self._converted(float_below(ball(low).sqrt()), float_above(ball(high).sqrt()))

    @property
    def zcdp(self) -> Converted:
        """The ρ of zero-concentrated differential privacy: k·Δ²/2σ² for k releases, as in `gdp`."""
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
        """A lower and an upper bound on the μ² of all releases.

        They differ because the root in an l2 sensitivity is rounded down, and up. Raises
        NotApplicable for noise that isn't Gaussian or a mixture of Gaussians, and for samples.
        """
        part = self.certificate.releases
        if self.noise.smoothed_square is None or part.sampling_rate != 1:
            why = "zCDP and GDP are stated for Gaussian noise and mixtures of it, without sampling"
            raise NotApplicable(family=self.noise.name, why=why)
        return gaussian_square((part,), inner=True), gaussian_square((part,), inner=False)

    def release(self, values: Values) -> Released:
        """Add fresh noise to `values`, on the grid. Every call spends the budget again.

        Nothing about the values can raise an error, since such an error would be an output: NaN
        becomes 0, and ±inf becomes ±2^61 grid steps. For the same reason values are rounded to
        integers, halves up, before noise on the integers, such as discrete-staircase, is added.
        Results are clipped at ±2^62 grid steps after the noise. Equal running time for all values
        is not promised.

        Args:
            values: A query whose sensitivity really is the certificate's, shape (dimension,), or a
                number if the dimension is 1. Floats are taken as the exact reals that they are.

        Returns:
            The noisy values with the certificate.

        Raises:
            InvalidArgument: The shape is wrong, or the type holds no exact numbers: masked arrays,
                texts, None, Decimal, complex numbers, floats of more than 64 bits.

        """
        return Released(values=self._prepared.add_to(values), certificate=self.certificate)

    @cached_property
    def _prepared(self) -> PreparedNoise:
        return PreparedNoise(self.noise, self.grid, geometry=self.certificate.geometry)

    def release_chunks(self, chunks: Iterable[Values]) -> Iterator[NDArray[np.float64]]:
        """An iterator over one release of a vector that comes in `chunks`, in order.

        Use it for vectors that don't fit in memory: all chunks share one draw of noise, and only
        one chunk is held at a time. (generalized-gamma and noise in the shape of a body keep
        numbers for every coordinate.) One iteration spends the budget once, as `release` does. Keep
        all results: a second call is another release. Nothing is promised about the time of each
        chunk.

        Args:
            chunks: An iterable of vectors, as `release` takes them; their lengths sum to the
                dimension.

        Returns:
            The iterator. It raises InvalidArgument for chunks of wrong types, for too many
            coordinates, and at the end for too few.

        Raises:
            NotApplicable: The mechanism has a geometry.
            InvalidArgument: The argument can't be iterated.

        Examples:
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
        given = _validate.in_order(chunks, name="chunks", like=like, quotes=False)
        return _release_in_chunks(self.noise, self.grid, given)


def _release_in_chunks(
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
