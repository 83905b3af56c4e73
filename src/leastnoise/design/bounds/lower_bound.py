"""Proved lower bounds on the loss of any additive noise for one number, or for a vector.

Notation: X is the noise, in units of the sensitivity, and E a mean. The loss is E|X| (mae) or E X²
(mse), so E|X|^p with p = 1 or 2.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, cast, final

import numpy as np

from leastnoise import _validate, _words
from leastnoise._record import Converter, field, one_of, real, record, takes
from leastnoise.balls.core import FACTOR_BITS, exponential_between
from leastnoise.certificate.records import exact_fields, number, parse_object, require_type
from leastnoise.design.bounds.body_bound import BodyWitness
from leastnoise.design.bounds.radial_bound import A_NUMBER, RadialWitness, rows_of, whole_numbers
from leastnoise.errors import CertificateRejected, InvalidArgument, show_value
from leastnoise.guarantees.budget import MAX_EPSILON, Budget
from leastnoise.guarantees.exact import Exact, decimal_text, exact, float_at_most
from leastnoise.guarantees.fields import FractionField
from leastnoise.guarantees.sensitivity import Sensitivity, positive_bound
from leastnoise.noise.question import Loss

VERSION = 1
Scope = Literal["real", "integer"]
_FIELDS = ("kind", "version", "loss", "value", "epsilon", "delta", "scope", "witness")
_WITNESS_FIELDS = ("cells", "reach", "bits", "multipliers", "prices")


_PAIRS = cast("Converter[Sequence[tuple[int, int]], tuple[tuple[int, int], ...]]", takes(rows_of))


@final
@record()
class Witness:
    """Dual prices that prove a lower bound for noise on a lattice, in units of 2^−bits.

    A linear program minimises the loss of private noise; these are prices of its constraints.

    Notation: m = `cells` is the number of lattice points per sensitivity, n = `reach`, c = e^ε and
    i a lattice point. X is the noise in sensitivities, q_i = P(X = i/m), and cost_i = |i/m|^p its
    loss, with p = 1 or 2. For each shift of j = 1 … m lattice steps that has prices, `multipliers`
    has (j, λ_j), and `prices` has ψ_{j,i} for i = −n, −n + 1, … up to some i <= n, with 0 <=
    ψ_{j,i} <= λ_j. For i < −n, ψ_{m,i} continues with period m. All other prices are 0.
    """

    cells: int = field(converter=A_NUMBER)
    reach: int = field(converter=A_NUMBER)
    bits: int = field(converter=A_NUMBER)
    multipliers: tuple[tuple[int, int], ...] = field(converter=_PAIRS)
    prices: tuple[tuple[int, ...], ...] = field(converter=takes(rows_of))

    def bound(self, *, epsilon: Fraction, delta: Fraction, power: int) -> Fraction:
        """The exact lower bound on E|X|^power that the prices prove, for private X on the lattice.

        Notation: as in the class; δ is `delta`, and G_i = Σ_j (ψ_{j,i} − c ψ_{j,i+j}) is the sum of
        prices at the point i. Lengths are in sensitivities.

        If the law q is private, Σ_i ψ_{j,i}(q_i − c q_{i−j}) <= λ_j δ for each j, as 0 <= ψ_{j,i}
        <= λ_j. Summed over j, this is Σ_i q_i G_i <= δ Σ_j λ_j. The average of q and its reflection
        is private, too, and has the same cost, so let q be symmetric. Then E cost
        >= Σ_i q_i (cost_i + G_i) − δ Σ_j λ_j >= min_i (cost_i + (G_i + G_{−i})/2) − δ Σ_j λ_j
        (theory/noise.md §4). Beyond |i| = n + m, G is at least its value at the previous point of
        the same class modulo m, and the cost increases, so these i need no check.
        """
        self._check()
        m, n = self.cells, self.reach
        edge = n + m
        _, factor = exponential_between(
            epsilon, bits=FACTOR_BITS
        )  # a bound for a larger ε holds for ε
        total = np.zeros(2 * edge + 1, dtype=object)  # G at −edge … edge, in 2^−(bits + 128)
        for (j, _), prices in zip(self.multipliers, self.prices, strict=True):
            values = np.array(prices, dtype=object)
            used = np.flatnonzero(values)
            indices = used + edge - n
            total[indices] += values[used] * (1 << FACTOR_BITS)
            total[indices - j] -= values[used] * factor
            if j == m:  # the periodic part: i = −n − m … −n − 1
                total[:m] += values[:m] * (1 << FACTOR_BITS)
        unit = 1 << (self.bits + FACTOR_BITS)
        distances = np.arange(edge + 1).astype(object)
        doubled = 2 * unit * distances**power + m**power * (total[edge:] + total[edge::-1])
        least = Fraction(int(doubled.min()), 2 * unit * m**power)
        spent = sum(multiplier for _, multiplier in self.multipliers)
        return least - delta * Fraction(spent, 1 << self.bits)

    def record(self) -> dict[str, object]:
        """The witness as JSON values, exactly."""
        return {name: getattr(self, name) for name in _WITNESS_FIELDS}

    def _check(self) -> None:
        shifts = [j for j, _ in self.multipliers]
        longest = 2 * self.reach + 1
        if not (
            1 <= self.cells <= self.reach <= 10**6
            and 0 <= self.bits <= 10**4
            and shifts == sorted(set(shifts))
            and all(1 <= j <= self.cells for j in shifts)
            and len(self.prices) == len(shifts)
        ):
            raise CertificateRejected(
                "The lower bound isn't proved: in its proof, cells, reach, bits, multipliers or "
                "prices are out of range."
            )
        for (_, multiplier), prices in zip(self.multipliers, self.prices, strict=True):
            # the periodic part needs a whole period; ψ is 0 right of what is stored
            if not self.cells <= len(prices) <= longest:
                raise CertificateRejected(
                    f"The lower bound isn't proved: its proof has {len(prices):,} prices, expected "
                    f"{self.cells:,} to {longest:,}."
                )
            if min(prices) < 0 or max(prices) > multiplier:
                raise CertificateRejected(
                    "The lower bound isn't proved: a price in its proof is outside [0, λ]."
                )


AnyWitness = Witness | RadialWitness | BodyWitness


def _check_loss(loss: Loss, *, name: str) -> Loss:
    del name
    return Loss.named(loss)


_SCOPES: tuple[Scope, ...] = ("real", "integer")


@final
@record()
class LowerBound:
    """A proved lower bound on the loss of every (ε, δ)-private additive noise for sensitivity 1.

    The loss is a mean E over the noise X. For a sensitivity Δ the bound is `value`·Δ (mae) or
    `value`·Δ² (mse). With a `RadialWitness` it is about E‖X‖₂² of noise for `dimension` numbers and
    shifts up to length 1 in l2. With a `BodyWitness` it is about noise for all shifts of that
    witness's sensitivity, at their size, and δ = 0: E‖X‖₂² (mse) or E‖X‖₁ (mae). Nothing is
    promised about mechanisms that are not additive noise.

    Args:
        loss: `Loss.MAE`, E|X|, or `Loss.MSE`, E X².
        value: The bound, >= 0.
        epsilon: ε of the guarantee, an exact number.
        delta: δ of the guarantee, an exact number; `prove` and `verify` check that 0 <= δ < 1.
        witness: Dual prices, or a volume, from which `verify` proves the bound.
        scope: "real" for any noise that hides every shift in [−1, 1]; "integer" for noise on the
            integers for an integer query, whose sensitivity is the witness's `cells` steps.

    Raises:
        InvalidArgument: A field is malformed or out of its range.

    Source:
        theory/noise.md §3 to §5, theory/bodies.md §8.

    """

    loss: Loss = field(converter=takes(_check_loss))
    value: float = field(converter=real())
    epsilon: FractionField = field(converter=takes(exact))
    delta: FractionField = field(converter=takes(exact))
    witness: AnyWitness
    scope: Scope = field(converter=one_of(_SCOPES), default="real")

    def _check_together(self) -> None:
        if not 0 <= self.value < math.inf:
            raise InvalidArgument(
                name="value", value=self.value, expected="a finite value, at least 0"
            )
        if not 0 <= self.epsilon <= MAX_EPSILON:
            raise InvalidArgument(
                name="epsilon",
                value=show_value(self.epsilon),
                expected=f"0 <= epsilon <= {MAX_EPSILON:,} for a lower bound",
            )
        kinds = (Witness, RadialWitness, BodyWitness)
        _validate.instance(self.witness, kinds, name="witness", like="a Witness")

    def __repr__(self) -> str:
        guarantee = _words.format_guarantee(self.epsilon, self.delta)
        shifts = "L2(1)" if self.sensitivity is None else _words.sensitivity(self.sensitivity)
        dimension = f", dimension {self.dimension:,}" if self.dimension > 1 else ""
        noise = "noise" if self.scope == "real" else "whole-number noise"
        value = _words.round_down(self.value)
        return _words.line(
            "LowerBound",
            f"{guarantee} {noise} has {self.loss} >= {value} under {shifts}{dimension}",
        )

    @classmethod
    def prove(
        cls,
        *,
        loss: Loss,
        epsilon: Exact,
        delta: Exact,
        witness: AnyWitness,
        scope: Scope = "real",
    ) -> LowerBound:
        """The bound that `witness` proves, rounded down to a float.

        Args:
            loss: The loss that is bounded.
            epsilon: ε >= 0, an exact number.
            delta: 0 <= δ < 1, an exact number.
            witness: The proof.
            scope: "real" or "integer".

        Returns:
            The proved bound, at least 0.

        Raises:
            InvalidArgument: A number is malformed.
            CertificateRejected: The witness is malformed, or proves nothing of this kind; or δ is
                out of its range.

        """
        unproved = cls(
            loss=loss,
            value=0.0,
            epsilon=exact(epsilon, name="epsilon"),
            delta=exact(delta, name="delta"),
            witness=witness,
            scope=scope,
        )
        return replace(unproved, value=float_at_most(max(_prove(unproved), Fraction(0))))

    def verify(self) -> None:
        """Prove the bound again, in integers or balls, from the witness alone.

        Raises:
            CertificateRejected: The witness doesn't prove the bound.

        """
        proved = max(_prove(self), Fraction(0))
        if not Fraction(self.value) <= proved:
            raise CertificateRejected(
                "The lower bound isn't proved: its proof shows a loss of at least "
                f"{float_at_most(proved):.9g}, not {self.value:.9g}."
            )

    @property
    def dimension(self) -> int:
        """The number of coordinates of the noise."""
        return 1 if isinstance(self.witness, Witness) else self.witness.dimension

    @property
    def sensitivity(self) -> Sensitivity | None:
        """The shifts that the noise hides; None for all shifts up to length 1."""
        return self.witness.sensitivity if isinstance(self.witness, BodyWitness) else None

    def is_about(
        self,
        *,
        budget: Budget,
        loss: Loss,
        dimension: int = 1,
        steps: int | None = None,
        sensitivity: Sensitivity | None = None,
    ) -> bool:
        """True if the bound is for this loss, budget, dimension and sensitivity.

        Args:
            budget: The budget of the noise.
            loss: The loss.
            dimension: Number of coordinates of the noise.
            steps: For noise on the integers, the sensitivity in steps; None for any noise.
            sensitivity: The shifts; None for all shifts up to length 1.

        Returns:
            True if everything agrees.

        Raises:
            InvalidArgument: An argument has the wrong type.
        """
        _validate.instance(budget, Budget, name="budget", like="a Budget")
        _validate.instance(loss, Loss, name="loss", like="a Loss")
        dimension = _validate.dimension(dimension)
        if steps is not None:
            steps = _validate.whole(steps, name="steps")
        if self.scope == "integer":
            cells = self.witness.cells if isinstance(self.witness, Witness) else 0
        else:
            cells = None
        stated = (self.epsilon, self.delta, self.loss, self.dimension, cells, self.sensitivity)
        return stated == (budget.epsilon, budget.delta, loss, dimension, steps, sensitivity)

    def at_sensitivity(self, sensitivity: Exact) -> float:
        """The bound for shifts that are `sensitivity` times as large.

        Args:
            sensitivity: The factor, an exact number > 0.

        Returns:
            The bound, rounded down.

        Raises:
            InvalidArgument: The factor is not positive.

        """
        bound = Fraction(self.value) * positive_bound(sensitivity) ** power_of(self.loss)
        return float_at_most(min(bound, Fraction(sys.float_info.max)))

    def to_json(self) -> str:
        """The bound with its witness as JSON text, exactly.

        Returns:
            The text that `from_json` reads.

        """
        return json.dumps(
            {
                "kind": "lower-bound",
                "version": VERSION,
                "loss": self.loss.value,
                "value": float(self.value).hex(),
                "epsilon": decimal_text(self.epsilon),
                "delta": decimal_text(self.delta),
                "scope": self.scope,
                "witness": self.witness.record(),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> LowerBound:
        """Read a result of `to_json`; call `verify` before you rely on it.

        Args:
            text: The JSON text.

        Returns:
            The bound, not yet verified.

        Raises:
            CertificateRejected: A field is unknown, missing or repeated, or has a wrong type or a
                value out of range; or the version is another.
            InvalidInput: The text is no JSON, or is too long.

        """
        fields = exact_fields(parse_object(text), _FIELDS, where="lower bound")
        version = require_type(fields["version"], int, where="version")
        if fields["kind"] != "lower-bound" or version != VERSION:
            raise CertificateRejected(
                f"Expected a lower bound of version {VERSION}, the only version that this "
                "leastnoise reads."
            )
        if fields["scope"] not in ("real", "integer"):
            raise CertificateRejected("Unknown scope.")
        try:
            return cls(
                loss=Loss.named(require_type(fields["loss"], str, where="loss")),
                value=float(number(fields["value"], where="value")),
                epsilon=number(fields["epsilon"], where="epsilon"),
                delta=number(fields["delta"], where="delta"),
                witness=_witness_of(fields["witness"]),
                scope=fields["scope"],
            )
        except (ValueError, OverflowError) as error:  # every InvalidArgument is a ValueError
            raise CertificateRejected(str(error)) from error


def power_of(loss: Loss) -> int:
    """The power p for which the loss is E|X|^p, for noise X: 1 for mae, 2 for mse."""
    return 1 if loss is Loss.MAE else 2


def _prove(bound: LowerBound) -> Fraction:
    """The value that the witness of `bound` proves, whatever value it states.

    Real noise X is rounded to the lattice of spacing h at random, with the mean unchanged. It stays
    private against lattice shifts; E|X| stays the same, and E X² rises by at most h²/4
    (theory/noise.md §4). Raises CertificateRejected if the witness proves nothing of this kind.
    """
    witness, loss, scope = bound.witness, bound.loss, bound.scope
    epsilon, delta = bound.epsilon, bound.delta
    if epsilon < 0 or not 0 <= delta < 1:
        raise CertificateRejected("A lower bound needs epsilon >= 0 and 0 <= delta < 1.")
    if isinstance(witness, BodyWitness):
        if delta or scope != "real":
            raise CertificateRejected(
                "A lower bound whose proof computes a volume must be for real-valued noise and "
                "delta = 0."
            )
        return witness.bound(epsilon=epsilon, power=power_of(loss))
    if isinstance(witness, RadialWitness):
        if loss is not Loss.MSE or scope != "real":
            raise CertificateRejected(
                "A lower bound for vectors must be for the mean squared error (mse) of "
                "real-valued noise."
            )
        return witness.bound(epsilon=epsilon, delta=delta)
    proved = witness.bound(epsilon=epsilon, delta=delta, power=power_of(loss))
    if scope == "real" and loss is Loss.MSE:
        proved -= Fraction(1, 4 * witness.cells**2)
    return proved


def _witness_of(record: object) -> AnyWitness:
    if isinstance(record, dict) and "sensitivity" in record:
        return BodyWitness.from_record(record)
    if isinstance(record, dict) and "dimension" in record:
        return RadialWitness.from_record(record)
    fields: dict[str, Any] = exact_fields(record, _WITNESS_FIELDS, where="witness")
    pairs = [whole_numbers(pair) for pair in require_type(fields["multipliers"], list, where="λ")]
    if any(len(pair) != 2 for pair in pairs):
        raise CertificateRejected(
            "The lower bound can't be read: its multipliers must be pairs of numbers."
        )
    return Witness(
        cells=require_type(fields["cells"], int, where="cells"),
        reach=require_type(fields["reach"], int, where="reach"),
        bits=require_type(fields["bits"], int, where="bits"),
        multipliers=tuple((j, multiplier) for j, multiplier in pairs),
        prices=tuple(whole_numbers(row) for row in require_type(fields["prices"], list, where="ψ")),
    )
