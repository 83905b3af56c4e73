"""One release whose noise is drawn in parts: by processes, or by clients (theory/release.md §8).

Either the law is S·(±Q(U_i)) with one S for all coordinates (theory/release.md §2): S is drawn once
and goes along with the parts. Or it is spherical, and R its length: a part of n coordinates has the
length R√B and a direction of its own, the shares B of all parts being Dirichlet(n/2) (§4), so that
the lengths of the parts go along. What else a coordinate is made of is drawn where it is added,
from the entropy of that machine's own operating system.
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
from leastnoise.entropy.scaled import SETTLED_BITS, ScaledSampler, Settled
from leastnoise.entropy.source import SystemEntropy
from leastnoise.entropy.spherical import SphericalSampler
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.mechanism.mechanism import Mechanism, Released
from leastnoise.mechanism.reading import as_exact
from leastnoise.mechanism.rounding import exponent_of, round_sums
from leastnoise.mechanism.values import ScaledIntegers, flat
from leastnoise.noise.base import Noise
from leastnoise.noise.draw import make_sampler, make_share
from leastnoise.noise.registry import registered

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
    """A draw of `noise` on `grid`; it can be pickled, and tells nothing by its repr.

    What it holds is as secret as the values: who knows S, or a length, knows more of them than the
    guarantee says.
    """

    noise: Noise
    grid: Fraction
    _factor: Settled
    _size: int | None = None

    @classmethod
    def of(cls, certificate: Certificate, grid: Fraction) -> SharedDraw:
        """Draw what all coordinates share, for parts of any size.

        Raises NotApplicable for a geometry, and for laws whose coordinates share more than a factor
        (generalized gamma, mixtures, noise in the shape of a body).
        """
        noise = certificate.noise
        sampler = make_sampler(noise, grid=grid, entropy=SystemEntropy())
        if certificate.geometry is not None or not isinstance(sampler, ScaledSampler):
            why = "its coordinates can't be drawn apart; gaussian, l2 and laplace noise can"
            raise NotApplicable(family=noise.name, why=why)
        return cls(noise, grid, sampler.settled_factor())

    @classmethod
    def in_parts(
        cls, certificate: Certificate, grid: Fraction, sizes: Sequence[int]
    ) -> list[SharedDraw]:
        """Draw what the coordinates share, for parts of these sizes, each 1 at least.

        Raises NotApplicable as `of` does, but not for generalized gamma.
        """
        noise = certificate.noise
        radius = registered(type(noise)).part("radius")
        if radius is None or certificate.geometry is not None:
            return [cls.of(certificate, grid)] * len(sizes)
        entropy = SystemEntropy()
        length = radius(noise, grid, entropy)
        squares = [LazyAnyGamma(entropy, shape=Fraction(size, 2)) for size in sizes]
        with precision(SETTLED_BITS + GUARD):
            parts = [square.enclose(SETTLED_BITS) for square in squares]
            per_root = length.enclose(SETTLED_BITS) / sum(parts, arb(0)).sqrt()
            lengths = [Settled.of(per_root * part.sqrt()) for part in parts]
        return [cls(noise, grid, one, size) for one, size in zip(lengths, sizes, strict=True)]

    def added_to(self, values: Values) -> NDArray[np.float64]:
        """Return `values`, any coordinates of the vector, with their noise, shape (n,).

        What `add_noise` says of values holds. Each coordinate may be asked for once: whoever sees
        it with two draws knows more than the guarantee says. Raises InvalidArgument for another
        number of values than that of the part, if it has one.
        """
        exact_values, exponent = as_exact(values), exponent_of(self.grid)
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
        return sampler.sharing(self._factor)


"""What δ has to spare where sums of shares are only nearly the law: (1 + e^ε)·k·distance is less,
for k <= 2^53 releases and ε <= 1,000."""


def _absent(absent: int, *, name: str, record: Shares) -> int:
    return _validate.whole(absent, name=name, least=0, most=record.clients - 1)


@final
@record()
class Shares:
    """The noise of a `mechanism` in shares, of which each of the `clients` adds one to its values.

    The sum of what the clients send, and nothing less, has the mechanism's guarantee, even if
    `absent` of them send nothing, or tell everybody their values and shares. So who adds up must
    see the sum alone (secure aggregation). The sensitivity is that of the sum of all values. With
    all clients there the noise is more than certified, clients/(clients − absent) of its variance.
    Sums of Gaussian shares add less than 2^-3000 to any δ of all of them (theory/release.md §8).

    Raises NotApplicable for noise other than gaussian, and geometric of one cell; InvalidArgument
    unless clients is 1 to 2^20 and 0 <= absent < clients.

    >>> from leastnoise.guarantees.sensitivity import Integer
    >>> from leastnoise.selection.public import calibrate
    >>> noise = calibrate("geometric", epsilon=1, sensitivity=Integer(1), parameters={"cells": 1})
    >>> shares = Shares(mechanism=noise, clients=10, absent=3)
    >>> sent = [shares.share(5) for client in range(8)]
    >>> abs(float(shares.total(shares.add(sent), clients=8).values) - 40) < 100
    True
    """

    mechanism: Mechanism = field(
        converter=instance_of(Mechanism, like="a Mechanism, such as calibrate() returns")
    )
    clients: int = field(converter=whole(most=1 << 20))
    absent: int = field(converter=takes(_absent, of_record=True), default=0)

    def _check_together(self) -> None:
        certificate, noise = self.mechanism.certificate, self.mechanism.noise
        if certificate.geometry is not None:
            raise NotApplicable(family=noise.name, why="shares of a geometry aren't proved")
        if self._share.distance:
            room = certificate.budget.delta - Fraction(certificate.delta.upper)
            if certificate.budget.epsilon > 1000 or room < Fraction(1, 1 << 3000):
                why = "its delta has nothing to spare; calibrate it for a little less"
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
        """What a client's whole numbers are multiples of."""
        return self._share.grid

    def share(self, values: Values) -> NDArray[np.int64]:
        """Return a client's message: its `values` with its share, in whole steps of the grid.

        They are modulo 2^64, as they are to be added. `values` and the result have the shape
        (dimension,), or are numbers in one dimension. Values are taken as `Mechanism.release` takes
        them, for geometric noise ints alone, and every call draws anew: send one of them, as two of
        them together have less noise. By itself a share hides nothing: only the sum does.
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
            return round_sums(sampler, exponent, exact_values, fit=_wrapped).reshape(shape)

    @staticmethod
    def add(shares: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the sum of shares modulo 2^64, as secure aggregation makes it.

        Whoever adds them up by this sees each of them, against which nothing is hidden: it is for
        simulations, and for who is trusted. Raises InvalidArgument for what `share` doesn't return.
        """
        like = "the arrays that `share` returned"
        sent = [_whole_numbers(one) for one in _validate.items(shares, name="shares", like=like)]
        if not sent or len({one.shape for one in sent}) > 1:
            raise InvalidArgument(name="shares", value=f"{len(sent):,} arrays", expected=like)
        found = np.sum(np.stack(sent).view(np.uint64), axis=0, dtype=np.uint64)
        return np.asarray(found).view(np.int64)

    def total(self, added: NDArray[np.int64], *, clients: int) -> Released:
        """Return the release: `added` is the sum, modulo 2^64, of the shares of so many `clients`.

        Raises InvalidArgument for fewer than clients − absent of them, which would have too little
        noise, for more than there are clients, and for another sum than of what `share` returns.
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


def _wrapped(steps: int) -> int:
    """Return `steps` modulo 2^64, as an int64 has it.

    Sums keep that, where one that was cut off would have lost its noise.
    """
    return (steps + (1 << 63)) % (1 << 64) - (1 << 63)


def _whole_numbers(one: Any) -> NDArray[np.int64]:
    try:
        array = np.asarray(one)
    except ValueError:  # lists in lists without end, or of several lengths
        array = np.array(None)
    if array.dtype != np.int64:
        raise InvalidArgument(
            name="shares",
            value=f"an array of {array.dtype.type.__name__}",
            expected="arrays of int64, as `share` returns them",
        )
    return array
