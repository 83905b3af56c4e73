"""Each kind of answer reads its own certificate, and rejects those of all other kinds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.plan import Claim, Claims
from leastnoise.errors import CertificateRejected, SpecError
from leastnoise.noise.trees.law import Agreeing
from leastnoise.tables.answers.base import NO_NAMES, SECTIONS, Topic
from leastnoise.tables.answers.kinds import KINDS, SELECTION, SERIES, kind_of, kinds_of_sums
from leastnoise.tables.answers.match_certificates import list_answers
from leastnoise.tables.layout.layout import SpecLayout
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan, plan_as_certified
from leastnoise.tables.statistics.registry import parse_query

PLANS = [1, 2, 3, 4]
SPEC: dict[str, Any] = {
    "version": 1,
    "data": {"source": "rows.parquet", "types": {"code": "text", "plan": "int", "x": "int"}},
    "privacy": {"unit": "row", "epsilon": 8, "delta": "1e-5"},
    "columns": {"x": {"candidates": {"from": 1, "to": 20, "step": 1}}},
    "query": [
        {"name": "plain", "statistics": ["count"], "group_by": {"plan": PLANS}},
        {"name": "again", "statistics": ["count"], "group_by": {"plan": [1, 2]}},
        {"name": "groups", "statistics": ["count"], "group_by": {"code": {"keys": "private"}}},
        {"name": "alone", "statistics": [], "group_by": {"code": {"keys": "private"}}},
        {
            "name": "totals",
            "statistics": ["count"],
            "group_by": {"plan": PLANS, "x": [1, 2]},
            "margins": True,
        },
        {"name": "sums", "histogram": {"column": "x", "edges": [0, 5, 9, 20], "cumulative": True}},
        {
            "name": "running",
            "histogram": {"column": "x", "edges": [0, 5, 20], "cumulative": True},
            "group_by": {"plan": PLANS},
            "margins": True,
        },
        {
            "name": "levels",
            "statistics": ["count"],
            "group_by": {"plan": {"keys": PLANS, "levels": {"half": [1, 1, 2, 2]}}},
        },
        {
            "name": "named",
            "statistics": ["count"],
            "group_by": {"plan": PLANS},
            "sums": "sum,plan,weight\nall,,\nfirst,1,2\nfirst,2,3\n",
        },
        {
            "name": "nested",
            "statistics": ["count"],
            "group_by": {"plan": {"keys": PLANS, "levels": {"half": [1, 1, 2, 2]}}, "x": [1, 2]},
            "margins": True,
        },
        {"name": "chance", "statistics": ["median(x)"], "quantiles_by": "permute-and-flip"},
        {"name": "tree", "statistics": ["median(x)"], "quantiles_by": "tree"},
    ],
}
"""A query of every kind, and two that may share a draw."""


@pytest.fixture(scope="module")
def lay_out_query() -> SpecLayout:
    return spec_file.lay_out(SPEC)


@pytest.fixture(scope="module")
def draws(lay_out_query: SpecLayout) -> Claims:
    return plan(lay_out_query).certificate.draws


def test_the_kind_with_the_most_given_keys_answers(lay_out_query: SpecLayout) -> None:
    for query in lay_out_query.spec.query:
        given = query.keys_of_sums
        assert [kind.keys_of_sums for kind in kinds_of_sums(query)] == [given] * bool(given)
        assert kind_of(parse_query(lay_out_query.spec, query)).keys_of_sums == given
    (nested,) = (query for query in SPEC["query"] if query["name"] == "nested")
    with pytest.raises(SpecError, match="at least one table"):
        spec_file.lay_out({**SPEC, "query": [{**nested, "margins": []}]})


@pytest.mark.dense
def test_a_plan_is_read_back_from_its_certificate(lay_out_query: SpecLayout) -> None:
    mechanism = plan(lay_out_query)
    assert {
        kind_of(parse_query(lay_out_query.spec, query)) for query in lay_out_query.spec.query
    } == {*KINDS} - {
        SERIES,
        SELECTION,
    }
    again = plan_as_certified(lay_out_query, mechanism.certificate)
    assert again.to_record() == mechanism.to_record()
    assert list(dict.fromkeys(part.query for part in mechanism.parts)) == list(mechanism.names)
    labels = [label for answered in mechanism.answered for label in answered.labels]
    assert sorted(labels) == sorted(
        label for answer in list_answers(lay_out_query) for label in answer.labels
    )


@pytest.mark.dense
def test_every_part_is_in_a_section_and_says_what_it_is(lay_out_query: SpecLayout) -> None:
    built = plan(lay_out_query)
    for answered in built.answered:
        topics = {topic for topic, _ in answered.sentences(NO_NAMES)}
        for part in answered.parts:
            assert part.section in SECTIONS
            assert part.to_record()["name"] == part.name
            assert part.list_rows(lay_out_query.spec)
            assert [*part.listings(lay_out_query.spec)]
            assert {*part.sentences(NO_NAMES)} <= {*answered.sentences(NO_NAMES)}
        chosen = any(part.section != "noisy_parts" for part in answered.parts)
        assert not chosen or Topic.PAGE in topics


def on_a_tree(claim: Claim) -> bool:
    """True for noise on a tree; for bins, another such certificate may be accepted, too."""
    return isinstance(claim, Certificate) and isinstance(claim.noise, Agreeing)


@pytest.mark.dense
def test_no_answer_reads_the_certificate_of_another(
    lay_out_query: SpecLayout, draws: Claims
) -> None:
    certificate = plan(lay_out_query).certificate
    for index, (name, claim) in enumerate(draws):
        for _, other in draws:
            if other == claim or (on_a_tree(claim) and on_a_tree(other)):
                continue
            forged = (*draws[:index], (name, other), *draws[index + 1 :])
            with pytest.raises(CertificateRejected):
                plan_as_certified(lay_out_query, replace(certificate, draws=forged))


@pytest.mark.dense
def test_queries_are_in_one_draw_each_and_in_order(
    lay_out_query: SpecLayout, draws: Claims
) -> None:
    certificate = plan(lay_out_query).certificate
    wrong = [
        (draws[1:], "have the same queries"),
        ((*draws, draws[-1]), "have the same queries"),
        ((*draws[:-2], draws[-1], draws[-2]), "in another order than the spec"),
        ((draws[-1], *draws[:-1]), "in another order than the spec"),
    ]
    names = [name for name, _ in draws]
    groups, alone = names.index("groups"), names.index("alone")
    assert alone == groups + 1
    together = ("groups+alone", draws[groups][1])
    wrong.append(((*draws[:groups], together, *draws[alone + 1 :]), "share one draw"))
    for some, why in wrong:
        with pytest.raises(CertificateRejected, match=why):
            plan_as_certified(lay_out_query, replace(certificate, draws=some))
