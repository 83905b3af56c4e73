"""The size from which a group that nobody listed is published, and what is refused."""

from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext
from typing import Any

import pytest

from leastnoise.errors import CertificateRejected, SpecError
from leastnoise.guarantees.budget import Budget
from leastnoise.tables.answers.unlisted.search import (
    UnlistedPlan,
    find_least,
    publication_chance,
    sizes_in_words,
)
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from tests.tables.unlisted import groups_of, planned, spec_of


@pytest.mark.parametrize(
    ("statistics", "limits", "half", "std"),
    [
        (["count_units"], {"max_groups": 1}, 12, 1.36),
        (["count", "mean(x)"], {"max_groups": 1, "max_rows_per_group": 1}, 14, 2.0),
        (["count"], {"max_groups": 3, "max_rows_per_group": 1}, 31, 6.5),
        (["count_units"], {"max_groups": 10}, 58, 11.9),
    ],
)
def test_from_how_many_on_a_group_is_published(
    statistics: list[str], limits: dict[str, int], half: int, std: float
) -> None:
    """Theory: workloads.md §1 at (1, 1e-5); peers need 13, 30, 33 and 62 there."""
    columns = {"x": {"bounds": [0, 8], "missing": "none"}}
    (part,) = planned(statistics=statistics, contribution=limits, columns=columns).noisy_parts
    groups = groups_of(part)
    assert groups.chosen.half == half
    assert groups.chosen.std <= std + 1e-9
    assert groups.chosen.nearly > half
    assert groups.least == 12
    assert groups.plain is not None
    assert groups.plain.half >= half - 1
    assert all((other.half, other.std) > (half, groups.chosen.std) for other in groups.others)


def preferred(prefer: str | None = None, **changes: Any) -> UnlistedPlan:
    (part,) = planned(part={} if prefer is None else {"prefer": prefer}, **changes).noisy_parts
    return groups_of(part)


def test_with_three_groups_each_preference_names_the_other() -> None:
    limits = {"max_groups": 3, "max_rows_per_group": 1}
    groups, accurate = (preferred(item, contribution=limits) for item in ("groups", "accuracy"))
    assert (groups.chosen.noise, groups.chosen.half) == ("gaussian", 31)
    assert (accurate.chosen.noise, accurate.chosen.half) == ("geometric", 37)
    assert groups.chosen.std == pytest.approx(6.46, abs=0.01)
    assert accurate.chosen.std == pytest.approx(4.22, abs=0.01)
    assert (groups.others, accurate.others) == ((accurate.chosen,), (groups.chosen,))
    for chosen, other, name in (
        (groups, accurate, "accuracy"),
        (accurate, groups, "groups"),
    ):
        (trade,) = (in_word for in_word in chosen.in_words() if "The noise is chosen" in in_word)
        ratio = other.chosen.std / chosen.chosen.std
        assert f'prefer = "{name}", the noise would be {ratio:.3g} times as large' in trade
        assert f"(std {other.chosen.std:.4g} of the count)" in trade
        assert f"a group of {other.chosen.half} would be published with a probability" in trade
    assert preferred(contribution=limits) == groups
    assert "prefer" not in groups.to_record()
    assert accurate.to_record()["prefer"] == "accuracy"


def test_where_both_preferences_choose_the_same_no_other_is_named() -> None:
    for prefer in ("groups", "accuracy"):
        groups = preferred(prefer, statistics=["count_units"], contribution={"max_groups": 1})
        assert groups.chosen.noise == "discrete-staircase"
        assert "prefer" not in " ".join(groups.in_words())


@pytest.mark.dense
@pytest.mark.parametrize(
    "statistics",
    [["count"], ["sum(x)"], ["count", "count_units"], ["count", "mean(x)", "count_units"]],
)
@pytest.mark.parametrize("most", [1, 3, 10])
@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "8"])
def test_no_error_is_larger_where_accuracy_is_preferred(
    statistics: list[str], most: int, rows: int, epsilon: str
) -> None:
    raw = spec_of(
        statistics=statistics,
        contribution={"max_groups": most, "max_rows_per_group": rows},
        privacy={"epsilon": epsilon},
    )
    stds, halves = [], []
    for prefer in ("groups", "accuracy"):
        raw["query"][0]["prefer"] = prefer
        (part,) = plan(spec_file.lay_out(raw)).noisy_parts
        stds.append([error.std for error in part.errors])
        halves.append(groups_of(part).chosen.half)
    assert all(other <= std for std, other in zip(*stds, strict=True))
    assert halves[1] >= halves[0]
    assert stds[0] != stds[1] or halves[0] == halves[1]


def test_the_noise_of_what_is_published_counts_and_not_that_of_the_threshold() -> None:
    """Persons decide and are not published: their count may have more noise."""
    limits = {"max_groups": 10, "max_rows_per_group": 5}
    groups, accurate = (
        preferred(item, statistics=["sum(x)"], contribution=limits)
        for item in ("groups", "accuracy")
    )
    assert (groups.chosen.noise, accurate.chosen.noise) == ("k-norm", "gaussian")
    assert accurate.chosen.std > groups.chosen.std
    assert groups.otherwise is not None
    assert groups.otherwise.ratio < 0.7
    assert "of the count" not in groups.otherwise.in_words()


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [("1", "1e-5"), ("1", "1e-6"), ("0.3", "1e-7"), ("0.1", "1e-8"), ("2", "1e-4")],
)
def test_of_one_group_a_person_no_mechanism_publishes_more(epsilon: str, delta: str) -> None:
    """The recurrence of Desfontaines et al. bounds every mechanism, and this one is on it."""
    plan = planned(
        statistics=["count_units"],
        contribution={"max_groups": 1},
        privacy={"epsilon": epsilon, "delta": delta},
    )
    groups = groups_of(plan.noisy_parts[0])
    most, c, d = [0.0], math.exp(float(epsilon)), float(delta)
    while most[-1] < 1 - d:
        most.append(min(c * most[-1] + d, 1 - (1 - most[-1] - d) / c))
    for units, bound in enumerate(most[1:], start=1):
        chance = publication_chance(groups.claim, units)
        assert bound - 3 * d <= chance <= bound * (1 + 1e-9)
    assert groups.least == next(units for units, chance in enumerate(most) if chance >= 0.5)
    assert groups.chosen.half == groups.least


@pytest.mark.parametrize("epsilon", ["0.5", "100", "300", "460", "461", "1000"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-200", "1e-300"])
def test_the_least_group_is_known_at_the_ends_of_floats(epsilon: str, delta: str) -> None:
    """e^ε and 1/δ may be too large for floats; the recurrence is computed in decimals here."""
    with localcontext(Emax=10**6, Emin=-(10**6), prec=40):
        rate, chances = Decimal(epsilon).exp(), [Decimal(0)]
        while chances[-1] < Decimal("0.5"):
            falls = 1 - (1 - chances[-1] - Decimal(delta)) / rate
            chances.append(min(rate * chances[-1] + Decimal(delta), falls))
    assert find_least(Budget(epsilon=epsilon, delta=delta), "add-remove") == len(chances) - 1


def test_replaced_persons_have_another_certificate() -> None:
    (part,) = planned(privacy={"neighbours": "replace-one"}).noisy_parts
    claim = groups_of(part).claim
    assert (claim.neighbours, claim.noise.neighbours) == ("replace-one", "add-remove")
    assert claim.noise.budget.epsilon * 2 == claim.budget.epsilon
    assert groups_of(part).least is None


@pytest.mark.dense
def test_beside_blocks_that_are_composed_tightly() -> None:
    counts = [
        {"name": f"t{i}", "statistics": ["count_units"], "group_by": {"sex": [1, 2, 3]}}
        for i in range(9)
    ]
    limits = {"max_groups": 9, "max_rows_per_group": 1}
    raw = spec_of(contribution=limits, privacy={"delta": "1e-5"})
    raw["query"] = [*counts, *raw["query"], *[counts[0] | {"name": "more"}]]
    mechanism = plan(spec_file.lay_out(raw))
    rule = mechanism.certificate.rule
    assert rule.startswith("tight")
    names = [name for name, _ in mechanism.certificate.draws]
    assert names == [*(f"t{i}" for i in range(9)), "groups", "more"]
    assert mechanism.certificate.verify().upper <= 1e-5 * (1 + 1e-9)
    again = type(mechanism.certificate).from_json(mechanism.certificate.to_json())
    assert again.verify() == mechanism.certificate.verify()
    less = json.loads(mechanism.certificate.to_json())
    groups = next(item for item in less["draws"] if item["name"] == "groups")
    assert groups["certificate"]["kind"] == "threshold-certificate"
    less["delta"] = "0.9e-5"
    with pytest.raises(CertificateRejected):
        type(mechanism.certificate).from_record(less).verify()


@pytest.mark.parametrize(
    ("changes", "key", "says"),
    [
        ({"privacy": {"delta": 0}}, "query[0].group_by.code", "delta > 0"),
        ({"contribution": {"l1": 3}}, "query[0]", "max_groups = 1"),
        ({"contribution": {"l2": 3, "max_rows_per_group": 1}}, "query[0]", "max_groups = 1"),
        ({"contribution": {"max_groups": 3}}, "query[0]", "max_rows_per_group = 1"),
        ({"by": {"code": {"keys": "secret"}}}, "query[0].group_by.code.keys", '"private"'),
        ({"by": {"code": {"keys": "private", "longest": 0}}}, "query[0].group_by.code", ""),
        ({"by": {"x": {"keys": "private"}}}, "query[0].group_by.x", "float"),
        ({"part": {"prefer": "noise"}}, "query[0].prefer", "'accuracy'"),
        ({"part": {"prefer": "accuracy"}, "by": {"sex": [1, 2]}}, "query[0].prefer", "Not used"),
        ({"part": {"prefer": "groups"}, "by": {}}, "query[0].prefer", "Not used"),
        (
            {"part": {"prefer": "groups"}, "statistics": ["count_over_limits"]},
            "query[0].prefer",
            "Not used",
        ),
        ({"by": {"code": {"keys": "private", "edges": [1]}}}, "query[0].group_by.code", "Unknown"),
    ],
)
def test_what_can_not_be_is_refused_with_what_to_write(
    changes: dict[str, Any], key: str, says: str
) -> None:
    with pytest.raises(SpecError) as caught:
        spec_file.lay_out(spec_of(**changes))
    record = dict(caught.value.problems)
    assert any(where.startswith(key) for where in record), record
    assert says in " ".join(record.values())


def test_equal_sizes_are_stated_once() -> None:
    """Sizes are whole, so probabilities jump; a sentence never gives one size two probabilities."""
    likely = "is shown with a probability of at least"
    assert sizes_in_words("group of {}", "shown", 5, 5) == f"group of 5 {likely} 95 %."
    apart = sizes_in_words("group of {}", "shown", 1000, 1200)
    other = "and a group of 1,200 with a probability of at least 95 %."
    assert apart == f"group of 1,000 {likely} ½, {other}"
