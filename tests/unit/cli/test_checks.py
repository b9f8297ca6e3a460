"""`dalenius check engine` says whether an engine is fit, to people and to scripts, and ends with the code that fits."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from command_line import run
from dalenius.cli.commands import checks
from dalenius.engines.conformance.checking import MOST, Report
from dalenius.engines.duckdb.dialect import DuckDBDialect

FEW = ("check", "engine", "--expressions", 20, "--plans", 2)


def test_duckdb_is_fit() -> None:
    done = run(*FEW)
    assert done.code == 0
    assert done.out.startswith("The engine is fit: ")
    assert "20 generated expressions over 5,000 rows, and 2 generated plans gave" in done.out


def test_scripts_get_the_figures() -> None:
    facts = run("check", "engine", "--expressions", 0, "--plans", 2, "--json").json
    assert facts == {"fit": True, "cases": 0, "expressions": 0, "rows": 0, "plans": 2, "differences": []}


def test_an_engine_that_differs_ends_with_5_and_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckDBDialect, "trimmed", lambda d, text: f"trim({text})")
    done = run(*FEW)
    assert done.code == 5
    assert done.out.startswith("The engine is not fit:\n  trim gives other values than defined: ")
    facts = run(*FEW, "--json")
    assert facts.code == 5
    assert not facts.json["fit"]
    assert facts.json["differences"]


def test_who_sees_many_differences_is_told_that_there_may_be_more() -> None:
    said = checks._told(Report(differences=["a"] * MOST))
    assert said[-1].strip() == "and it was not looked further"
    assert checks._told(Report(differences=["a"]))[-1].strip() == "a"


def test_a_person_sees_a_bar() -> None:
    done = run(*FEW, person=True)
    assert "checking ... " in done.err
    assert "100 %" in done.err


@pytest.mark.parametrize("percent", [0, 0.4, 50, 99.9, 100])
def test_the_bar_has_one_length(percent: float) -> None:
    assert len(checks._bar(percent).split()[0]) == len(checks._bar(0).split()[0])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("check", "engine", "somewhere"), "postgresql://"),
        (("check", "engine", "postgresql://nobody@127.0.0.1:1/none"), "cannot be checked"),
        (("check", "engine", "--plans", -1), "--plans is -1"),
        (("check", "engine", "--expressions", "many"), "invalid int value"),
        (("check", "ledger"), "FOLDER is missing"),
    ],
)
def test_what_cannot_be_checked_is_refused(words: tuple[object, ...], said: str) -> None:
    done = run(*words)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err


def test_no_refusal_repeats_a_password() -> None:
    for url in ("postgresql://reader:hunter2@127.0.0.1:1/none", "sc://127.0.0.1:1/;token=hunter2;odd=1"):
        done = run("check", "engine", url)
        assert done.code == 2
        assert "hunter2" not in done.err + done.out


def test_an_engine_that_cannot_be_opened_is_refused() -> None:
    with patch.object(checks, "live_engine", side_effect=RuntimeError("no such host")):
        done = run("check", "engine", "local[2]")
    assert done.code == 2
    assert "can be reached" in done.err
