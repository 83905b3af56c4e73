"""The limit that a release finds, and the two steps of such a release.

First permute-and-flip chooses a candidate, with a share of ε. Then the release follows the plan of
an ordinary spec: with that limit, and with the rest of ε. All these plans are proved before a row
is read (theory/release.md §13).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

from leastnoise import _words
from leastnoise.guarantees.exact import decimal_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from leastnoise.tables.layout.layout import Layout, SpecLayout
    from leastnoise.tables.spec.contribution import Contribution, FindLimit
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query


@final
@dataclass(frozen=True, kw_only=True)
class Finder:
    """The limit called `name` that a release finds for one `query`, or for all if that is None."""

    name: str
    finds: FindLimit
    query: Query | None

    @property
    def label(self) -> str:
        """The label of the search in certificates and messages."""
        return self.name if self.query is None else f"{self.query.name}.{self.name}"


def list_finders(spec: Spec) -> Iterator[tuple[str, Finder]]:
    """Yield the key of each limit that a release finds, and the limit as a `Finder`."""
    places: list[tuple[str, Query | None, Contribution | None]] = [
        ("contribution", None, spec.contribution)
    ]
    places += [
        (f"query[{index}].contribution", query, query.contribution)
        for index, query in enumerate(spec.query)
    ]
    for path, query, contribution in places:
        for name, finds in ({} if contribution is None else contribution.finds).items():
            yield f"{path}.{name}", Finder(name=name, finds=finds, query=query)


def finder_of(spec: Spec) -> Finder | None:
    """The only limit that a release finds; None if it finds no limit.

    The checks of the spec allow at most one.
    """
    return next((finder for _, finder in list_finders(spec)), None)


def fix_limit(spec: Spec, finder: Finder, limit: int) -> Spec:
    """The spec of the second step: with this limit, and with the ε that the choice leaves."""
    fixed = _replace(spec, finder, limit)
    left = spec.budget.epsilon * (1 - finder.finds.share)
    privacy = spec.privacy.model_copy(update={"epsilon": left})
    return fixed.model_copy(update={"privacy": privacy})


def set_found_limit(spec: Spec, finder: Finder, limit: int) -> Spec:
    """The spec that states the limit that a release found, as it is stored with the release."""
    return _replace(spec, finder, finder.finds.model_copy(update={"found": limit}))


def _replace(spec: Spec, finder: Finder, value: int | FindLimit) -> Spec:
    """Replace the value of the limit in the spec."""

    def change(section: Contribution | None) -> Contribution | None:
        return None if section is None else section.model_copy(update={finder.name: value})

    if finder.query is None:
        return spec.model_copy(update={"contribution": change(spec.contribution)})
    queries = tuple(
        query.model_copy(update={"contribution": change(query.contribution)})
        if query.name == finder.query.name
        else query
        for query in spec.query
    )
    return spec.model_copy(update={"query": queries})


def layout_of(layouts: SpecLayout, finder: Finder) -> Layout | None:
    """The layout by which the choice of a limit counts the rows or groups that a limit cuts off.

    It is about the finder's query. None if the limit is for all queries: then rows of the whole
    data are counted.
    """
    if finder.query is None:
        return None
    index = [query.name for query in layouts.spec.query].index(finder.query.name)
    if parts := layouts.queries[index]:
        return parts[0][0]
    counted = layouts.quantiles[index][0].histogram
    return replace(counted, axes=counted.axes[:-1])  # a unit's groups, not its candidates


def epsilon_of_choice(spec: Spec, finder: Finder) -> Fraction:
    """The ε with which the limit is chosen: its share of the whole ε."""
    return spec.budget.epsilon * finder.finds.share


def units_of_choice(spec: Spec, finder: Finder) -> int:
    """The number t of units by which the choice of a limit may be off, with probability 95 %.

    The total error of a limit is its noise, and the rows or groups that it cuts off. With that
    probability, the error of the chosen limit exceeds the error of another candidate by at most t
    times the distance of the two limits. For m candidates t is 2·ln(20m)/ε, rounded up, where ε is
    the ε of the choice. Source: theory/release.md §13.
    """
    epsilon = float(epsilon_of_choice(spec, finder))
    return math.ceil(2 * math.log(20 * len(finder.finds.candidates)) / epsilon)


def describe(spec: Spec) -> Iterator[str]:
    """Yield sentences about the limit that a release finds, for plans and pages."""
    if (finder := finder_of(spec)) is None:
        return
    finds, where = finder.finds, "" if finder.query is None else f" of {finder.query.name}"
    listed = _words.join_names([f"{candidate:,}" for candidate in finds.candidates])
    share = f"with {float(100 * finds.share):.3g} % of the budget"
    if finds.found is None:
        yield (
            f"The release first finds {finder.name}{where} among {listed}, {share}. It looks for "
            "the candidate with the least total error, from noise and from the rows that it cuts "
            "off. Errors are shown for the largest candidate; they shrink with the limit."
        )
        others = _words.count_noun(units_of_choice(spec, finder), spec.privacy.person)
        yield (
            f"With probability 95 %, the choice is as good as with {others} more or fewer above "
            "the limit. If that is a large part of your data, give the choice a larger share."
        )
        return
    yield f"{finder.name} = {finds.found:,}{where} was found among {listed}, {share}."
    if finds.found == finds.candidates[-1]:
        yield "It is the largest candidate: a larger limit might have cut off less."


def to_record(spec: Spec) -> dict[str, Any]:
    """The limit that a release finds, as JSON values; {} if the release finds no limit.

    The record has the limit's label, candidates, share and value. The value is None until a release
    has found it.
    """
    if (finder := finder_of(spec)) is None:
        return {}
    finds = finder.finds
    record = {
        "limit": finder.label,
        "candidates": list(finds.candidates),
        "share": decimal_text(finds.share),
        "found": finds.found,
    }
    return {"found_limit": record}
