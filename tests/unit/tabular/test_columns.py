"""Axes: every declared value has one bin, and every value drawn from a bin lies in it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import dalenius as dl
from checks import SeededEntropy
from dalenius.errors import QueryRefused
from dalenius.query.binding.binder import bind
from dalenius.query.frames.aggregates import count_distinct
from dalenius.query.frames.frames import Frame
from dalenius.query.functions.evaluation import evaluate
from dalenius.query.plan.relations import Project
from dalenius.query.tables import EachRow, Protection, Table
from dalenius.query.types import Domain
from dalenius.tabular.columns import BinnedColumn, formula, require_listed

DOMAINS: dict[str, tuple[Domain, int | Fraction | None]] = {
    "a short range": (dl.Int(-3, 9), None),
    "ages": (dl.Int(0, 120), None),
    "ages with NULL": (dl.Int(0, 120, nullable=True), 10),
    "below zero": (dl.Int(-117, 250), 20),
    "money": (dl.Real(-7, 5000, step="0.25"), 30),
    "a width": (dl.Int(0, 100), Fraction(7)),
    "days": (dl.Date("2020-02-03", "2021-12-31", nullable=True), 24),
    "moments": (dl.Timestamp("2020-01-01 00:00", "2020-01-01 00:00:00.001"), None),
    "truth": (dl.Bool(nullable=True), None),
    "texts": (dl.Category("Oslo", "Bergen"), None),
}


def axis_of(domain: Domain, bins: int | Fraction | None) -> tuple[BinnedColumn, Project]:
    table = Table("rows", (("x", domain),), Protection("people", EachRow(), dl.AddRemove(), None))
    question = bind(Frame("rows").agg(c=count_distinct(formula("x", domain, bins))).syntax(), {"rows": table})
    assert isinstance(question.relation, Project)
    ((_, cut),) = question.relation.columns
    return BinnedColumn("x", domain, cut.domain), question.relation


@pytest.mark.parametrize("name", [name for name in DOMAINS if name != "moments"])
def test_every_value_is_counted_in_the_bin_that_it_is_drawn_from(name: str) -> None:
    domain, bins = DOMAINS[name]
    axis, relation = axis_of(domain, bins)
    ((_, cut),) = relation.columns
    found = {evaluate(cut, dict.fromkeys(cut.columns(), code)): [] for code in domain.codes()}
    for code in domain.codes():
        found[evaluate(cut, dict.fromkeys(cut.columns(), code))].append(code)
    assert [list(run) for run in axis.runs if len(run)] == [found[code] for code in axis.cut.codes() if code in found]
    codes = pa.array(list(found), type=pa.string() if isinstance(domain, dl.Category) else None)
    assert axis.indices(codes).tolist() == [axis.cut.codes().index(code) for code in found]


@pytest.mark.parametrize("name", DOMAINS)
def test_there_are_about_as_many_bins_as_wished(name: str) -> None:
    domain, bins = DOMAINS[name]
    axis, _ = axis_of(domain, bins)
    most = 32 if bins is None else bins if isinstance(bins, int) else 100 / bins + 1
    assert axis.size <= most + 2


@pytest.mark.parametrize("name", DOMAINS)
def test_values_drawn_for_a_place_are_of_its_bin(name: str) -> None:
    axis, _ = axis_of(*DOMAINS[name])
    places = np.repeat([place for place, run in enumerate(axis.runs) if len(run)], 20)
    drawn = axis.values(places, SeededEntropy(name))
    for place, value in zip(places.tolist(), drawn, strict=True):
        assert axis.domain.code(value) in axis.runs[place]
    widest = max(range(len(axis.runs)), key=lambda place: len(axis.runs[place]))
    assert len(axis.runs[widest]) == 1 or len({drawn[i] for i in np.flatnonzero(places == widest)}) > 1


def test_a_column_without_declared_values_is_refused_with_the_line_to_add() -> None:
    with pytest.raises(QueryRefused, match=r"catalog.toml.*icd = "):
        require_listed("icd", dl.Text(), "visits")
