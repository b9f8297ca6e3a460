"""What comes back: balances, costs, expected errors and answers, as the objects that a session in one process gives."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dalenius.ledger.accounts import amount_from
from dalenius.measuring.expectations import ExpectedError
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.encoding import decoded, read
from dalenius.session.curator import Balance
from dalenius.session.purchases import Cost
from dalenius.session.query import ExpectedErrors
from dalenius.session.registry.records import PopulationRecord, StudyRecord
from dalenius.session.registry.registry import Registry
from dalenius.session.shelf import Replay

Facts = Mapping[str, Any]


def balances(facts: Facts) -> dict[str, Balance]:
    """What is left or spent of each population's budget."""
    return {name: Balance(Fraction(each["share"]), amount_from(each["amount"])) for name, each in facts.items()}


def cost(facts: Facts) -> Cost:
    """A price; the loss is its text."""
    return Cost(
        loss=facts["loss"],
        amounts={name: amount_from(each) for name, each in facts["amounts"].items()},
        shares={name: Fraction(each) for name, each in facts["shares"].items()},
        left={name: None if each is None else Fraction(each) for name, each in facts["left"].items()},
        epsilons={name: Fraction(each) for name, each in facts["epsilons"].items()},
        note=facts["note"],
        blocks=facts["blocks"],
        now={name: Fraction(each) for name, each in facts["now"].items()},
        more=facts["more"],
    )


def expected_errors(facts: Facts, at: Callable[[str, int], float]) -> ExpectedErrors:
    """The errors to expect; `at` asks the server for that of a column in a group of a size."""
    return ExpectedErrors({name: _expected(name, each, at) for name, each in facts["columns"].items()})


def _expected(name: str, facts: Facts, at: Callable[[str, int], float]) -> ExpectedError:
    fixed = float("nan") if facts["fixed"] == "nan" else read(facts["fixed"])
    curve = None if fixed is not None else lambda size: at(name, size)
    return ExpectedError(facts["text"], Fraction(facts["level"]), fixed, curve)


def answer(facts: Facts) -> Answer:
    """An answer, with what was left when it was given."""
    found = decoded(json.dumps(facts["answer"]))
    return replace(found, left=facts.get("left") or "", replayed=bool(facts.get("replayed")))


def replays(facts: Facts) -> tuple[Replay, ...]:
    """The stored answers that are free."""
    return tuple(_replay(each) for each in facts["replays"])


def _replay(facts: Facts) -> Replay:
    versions = tuple((table, version) for table, version in facts["versions"])
    return Replay(facts["receipt"], facts["asked"], _moment(facts["at"]), facts["charged"], versions)


def registry(facts: Facts) -> Registry:
    """The registry as of the moment when it was made."""
    return Registry(_moment(facts["as_of"]), tuple(_population(each) for each in facts["populations"]))


def _population(facts: Facts) -> PopulationRecord:
    exhausted = facts["exhausted"]
    return PopulationRecord(
        **_plain(facts, "name", "purpose", "unit", "neighbours", "retired", "releases", "removed"),
        **_fractions(facts, "epsilon", "delta", "spent", "weekly", "weekly_overall"),
        **_moments(facts, "retires", "first", "last"),
        tables=tuple(facts["tables"]),
        exhausted=None if exhausted is None else dt.date.fromisoformat(exhausted),
        blocks=tuple((name, Fraction(share)) for name, share in facts["blocks"]),
        studies=tuple(_study(each) for each in facts["studies"]),
    )


def _study(facts: Facts) -> StudyRecord:
    return StudyRecord(
        **_plain(facts, "name", "purpose", "releases"),
        **_fractions(facts, "quota", "reserve", "spent"),
        **_moments(facts, "start", "end"),
    )


def _plain(facts: Facts, *names: str) -> dict[str, Any]:
    return {name: facts[name] for name in names}


def _fractions(facts: Facts, *names: str) -> dict[str, Any]:
    return {name: Fraction(facts[name]) for name in names}


def _moments(facts: Facts, *names: str) -> dict[str, Any]:
    return {name: None if facts[name] is None else _moment(facts[name]) for name in names}


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)
