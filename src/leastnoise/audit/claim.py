"""What is claimed of a mechanism."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import final

from leastnoise import _validate, _words
from leastnoise._record import field, instance_of, optional, record, takes
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import exact
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.noise.base import Noise

Distribution = Callable[[float], float]
"""t ↦ P(X <= t), to within 1e-9."""


@final
@record()
class Claim:
    """(ε, δ)-differential privacy and, where it is claimed too, how: the sensitivity and the noise.

    The more is claimed, the more can be refuted. ε and δ alone are refuted by an event that is too
    likely on one of two neighbouring inputs. With `noise`, a law of this library, its scale can be
    refuted as well, which takes far fewer draws; `distribution` does that for any other noise: a
    function t ↦ P(X <= t), to within 1e-9, of one coordinate. `sensitivity` says how far neighbours
    are apart.

    Raises InvalidArgument for what isn't a budget, a sensitivity, a noise or a function, and for
    both a noise and a distribution.

    >>> Claim(epsilon="0.1")
    <Claim: 0.1-DP>
    """

    epsilon: Fraction = field(converter=takes(exact))
    delta: Fraction = field(converter=takes(exact), default=0)
    sensitivity: Sensitivity | None = field(
        converter=optional(instance_of(Sensitivity, like="a sensitivity, such as L1(1)")),
        default=None,
    )
    noise: Noise | None = field(
        converter=optional(instance_of(Noise, like="a Noise, such as Laplace(scale=1)")),
        default=None,
    )
    distribution: Distribution | None = None

    def _check_together(self) -> None:
        Budget(epsilon=self.epsilon, delta=self.delta)
        if self.distribution is not None and not callable(self.distribution):
            raise InvalidArgument(
                name="distribution",
                value=_validate.shown(self.distribution),
                expected="distribution to be a function of t that returns P(X <= t)",
            )
        if self.noise is not None and self.distribution is not None:
            raise InvalidArgument(
                name="distribution",
                value="a function",
                expected="a noise or a distribution, not both",
            )

    @classmethod
    def of(cls, mechanism: Mechanism) -> Claim:
        """Return what a mechanism of this library claims: all that is in its certificate.

        The noise is left out where a geometry maps it to other numbers than are released. Raises
        InvalidArgument for what is no `Mechanism`.
        """
        _validate.instance(mechanism, Mechanism, name="mechanism", like="a Mechanism")
        certificate = mechanism.certificate
        return cls(
            epsilon=certificate.budget.epsilon,
            delta=certificate.budget.delta,
            sensitivity=certificate.sensitivity,
            noise=certificate.noise if certificate.geometry is None else None,
        )

    def __repr__(self) -> str:
        said = _words.private(self.epsilon, self.delta)
        if self.sensitivity is not None:
            said += f" under {_words.sensitivity(self.sensitivity)}"
        if self.noise is not None:
            said += f", {self.noise.name} noise of scale {_words.number(self.noise.scale)}"
        return _words.line("Claim", f"{said}{', a distribution' if self.distribution else ''}")
