"""The dear tests of `unit/cli/test_checks.py`."""

from __future__ import annotations

import pytest

from command_line import run
from dalenius.engines.duckdb.dialect import DuckDBDialect
from tests.unit.cli.test_checks import FEW


def test_an_engine_that_differs_ends_with_5_and_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckDBDialect, "trimmed", lambda d, text: f"trim({text})")
    done = run(*FEW)
    assert done.code == 5
    assert done.out.startswith("The engine is not fit:\n  trim gives other values than defined: ")
    facts = run(*FEW, "--json")
    assert facts.code == 5
    assert not facts.json["fit"]
    assert facts.json["differences"]


def test_a_person_sees_a_bar() -> None:
    done = run(*FEW, person=True)
    assert "checking ... " in done.err
    assert "100 %" in done.err


def test_the_checks_of_the_product_pass_here() -> None:
    done = run("check", "static")
    assert done.code == 0, done.out
    assert run("check", "rng", "--n", "1e5").code == 0
