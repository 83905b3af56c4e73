"""Noise on trees of counts: certificates, the errors of tables, and records in plan.json."""

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

WIDTH_UNKNOWN = "the noise of its sums is too large to compute their ±"
"""The message of a plan if the law of some sums isn't known well enough for a half-width."""


def prove_tree(
    noise: Agreeing, moves: Sensitivity, budget: Budget, *, neighbours: Neighbours, releases: int
) -> Certificate:
    """Find and prove the least scale of this noise on a tree, for a budget.

    Each release gets an equal part of ε, and δ isn't spent. Counts and noise are whole numbers.
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
    """Find the best noise on one of these trees that can be proved, and return its certificate.

    `read` is called with the certificate. A tree for which it raises Refused or InvalidArgument is
    passed over. Raises Refused if no tree is left, and CertificateRejected if `read` raises it.
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
    """The error of a table's numbers, with the error of each row if rows differ.

    Then `std` is the root mean square over rows, and half-widths are the largest of all rows. The
    strategy gives the errors of one group's rows; all `groups` have the same errors.
    """
    variances = strategy.variance(table)
    halves = strategy.half_widths(table, PROBABILITIES)
    rows = None
    if not strategy.is_alike(table):
        stds, halves95 = (variances**0.5).tolist() * groups, halves[0].tolist() * groups
        rows = RowErrors(std=tuple(stds), half95=tuple(halves95))
    half95, half975, half983 = (float(widths.max()) for widths in halves)
    std = math.sqrt(float(variances.mean()))
    return NoiseError(std=std, half95=half95, half975=half975, half983=half983, rows=rows)


def tree_in_words(noise: Agreeing) -> str:
    """The noise of a count and the branches of its tree, as a part of a sentence."""
    of_count = f"noise (the family agreeing, std {math.sqrt(noise.variance):.4g} in a count)"
    if not any(noise.shares[:-1]):
        return of_count
    tree = " × ".join(f"{b:,}" for b in noise.branches)
    along = f"that is correlated along a tree with {tree} branches, and partly cancels in sums"
    return f"{of_count} {along}"


def tree_to_record(noise: Agreeing) -> dict[str, Any]:
    """The tree of this noise as JSON values."""
    shares = [decimal_text(share) for share in noise.shares]
    return {"branches": list(noise.branches), "shares": shares}
