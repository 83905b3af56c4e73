"""One release whose noise is added by many clients, each its share; see theory/release.md §8."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise import _validate, _words
from leastnoise.certificate.words import noise_of, statement
from leastnoise.entropy.source import SystemEntropy
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.mechanism.grid import exponent_of
from leastnoise.mechanism.mechanism import Mechanism, Released
from leastnoise.mechanism.rounding import LARGEST_RESULT, read, round_sums
from leastnoise.mechanism.values import flat
from leastnoise.noise.share import share_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.mechanism.reading import Values
    from leastnoise.noise.share import Share

_MOST_CLIENTS = 1 << 20
_ROOM = Fraction(1, 1 << 3000)
"""What δ has to spare where sums of shares are only nearly the law: (1 + e^ε)·k·distance is less,
for k <= 2^53 releases and ε <= 1,000."""


@final
@dataclass(frozen=True, kw_only=True)
class Shares:
    """The noise of a `mechanism` in shares, of which each of the `clients` adds one to its values.

    The sum of what the clients send, and nothing less, has the mechanism's guarantee, even if
    `absent` of them send nothing, or tell everybody their values and shares. So who adds up must
    see the sum alone (secure aggregation). The sensitivity is that of the sum of all values; with
    geometric noise each client's values are whole numbers. With all clients there the noise is
    more than certified, clients/(clients − absent) of its variance.

    Raises NotApplicable for noise other than gaussian, and geometric of one cell; InvalidArgument
    unless clients is 1 to 2^20 and 0 <= absent < clients.

    >>> from leastnoise.guarantees.sensitivity import Integer
    >>> from leastnoise.selection.public import calibrate
    >>> noise = calibrate("geometric", epsilon=1, sensitivity=Integer(1), parameters={"cells": 1})
    >>> shares = Shares(mechanism=noise, clients=10, absent=3)
    >>> sent = [shares.share(5) for client in range(8)]
    >>> abs(float(shares.total(sent).values) - 40) < 100
    True
    """

    mechanism: Mechanism
    clients: int
    absent: int = 0

    def __post_init__(self) -> None:
        """Check that there are such shares."""
        like = "a Mechanism, such as calibrate() returns"
        _validate.instance(self.mechanism, Mechanism, name="mechanism", like=like)
        clients = _validate.whole(self.clients, name="clients", most=_MOST_CLIENTS)
        absent = _validate.whole(self.absent, name="absent", least=0, most=clients - 1)
        object.__setattr__(self, "clients", clients)
        object.__setattr__(self, "absent", absent)
        certificate, noise = self.mechanism.certificate, self.mechanism.noise
        if certificate.geometry is not None:
            raise NotApplicable(family=noise.name, why="shares of a geometry aren't proved")
        if self._share.distance:
            room = certificate.budget.delta - Fraction(certificate.delta.upper)
            if certificate.budget.epsilon > 1000 or room < _ROOM:
                why = "its delta has nothing to spare; calibrate it for a little less"
                raise NotApplicable(family=noise.name, why=why)

    def __repr__(self) -> str:
        clients = f"{_words.counted(self.clients, 'client')}, up to {self.absent:,} absent"
        certificate = self.mechanism.certificate
        noise = f"{noise_of(certificate)} noise, {statement(certificate)}"
        return _words.line("Shares", f"{clients}; {noise}")

    @cached_property
    def _share(self) -> Share:
        count = self.clients - self.absent
        return share_of(self.mechanism.noise, grid=self.mechanism.grid, count=count)

    @property
    def grid(self) -> Fraction:
        """What a client's whole numbers are multiples of."""
        return self._share.grid

    def share(self, values: Values) -> NDArray[np.int64]:
        """Return what a client sends: its `values` with its share, in whole steps of the grid.

        `values` and the result have the shape (dimension,), or are numbers in one dimension. They
        may be sent modulo 2^64. Values are taken as `Mechanism.release` takes them, and every call
        draws anew: send one of them, as two of them together have less noise.
        """
        noise, share = self.mechanism.noise, self._share
        exact_values = read(noise, values)
        shape = flat(exact_values).shape
        self._check_shape(shape, "values")
        with np.errstate(all="ignore"):
            sampler = share.sampler(SystemEntropy())
            return round_sums(sampler, exponent_of(share.grid), exact_values).reshape(shape)

    def total(self, shares: Iterable[NDArray[np.int64]]) -> Released:
        """Return the sum of what the clients sent, with the mechanism's certificate.

        Raises InvalidArgument for fewer than clients − absent of them, which would have too little
        noise, for more than there are clients, and for what `share` doesn't return.
        """
        like = "the arrays that `share` returned"
        sent = [_whole_numbers(one) for one in _validate.items(shares, name="shares", like=like)]
        least = self.clients - self.absent
        if not least <= len(sent) <= self.clients:
            raise InvalidArgument(
                name="shares",
                value=f"{len(sent):,} of them",
                expected=f"{least:,} to {self.clients:,} shares, one of each client",
            )
        for one in sent:
            self._check_shape(one.shape, "shares")
        total = np.clip(sum(one.astype(object) for one in sent), -LARGEST_RESULT, LARGEST_RESULT)
        steps = np.asarray(total).astype(np.float64)
        certificate = self.mechanism.certificate.on_grid(self.grid)
        values = np.asarray(np.ldexp(steps, exponent_of(self.grid)))
        return Released(values=values, certificate=certificate)

    def _check_shape(self, shape: tuple[int, ...], name: str) -> None:
        dimension = self.mechanism.noise.dimension
        if shape != (dimension,) and not (shape == () and dimension == 1):
            raise InvalidArgument(
                name=name, value=f"an array of shape {shape}", expected=f"shape ({dimension},)"
            )


def _whole_numbers(one: Any) -> NDArray[np.int64]:
    array = np.asarray(one)
    if array.dtype != np.int64:
        raise InvalidArgument(
            name="shares",
            value=f"an array of {array.dtype.type.__name__}",
            expected="arrays of int64, as `share` returns them",
        )
    return array
