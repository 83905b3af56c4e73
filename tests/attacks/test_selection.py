"""Selected groups: the law of all rounds on neighbouring tables, in exact fractions, is private.

e^(−λ) is ½ here, so that every probability is a fraction, and e^ε is a power of 2.
"""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from leastnoise.certificate.selection import SelectionCertificate
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import Neighbours
from leastnoise.tables.answers.selection.answer import Selected
from leastnoise.tables.answers.selection.layout import candidates_of
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan
from leastnoise.tables.rows import integer_vectors, source
from tests.selection_laws import Law, largest_ratio, law_of_rounds
from tests.tables.reference import SALT

HALF = Fraction(1, 2)
CHANGES: dict[Neighbours, tuple[int, ...]] = {"add-remove": (0, 1), "replace-one": (-1, 0, 1)}
FACTORS: dict[Neighbours, int] = {"add-remove": 1, "replace-one": 2}
ITEMS = ["a", "b", "c", "d"]


@pytest.mark.dense
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("rounds", [1, 2])
def test_no_neighbouring_scores_tell_more_than_the_certificate(
    neighbours: Neighbours, rounds: int
) -> None:
    laws: dict[tuple[int, ...], Law] = {}

    def law(scores: tuple[int, ...]) -> Law:
        if scores not in laws:
            laws[scores] = law_of_rounds(scores, rounds, HALF)
        return laws[scores]

    worst = Fraction(0)
    for scores in itertools.product(range(1, 5), repeat=3):
        for moves in itertools.product(CHANGES[neighbours], repeat=3):
            moved = tuple(score + move for score, move in zip(scores, moves, strict=True))
            worst = max(worst, largest_ratio(law(scores), law(moved)))
    exponent = rounds * FACTORS[neighbours]  # spent / ln 2
    assert 2**exponent / 4 < worst <= 2**exponent
    claim = SelectionCertificate(
        budget=Budget(epsilon=exponent), neighbours=neighbours, rate=1, rounds=rounds, candidates=3
    )
    assert claim.spent == exponent
    if neighbours == "replace-one":  # the rate for added persons would be too large
        assert worst > 2**rounds


def planned(neighbours: Neighbours, most: int | None) -> tuple[dict[str, Any], Selected]:
    limits = {} if most is None else {"contribution": {"max_groups": most}}
    raw = {
        "version": 1,
        "data": {"source": "rows.parquet", "types": {"person": "int", "item": "text"}},
        "privacy": {"unit": "person", "epsilon": 4, "neighbours": neighbours},
        "query": [
            {
                "name": "top",
                "statistics": ["count_units"],
                "group_by": {"item": ITEMS},
                "top": 2,
                "by": "selection",
            }
        ],
        **limits,
    }
    (answered,) = plan(spec_file.lay_out(raw)).answered
    assert isinstance(answered, Selected)
    return raw, answered


def read_counts(
    rows: list[tuple[int, str]], raw: dict[str, Any], answered: Selected, folder: Path
) -> tuple[int, ...]:
    """The exact counts of all groups, as the release itself reads them."""
    frame = pd.DataFrame(rows, columns=["person", "item"]).astype({"person": "Int64"})
    frame.to_parquet(folder / "rows.parquet")
    spec = spec_file.lay_out(raw).spec
    with source.open_engine(source.find_source(spec, folder, None)) as engine:
        layout = candidates_of(answered.layout)
        return tuple(integer_vectors.query_vector(engine, spec, layout, salt=SALT).tolist())


@pytest.mark.dense
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("most", [None, 1, 3])
def test_no_person_is_told_of_from_the_rows_on(
    tmp_path: Path, neighbours: Neighbours, most: int | None
) -> None:
    raw, answered = planned(neighbours, most)
    assert answered.selection.spent == answered.budget.epsilon / 2
    drawn = random.Random(most or 0)
    worst, moves_of_counts = Fraction(0), 0
    for persons in (1, 2, 3, 5):
        rows = [
            (person, drawn.choice([*ITEMS, "other"]))
            for person in range(persons)
            for _ in range(drawn.choice([1, 4, 9]))
        ]
        rows += [(0, item) for item in drawn.sample(ITEMS, drawn.choice([1, 4]))]
        others = [(person, item) for person, item in rows if person]
        if neighbours == "replace-one":
            others += [(0, item) for item in drawn.sample(ITEMS, 2)]
        counts = read_counts(rows, raw, answered, tmp_path)
        fewer = read_counts(others, raw, answered, tmp_path)
        changes = [count - less for count, less in zip(counts, fewer, strict=True)]
        assert {*changes} <= {*CHANGES[neighbours]}
        rate = FACTORS[neighbours] * answered.selection.rate
        assert answered.selection.rounds * rate == answered.selection.spent
        laws = [law_of_rounds(scores, 2, HALF) for scores in (counts, fewer)]
        worst = max(worst, largest_ratio(*laws))
        moves_of_counts = max(moves_of_counts, sum(map(abs, changes)))
    assert 1 < worst <= 2 ** (2 * FACTORS[neighbours])
    assert moves_of_counts <= (most or len(ITEMS)) * FACTORS[neighbours]
    if most is None and neighbours == "add-remove":
        assert moves_of_counts > 2  # more than are selected
