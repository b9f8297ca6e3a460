"""Public hypotheses: saved, published, and asked by others without the database; damaged ones are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from checks import ALARM
from costs import cases
from dalenius.errors import InvalidParameter
from dalenius.query.types import Bool, Choice, Date, Days, Domain, Int, Number, Real, Timestamp
from dalenius.session.answers.contents import NoisyMarginal
from dalenius.synth.online.public import PublicCounts
from dalenius.tabular.columns import BinnedColumn
from dalenius.tabular.written import axis_facts, axis_from, domain_facts, domain_from
from small_sessions import rich, session_of

AGE = BinnedColumn("age", Number(False, 0, 99), Number(False, 0, 4, step=20))  # type: ignore[arg-type]
CITY = BinnedColumn("city", Choice(True, ("Oslo", "Bergen")), Choice(True, ("Oslo", "Bergen")))
SICK = BinnedColumn("sick", Bool(), Bool())
AXES = (AGE, CITY, SICK)
TRUTH = np.arange(30).reshape(5, 3, 2) * 10 + 5.0


def made(noise: float = 4.0, *, seed: int = 0) -> PublicCounts:
    """Of ages and cities, and of cities and health, with normal noise."""
    chance = np.random.default_rng(seed)
    parts = [("age", "city"), ("city", "sick")]
    sums = [TRUTH.sum(axis=2), TRUTH.sum(axis=0)]
    measured = tuple(
        NoisyMarginal(columns, counts + chance.normal(0, noise, counts.shape), noise)
        for columns, counts in zip(parts, sums, strict=True)
    )
    return PublicCounts.fitted(AXES, measured, bar=12, receipt="r")


def test_what_is_saved_is_loaded_and_answers_the_same(tmp_path: Path) -> None:
    counts = made()
    counts.save(tmp_path / "counts.json")
    again = PublicCounts.load(tmp_path / "counts.json")
    assert again.axes == counts.axes
    assert (again.counts == counts.counts).all()
    for condition in ("age >= 40 AND city = 'Oslo'", "city IS NULL", "TRUE", "NOT sick", "age < 20 OR sick"):
        assert again.ask(condition) == counts.ask(condition)
    assert repr(again) == repr(counts)


def test_a_bar_is_known_where_the_columns_were_measured_together() -> None:
    counts = made()
    assert counts.ask("age < 20 AND sick").error is None
    assert "unknown" in str(counts.ask("age < 20 AND sick"))
    for condition in ("TRUE", "age < 20", "age < 40 AND city = 'Oslo'", "sick AND city IS NOT NULL"):
        assert counts.ask(condition).error


@cases(("shrink", "fine"), [(1.0, True), (0.2, False)], fast=1)
def test_bars_cover_the_truth_and_bars_that_are_too_short_do_not(shrink: float, fine: bool) -> None:
    """At 95 % each, with the twin: a fifth of the bar misses far more often."""
    asked = {"age < 20 AND city = 'Oslo'": TRUTH[0, 0].sum(), "age >= 40": TRUTH[2:].sum(), "sick": TRUTH[..., 1].sum()}
    missed = runs = 0
    for seed in range(60):
        counts = made(seed=seed)
        for condition, truth in asked.items():
            told = counts.ask(condition)
            assert told.error is not None
            missed += abs(told.count - truth) > shrink * told.error
            runs += 1
    assert (float(stats.binom.sf(missed - 1, runs, 0.05)) > ALARM) == fine


@pytest.mark.parametrize(
    "domain",
    [
        Int(0, 120), Real(-1, 2, step="0.25", nullable=True), Date("2024-01-01", "2024-12-31"), Bool(nullable=True),
        Timestamp("2024-01-01 00:00", "2024-01-02 00:00"), Choice(False, ("ø", "b")),
    ],
    ids=str,
)  # fmt: skip
def test_every_kind_of_column_is_written_and_read(domain: Domain) -> None:
    again = domain_from(json.loads(json.dumps(domain_facts(domain))))
    assert again.or_null(domain.nullable) == domain.or_null(domain.nullable)
    assert isinstance(again, Days) == isinstance(domain, Days)


def test_a_session_over_every_kind_of_column_is_saved_and_loaded(tmp_path: Path) -> None:
    with rich() as db:
        bins = {"age": "30", "cost": "1000", "day": 12}
        session = session_of(db, columns=["age", "city", "cost", "day"], bins=bins)
        session.hypothesis.save(tmp_path / "x.json")
        again = PublicCounts.load(tmp_path / "x.json")
        assert again.axes == session.hypothesis.axes
        assert again.ask("cost < 2000 AND age >= 30").count > 0
        assert [axis_from(json.loads(json.dumps(axis_facts(axis)))) for axis in again.axes] == list(again.axes)


def changed(**facts: Any) -> Callable[[str], str]:
    return lambda text: json.dumps(json.loads(text) | facts)


def bomb(text: str) -> str:
    """Counts that unpack to far more than there are cells."""
    import base64
    import zlib

    return changed(counts=base64.b64encode(zlib.compress(bytes(10**7))).decode())(text)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2], lambda text: "", lambda text: "[]", lambda text: "{}",
        changed(kind="other"), changed(version=2), changed(counts="AAAA"), changed(counts=3), changed(axes=[]),
        changed(measured=[{}]), changed(asked="many"), bomb, changed(axes=[{"name": "age"}]),
    ],
)  # fmt: skip
def test_a_damaged_file_is_refused(damage: Callable[[str], str]) -> None:
    text = made().to_text()
    PublicCounts.from_text(text)
    with pytest.raises(InvalidParameter, match="damaged"):
        PublicCounts.from_text(damage(text))


def test_counts_that_are_no_counts_are_refused() -> None:
    from dalenius.tabular.written import array_text

    for wrong in (np.full(30, np.nan), np.full(30, -1.0), np.zeros(30), np.ones(31)):
        with pytest.raises(InvalidParameter, match="damaged"):
            PublicCounts.from_text(changed(counts=array_text(wrong))(made().to_text()))
