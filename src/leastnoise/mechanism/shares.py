"""One release whose noise is drawn in parts, by processes or by clients (theory/release.md §8).

There are two kinds of laws. Coordinate i may be S·(±Q(U_i)), with one random factor S for all
coordinates, a fixed function Q and independent uniform U_i (theory/release.md §2). Then S is drawn
once and sent to all parts. Or the noise is spherical with a random length R. Then a part of n
coordinates has the length R√B and a direction of its own. The shares B of all parts are Dirichlet,
with n/2 for each part (theory/release.md §4). So each part is sent its length. All else is drawn
where it is added, from the entropy of that machine's operating system.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
from flint import arb

from leastnoise import _validate, _words
from leastnoise._record import field, instance_of, record, takes, whole
from leastnoise.balls.core import precision
from leastnoise.certificate.subject import noise_of, statement
from leastnoise.entropy.lazy import GUARD, LazyAnyGamma
from leastnoise.entropy.scaled import FIXED_BITS, FixedReal, ScaledSampler
from leastnoise.entropy.source import SystemEntropy
from leastnoise.entropy.spherical import SphericalSampler
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.mechanism.mechanism import Mechanism, Released
from leastnoise.mechanism.reading import as_exact
from leastnoise.mechanism.rounding import exponent_of, read_values, round_sums
from leastnoise.mechanism.values import ScaledIntegers, array_of, flat
from leastnoise.noise.base import Noise
from leastnoise.noise.draw import make_sampler, make_share
from leastnoise.noise.registry import registered_family

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.entropy.base import Sampler
    from leastnoise.mechanism.reading import Values
    from leastnoise.noise.draw import Share


@final
@dataclass(frozen=True, repr=False, eq=False)
class SharedDraw:
    """The shared factor S of a draw of `noise` on `grid`, or the length of one part of it.

    It can be pickled, and its repr reveals nothing. Keep it as secret as the values: whoever knows
    S, or a length, learns more about the values than the guarantee allows.
    """

    noise: Noise
    grid: Fraction
    _factor: FixedReal
    _size: int | None = None

    @classmethod
    def of(cls, certificate: Certificate, grid: Fraction) -> SharedDraw:
        """Draw the factor S that all coordinates share, for parts of any size.

        Raises NotApplicable for a geometry, and for laws whose coordinates share more than a factor
        (generalized gamma, mixtures, noise in the shape of a body).
        """
        noise = certificate.noise
        sampler = make_sampler(noise, grid=grid, entropy=SystemEntropy())
        if certificate.geometry is not None or not isinstance(sampler, ScaledSampler):
            why = "its coordinates can't be drawn apart; gaussian, l2 and laplace noise can"
            raise NotApplicable(family=noise.name, why=why)
        return cls(noise, grid, sampler.fixed_factor())

    @classmethod
    def in_parts(
        cls, certificate: Certificate, grid: Fraction, sizes: Sequence[int]
    ) -> list[SharedDraw]:
        """Draw the shared factor, or the lengths of all parts; return a `SharedDraw` for each part.

        `sizes` are the parts' numbers of coordinates, each at least 1. Raises NotApplicable for a
        geometry, and for laws of neither kind: mixtures, and noise in the shape of a body.
        """
        noise = certificate.noise
        radius = registered_family(type(noise)).part("radius")
        if radius is None or certificate.geometry is not None:
            return [cls.of(certificate, grid)] * len(sizes)
        entropy = SystemEntropy()
        length = radius(noise, grid, entropy)
        squares = [LazyAnyGamma(entropy, shape=Fraction(size, 2)) for size in sizes]
        with precision(FIXED_BITS + GUARD):
            parts = [square.enclose(FIXED_BITS) for square in squares]
            per_root = length.enclose(FIXED_BITS) / sum(parts, arb(0)).sqrt()
            lengths = [FixedReal.of(per_root * part.sqrt()) for part in parts]
        return [cls(noise, grid, factor, size) for factor, size in zip(lengths, sizes, strict=True)]

    def add_to_part(self, values: Values) -> NDArray[np.float64]:
        """Add noise to `values`, one part of the vector with n coordinates; returns shape (n,).

        Values are treated as in `add_noise`. Pass each coordinate only once: two draws for it
        reveal more than the guarantee allows. Raises InvalidArgument if this draw has the length of
        a part of another size (see `in_parts`).
        """
        exact_values, exponent = read_values(self.noise, values), exponent_of(self.grid)
        size = flat(exact_values).size
        if self._size not in {None, size}:
            raise InvalidArgument(name="values", value=size, expected=f"{self._size} of them")
        with np.errstate(all="ignore"):
            steps = round_sums(self._sampler(), exponent, exact_values)
            return np.ldexp(steps.astype(np.float64), exponent)

    def _sampler(self) -> Sampler:
        entropy = SystemEntropy()
        if self._size is not None:
            return SphericalSampler(self._factor, self._size, entropy)
        sampler = make_sampler(self.noise, grid=self.grid, entropy=entropy)
        assert isinstance(sampler, ScaledSampler)  # see `of`  # noqa: S101
        return sampler.with_factor(self._factor)


# A sum of shares may have the certified law only approximately, at a small distance in total
# variation. This slack of δ exceeds the effect (1 + e^ε)·k·distance of k <= 2^53 releases
# with ε <= 1,000.
_LEAST_SLACK = Fraction(1, 1 << 3000)


def _check_absent(absent: int, *, name: str, record: Shares) -> int:
    return _validate.whole(absent, name=name, least=0, most=record.clients - 1)


@final
@record()
class Shares:
    """The noise of a mechanism in shares; each client adds one share to its values.

    Only the sum of all messages has the mechanism's guarantee, so whoever adds them up must see the
    sum alone (secure aggregation). The guarantee holds even if `absent` clients send nothing, or
    publish their values and shares. If all clients take part, the noise is larger than certified,
    by a factor clients/(clients − absent) of its variance. Sums of Gaussian shares increase any δ
    by less than 2^-3000.

    Args:
        mechanism: A mechanism with gaussian noise, or with geometric noise of one cell. Its
            sensitivity is about the sum of all clients' values.
        clients: Number of clients, 1 to 2^20.
        absent: Number of clients that may be missing, 0 <= absent < clients.

    Raises:
        NotApplicable: The noise has another law or a geometry, or δ has no slack.
        InvalidArgument: A number is out of its range.

    Source:
        theory/release.md §8.

    Examples:
        >>> from leastnoise.guarantees.sensitivity import Integer
        >>> from leastnoise.selection.public import calibrate
        >>> one_cell = {"cells": 1}
        >>> noise = calibrate(
        ...     "geometric", epsilon=1, sensitivity=Integer(1), parameters=one_cell
        ... )
        >>> shares = Shares(mechanism=noise, clients=10, absent=3)
        >>> sent = [shares.share(5) for client in range(8)]
        >>> abs(float(shares.total(shares.add(sent), clients=8).values) - 40) < 100
        True

    """

    mechanism: Mechanism = field(
        converter=instance_of(Mechanism, like="a Mechanism, such as calibrate() returns")
    )
    clients: int = field(converter=whole(most=1 << 20))
    absent: int = field(converter=takes(_check_absent, of_record=True), default=0)

    def _check_together(self) -> None:
        certificate, noise = self.mechanism.certificate, self.mechanism.noise
        if certificate.geometry is not None:
            raise NotApplicable(family=noise.name, why="shares of a geometry aren't proved")
        if self._share.distance:
            room = certificate.budget.delta - Fraction(certificate.delta.upper)
            if certificate.budget.epsilon > 1000 or room < _LEAST_SLACK:
                why = "its delta has no slack; calibrate it for a slightly smaller delta"
                raise NotApplicable(family=noise.name, why=why)

    def __repr__(self) -> str:
        clients = f"{_words.count_noun(self.clients, 'client')}, up to {self.absent:,} absent"
        certificate = self.mechanism.certificate
        noise = f"{noise_of(certificate)} noise, {statement(certificate)}"
        return _words.line("Shares", f"{clients}; {noise}")

    @cached_property
    def _share(self) -> Share:
        count = self.clients - self.absent
        return make_share(self.mechanism.noise, grid=self.mechanism.grid, count=count)

    @property
    def grid(self) -> Fraction:
        """The spacing of the numbers that clients send."""
        return self._share.grid

    def share(self, values: Values) -> NDArray[np.int64]:
        """A client's message: its `values` plus its share of the noise, in steps of the grid.

        A message by itself hides nothing; only the sum does. Every call draws a new share: send
        only one message, since two of them together have less noise.

        Args:
            values: The client's values, shape (dimension,), or a number in one dimension; integers
                for geometric noise. NaN and ±inf are treated as in `Mechanism.release`.

        Returns:
            Integers modulo 2^64 in the shape of the values, ready to be added up.

        Raises:
            InvalidArgument: The shape or type is wrong.

        """
        noise, share = self.mechanism.noise, self._share
        exact_values = as_exact(values)
        whole = isinstance(exact_values, ScaledIntegers) and exact_values.bits == 0
        if noise.for_whole_numbers and not whole:
            raise InvalidArgument(
                name="values", value="other numbers", expected="ints, as geometric noise hides"
            )
        shape = flat(exact_values).shape
        self._check_shape(shape, "values")
        with np.errstate(all="ignore"):
            sampler, exponent = share.sampler(SystemEntropy()), exponent_of(share.grid)
            return round_sums(sampler, exponent, exact_values, fit=_wrap).reshape(shape)

    @staticmethod
    def add(shares: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Add shares modulo 2^64, as secure aggregation does.

        Whoever calls it sees each share, against which nothing is hidden: use it for simulations,
        or if the caller is trusted.

        Args:
            shares: The messages that `share` returned.

        Returns:
            Their sum.

        Raises:
            InvalidArgument: An item is no such message.

        """
        like = "the arrays that `share` returned"
        messages = _validate.in_order(shares, name="shares", like=like, quotes=False)
        sent = [_whole_numbers(message) for message in messages]
        if not sent or len({message.shape for message in sent}) > 1:
            raise InvalidArgument(name="shares", value=f"{len(sent):,} arrays", expected=like)
        total = np.sum(np.stack(sent).view(np.uint64), axis=0, dtype=np.uint64)
        return np.asarray(total).view(np.int64)

    def total(self, added: NDArray[np.int64], *, clients: int) -> Released:
        """The release: the sum of the clients' messages as numbers, with the certificate.

        Args:
            added: The sum of the messages modulo 2^64.
            clients: Number of messages in the sum.

        Returns:
            The noisy sum with the certificate.

        Raises:
            InvalidArgument: Fewer than clients − absent messages, which would have too little
                noise; more than all; or another array than `add` returns.

        """
        count = _validate.whole(clients, name="clients", least=0)
        least = self.clients - self.absent
        if not least <= count <= self.clients:
            raise InvalidArgument(
                name="clients", value=f"{count:,}", expected=f"{least:,} to {self.clients:,} shares"
            )
        steps = _whole_numbers(added)
        self._check_shape(steps.shape, "shares")
        certificate = self.mechanism.certificate.on_grid(self.grid)
        values = np.asarray(np.ldexp(steps.astype(np.float64), exponent_of(self.grid)))
        return Released(values=values, certificate=certificate)

    def _check_shape(self, shape: tuple[int, ...], name: str) -> None:
        dimension = self.mechanism.noise.dimension
        if shape != (dimension,) and not (shape == () and dimension == 1):
            raise InvalidArgument(
                name=name, value=f"an array of shape {shape}", expected=f"shape ({dimension},)"
            )


def _wrap(steps: int) -> int:
    """Reduce `steps` modulo 2^64 to an int64.

    Sums stay right modulo 2^64; clipped numbers would lose their noise in a sum.
    """
    return (steps + (1 << 63)) % (1 << 64) - (1 << 63)


def _whole_numbers(array_like: Any) -> NDArray[np.int64]:
    array = array_of(array_like, name="shares")
    if array.dtype != np.int64:
        raise InvalidArgument(
            name="shares",
            value=f"an array of {array.dtype.type.__name__}",
            expected="arrays of int64, as `share` returns them",
        )
    return array
