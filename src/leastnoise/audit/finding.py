"""What an audit found: a finding a detector, and all of them together."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, final

from leastnoise import _words
from leastnoise.guarantees.exact import decimal_text

if TYPE_CHECKING:
    from fractions import Fraction

    from leastnoise.audit.claim import Claim

Verdict = Literal["violation", "nothing found", "not tried"]


@final
@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one detector tested, and what came out.

    `claim` is the sentence that was tested; it is refuted if `verdict` is "violation", and then
    `statement` says by what. Of a mechanism that keeps its claims, that has a probability of at
    most `error`. `would_detect` says how large a violation would have been found with a probability
    of 99 % at least, by the same bounds at the same events. `epsilon_lower` and `delta_lower` are
    bounds of the mechanism's own ε at the claimed δ, and δ at the claimed ε, if they were bounded.
    """

    detector: str
    verdict: Verdict
    claim: str
    statement: str
    error: float
    would_detect: str = ""
    epsilon_lower: float | None = None
    delta_lower: float | None = None

    def __repr__(self) -> str:
        return _words.line("Finding", f"{self.detector}: {self.verdict}. {self.statement}")


@final
@dataclass(frozen=True, kw_only=True)
class Audit:
    """The findings of all detectors, which together are false with probability at most `error`.

    Whether one of them is a violation is `violated`. That none is proves nothing: an audit can
    prove a violation, never privacy. `str` of it is a text for people.
    """

    claimed: Claim
    draws: int
    error: Fraction
    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        said = "a violation" if self.violated else "nothing found"
        names = [one.detector for one in self.findings if one.verdict == "violation"]
        by = f" by {_words.listed(names)}" if names else ""
        claim = _words.private(self.claimed.epsilon, self.claimed.delta)
        return _words.line("Audit", f"{said}{by} against {claim} in {self.draws:,} draws an input")

    def __str__(self) -> str:
        return "\n".join(
            textwrap.fill(sentence, 100, subsequent_indent="  ", break_on_hyphens=False)
            for sentence in self.sentences()
        )

    @property
    def violated(self) -> bool:
        """Whether a claim was refuted."""
        return any(one.verdict == "violation" for one in self.findings)

    @property
    def epsilon_lower(self) -> float:
        """A proved lower bound of ε at the claimed δ; 0 if none was found."""
        return max((one.epsilon_lower or 0.0 for one in self.findings), default=0.0)

    @property
    def delta_lower(self) -> float:
        """A proved lower bound of δ at the claimed ε; 0 if none was found."""
        return max((one.delta_lower or 0.0 for one in self.findings), default=0.0)

    def sentences(self) -> list[str]:
        """Return what was found in sentences, a paragraph a detector."""
        claim = _words.private(self.claimed.epsilon, self.claimed.delta)
        head = f"Claimed: {claim}. {self.draws:,} draws on each of two inputs; "
        head += f"all findings hold but for a probability of {_words.number(self.error)}."
        said = [head]
        for one in self.findings:
            reach = f" {one.would_detect}" if one.would_detect else ""
            said.append(f"{one.detector}: {one.verdict}. {one.statement}{reach}")
        if self.epsilon_lower or self.delta_lower:
            end = f"Proved: ε >= {_words.at_most(self.epsilon_lower)} at the claimed δ"
            said.append(f"{end}, δ >= {_words.at_most(self.delta_lower)} at the claimed ε.")
        if not self.violated:
            said.append("No violation was found, which doesn't prove privacy.")
        return said

    def to_record(self) -> dict[str, Any]:
        """Return all of it as plain types, for JSON."""
        return {
            "violated": self.violated,
            "epsilon": decimal_text(self.claimed.epsilon),
            "delta": decimal_text(self.claimed.delta),
            "draws": self.draws,
            "error": decimal_text(self.error),
            "epsilon_lower": self.epsilon_lower,
            "delta_lower": self.delta_lower,
            "findings": [asdict(one) for one in self.findings],
        }
