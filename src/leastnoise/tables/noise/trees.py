"""Noise on trees of counts: its certificate, found and proved, its errors, and its record."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from leastnoise.errors import CertificateRejected, InvalidArgument, NotApplicable, Refused
from leastnoise.guarantees.exact import decimal_text
from leastnoise.noise.question import Question
from leastnoise.selection.public import find_candidate
from leastnoise.tables.noise.errors import PROBABILITIES
from leastnoise.tables.statistics.base import NoiseError, RowErrors

if TYPE_CHECKING:
    from leastnoise.certificate.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Neighbours, Sensitivity
    from leastnoise.noise import Agreeing
    from leastnoise.workloads.base import Strategy
    from leastnoise.workloads.tree_search import Trees

WIDTH_UNKNOWN = "its sums have so much noise that their ± can't be told from rounding"
"""Why there is no plan where a law of sums is known too badly for a half-width."""


def prove_tree(
    noise: Agreeing, moves: Sensitivity, budget: Budget, *, neighbours: Neighbours, releases: int
) -> Certificate:
    """Prove noise on this tree with these shares, of the least scale for a budget.

    Each release has an equal part of ε, and δ is left unspent. Counts and noise are whole.
    """
    question = Question(
        budget=replace(budget, delta=Fraction(0)),
        sensitivities=(moves,),
        dimension=noise.dimension,
        compositions=releases,
    )
    parameters = {"branches": noise.branches, "shares": noise.shares}
    proved = find_candidate(noise.name, question, parameters=parameters).mechanism.certificate
    return proved.about(neighbours).on_grid(1)


def find_tree(
    trees: Trees, budget: Budget, releases: int, read: Callable[[Certificate], object]
) -> Certificate:
    """The best noise on one of the trees that is proved and that `read` can read.

    Raises Refused if there is none, and CertificateRejected if `read` does.
    """
    refusal: Refused | InvalidArgument
    try:
        for noise in trees.rank(budget, releases):
            try:
                claim = prove_tree(
                    noise,
                    trees.moves,
                    budget,
                    neighbours=trees.neighbours,
                    releases=releases,
                )
                read(claim)
            except CertificateRejected:
                raise
            except (Refused, InvalidArgument) as error:
                refusal = error
            else:
                return claim
    except NotApplicable as error:
        refusal = error
    unknown = isinstance(refusal, InvalidArgument) and refusal.name == "coverage"
    why = WIDTH_UNKNOWN if unknown else str(refusal).removesuffix(".")
    raise Refused(f"The query {trees.label!r}: {why}. {trees.advice}.") from None


def measure_table(strategy: Strategy, table: int, *, groups: int = 1) -> NoiseError:
    """The error of the numbers of a table, and of each row if rows have unlike errors.

    The strategy says the errors in one of the `groups`, which are alike.
    """
    variances = strategy.variance(table)
    halves = [strategy.half_width(table, probability) for probability in PROBABILITIES]
    rows = None
    if not strategy.is_alike(table):
        stds, halves95 = (variances**0.5).tolist() * groups, halves[0].tolist() * groups
        rows = RowErrors(std=tuple(stds), half95=tuple(halves95))
    half95, half975, half983 = (float(widths.max()) for widths in halves)
    std = math.sqrt(float(variances.mean()))
    return NoiseError(std=std, half95=half95, half975=half975, half983=half983, rows=rows)


def tree_in_words(noise: Agreeing) -> str:
    """The branches of a tree and the noise in a count, to stand in a sentence."""
    tree = " × ".join(f"{b:,}" for b in noise.branches)
    std = math.sqrt(noise.variance)
    return f"({tree}) that partly cancels in sums (agreeing, std {std:.4g} in a count)"


def tree_to_record(noise: Agreeing) -> dict[str, Any]:
    """A tree as JSON values."""
    shares = [decimal_text(share) for share in noise.shares]
    return {"branches": list(noise.branches), "shares": shares}
