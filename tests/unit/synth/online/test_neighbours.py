"""One patient more or other: an opening and a run of questions make the same calls, and no value moves further than was
declared; error bars cover the truth, whoever asks."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from scipy import stats

from checks import ALARM
from clinics import visits
from costs import cases
from dalenius.checks.replay.replaying import Replayed, replay
from dalenius.engines.engine import Statements
from dalenius.errors import MechanismFinished, WorkStopped
from dalenius.query import rows
from dalenius.session.databases import Database
from dalenius.session.executor import allowance, measured
from dalenius.session.offers import Offer
from dalenius.synth.online.counts import Online, OnlineCounts
from dalenius.synth.online.opening import Opening
from dalenius.synth.online.rounds import OnlineSession
from dalenius.tabular import counts as people
from small_sessions import TERMS, rich, session_of, turns

QUESTIONS = [f"age >= {low} AND city = '{city}'" for low in (0, 20, 60) for city in ("Oslo", "Bergen")] + ["TRUE"]
STRANGERS: dict[str, dict[str, Any]] = {
    "an ordinary patient": {},
    "a category that nobody had": {"city": "Atlantis"},
    "extreme values": {"age": 10**9},
    "no city": {"city": None},
}


def grown(data: pa.Table, **row: Any) -> pa.Table:
    """The visits, with forty of one more patient, at all ages."""
    extra = {"patient_id": 10**6, "city": "Oslo", "day": dt.date(2024, 5, 5), "icd": "A", "cost": 9.0}
    rows = [{**extra, "age": 3 * visit, **row} for visit in range(40)]
    return pa.concat_tables([data, pa.Table.from_pylist(rows, schema=data.schema)])


def opening_of(db: Database) -> Opening:
    online = Online(**TERMS)
    return online._opening(online._binned(db.table("visits")), Offer(share="50%"))


def opened(db: Database) -> Any:
    """What an opening shows: the noisy marginals."""
    found = opening_of(db)
    with allowance(found, {"patients": found.neighbours}) as paid:
        parts = measured(found, Statements(db._curator.engine), paid)
    return [(part.columns, part.counts.tolist(), part.deviation) for part in parts]


def asked(db: Database) -> Any:
    """What a whole session shows, of an analyst whose questions depend on earlier answers."""
    session, told = session_of(db, fresh=True), []
    for number in range(30):
        choice = number if not told else number + told[-1][0]
        try:
            answer = session.ask(QUESTIONS[choice % len(QUESTIONS)])
        except MechanismFinished as finished:
            told.append((0, str(finished)))
            break
        told.append((answer.count, answer))
    return told, session.left, session.hypothesis.counts.tolist()


def compared(run: Any, stranger: str, neighbours: str) -> Replayed:
    data = visits(patients=60)
    before = data if neighbours == "add_remove" else grown(data)
    with (
        rich(data=before, neighbours=neighbours) as one,
        rich(data=grown(data, **STRANGERS[stranger]), neighbours=neighbours) as other,
    ):
        return replay(run, one, other, charged=list(opening_of(one).charge.values()), both_ways=False)


@cases("neighbours", ["add_remove", "replace"], fast=1)
@pytest.mark.parametrize("stranger", STRANGERS)
def test_an_opening_is_alike_on_neighbours(stranger: str, neighbours: str) -> None:
    found = compared(opened, stranger, neighbours)
    assert not found.findings
    assert len(found.calls) == 1


@cases("neighbours", ["add_remove", "replace"], fast=1)
@pytest.mark.parametrize("stranger", ["an ordinary patient", "no city"])
def test_a_session_of_an_adaptive_analyst_is_alike_on_neighbours(stranger: str, neighbours: str) -> None:
    """Forty rows of a patient, of which three are counted."""
    found = compared(asked, stranger, neighbours)
    assert not found.findings
    assert found.error is None
    assert len(found.calls) > 20


def unbounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "LimitPerUnit", lambda child, most: child)


def further(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question that counts every row twice, as if it moved no further."""
    right = OnlineSession._off

    def off(self: OnlineSession, question: Any, guess: int, running: Any) -> int | None:
        return right(self, 2 * question, 2 * guess, running)

    monkeypatch.setattr(OnlineSession, "_off", off)


def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """An opening that has the rounds' part for its marginals too."""
    right = Opening.run

    def run(self: Opening, results: Any, paid: Any, entropy: Any) -> Any:
        monkeypatch.setattr(type(paid), "draw", lambda *_: None)
        return [*right(self, results, paid, entropy), *right(self, results, paid, entropy)]

    monkeypatch.setattr(Opening, "run", run)


@pytest.mark.parametrize("bug", [unbounded, further])
def test_the_tests_above_notice(bug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    assert {"sensitivity"} == {each.kind for each in compared(asked, "an ordinary patient", "add_remove").findings}


def test_the_tests_above_notice_an_opening_that_costs_more_than_was_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap(monkeypatch)
    kinds = {each.kind for each in compared(opened, "an ordinary patient", "add_remove").findings}
    assert "charge" in kinds


def test_the_tests_above_notice_more_rounds_than_were_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim that always says yes, and a session that is broken off after each question."""
    monkeypatch.setattr(OnlineCounts, "_claimed", lambda self: 1)

    def broken_off(db: Database) -> Any:
        told = []
        session = session_of(db, fresh=True)
        for _ in range(3 * TERMS["updates"]):
            told.append(session.ask("TRUE"))
            session._session = None
        return told

    kinds = {each.kind for each in compared(broken_off, "an ordinary patient", "add_remove").findings}
    assert "charge" in kinds


def test_a_question_that_could_move_further_than_was_paid_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with rich() as db:
        session = session_of(db)
        plan = session._plan
        monkeypatch.setattr(
            people, "Marginals", lambda *_: type("Wide", (), {"sensitivity": lambda *_, **__: _wide(session)})()
        )
        with pytest.raises(WorkStopped):
            session.ask("TRUE")
        assert turns(db, session) == 0
        assert plan.mechanism.search.rounds.sensitivity == 3


def _wide(session: OnlineCounts) -> Any:
    from dalenius.privacy.sensitivity import Sensitivity

    return Sensitivity(l1=40, linf=40, neighbours=session._opening.neighbours)


@pytest.mark.parametrize(("shrink", "fine"), [(1.0, True), (0.0, False)])
def test_error_bars_cover_the_truth_of_adaptive_questions(shrink: float, fine: bool) -> None:
    """The analyst asks again for the largest answer so far; with the twin, bars that are far too short."""
    ages = [patient % 100 for patient in range(400)]
    missed = runs = 0
    with rich() as db:
        session, largest = session_of(db), (0, 20)
        for number in range(60):
            low = largest[1] if number % 2 else 20 * (number % 5)
            try:
                answer = session.ask(f"age >= {low}")
            except MechanismFinished:
                break
            largest = max(largest, (answer.count, low))
            missed += abs(answer.count - 3 * sum(age >= low for age in ages)) > shrink * answer.error
            runs += 1
    assert runs > 20
    assert (float(stats.binom.sf(missed - 1, runs, 0.05)) > ALARM) == fine
