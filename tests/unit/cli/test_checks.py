"""`dalenius check` says what it tried and found, to people and to scripts, and ends with the code that fits."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from command_line import run
from dalenius.checks import registry
from dalenius.checks.outcomes import CheckRequest, Figure, Outcome
from dalenius.checks.registry import CHECKS, Listed
from dalenius.cli.commands import checks
from dalenius.engines.conformance.checking import MOST, ConformanceReport
from dalenius.session.progress import bar

FEW = ("check", "engine", "--expressions", 20, "--plans", 2)


def test_duckdb_is_fit() -> None:
    done = run(*FEW)
    assert done.code == 0
    assert done.out.startswith("The engine is fit: ")
    assert "20 generated expressions over 5,000 rows, and 2 generated plans gave" in done.out


def test_scripts_get_the_figures() -> None:
    facts = run("check", "engine", "--expressions", 0, "--plans", 2, "--json").json
    assert facts == {"fit": True, "cases": 0, "expressions": 0, "rows": 0, "plans": 2, "differences": []}


def test_who_sees_many_differences_is_told_that_there_may_be_more() -> None:
    said = checks._told(ConformanceReport(differences=["a"] * MOST))
    assert said[-1].strip() == "and it was not looked further"
    assert checks._told(ConformanceReport(differences=["a"]))[-1].strip() == "a"


@pytest.mark.parametrize("percent", [0, 0.4, 50, 99.9, 100])
def test_the_bar_has_one_length(percent: float) -> None:
    assert len(bar(percent).split()[0]) == len(bar(0).split()[0])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("check", "engine", "somewhere"), "postgresql://"),
        (("check", "engine", "postgresql://nobody@127.0.0.1:1/none"), "cannot be checked"),
        (("check", "engine", "--plans", -1), "--plans, --n) is '-1'"),
        (("check", "static", "--n", "many"), "--plans, --n) is 'many'"),
        (("check", "static", "--count", "1.5"), "--plans, --n) is '1.5'"),
        (("check", "replay", "--plans", 0), "1 or more"),
        (("check", "audit", "--n", "0"), "1,000 or more for audit"),
        (("check", "audit", "--n", "5"), "1,000 or more for audit"),
        (("check", "float", "--n", "999"), "1,000 or more for float"),
        (("check", "training", "--n", "1"), "150 or more for training"),
        (("check", "e2e", "--n", "1"), "20 or more for e2e"),
        (("check", "ledger", "--n", "1"), "40 or more for ledger"),
        (("check", "all", "--n", "5"), "1,000 or more for audit"),
        (("check", "static", "/nonexistent"), "folder is '/nonexistent', but it must be left out for static"),
        (("check", "planted", "/nonexistent"), "replay, bounding, ledger, engine and all take one"),
        (("check", "all", "no such folder"), "catalog.toml"),
        (("check", "static", "--seed", "x"), "invalid int value"),
        (("check", "engine", "--expressions", "many"), "invalid int value"),
        (("check", "nothing"), "invalid choice"),
        (("check", "replay", "no such folder"), "catalog.toml"),
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


# ---- the checks of the registry

LEASTS = {name: listed.least for name, listed in CHECKS.items()}
HELD = Figure("cases", 1_200, "0 found", "0", held=True)
BROKEN = Figure("pairs", 3, "2 found", "0", held=False)


def known(name: str, outcome: Outcome, asked_for: list[CheckRequest]) -> Listed:
    """A check of which it is known what it says."""

    class Known(Listed):
        def run(self, asked: CheckRequest, *, full: bool = False) -> Outcome:
            asked_for.append(asked)
            asked.tick(50)
            return outcome

    return Known(name, f"what {name} is for", "cases", 10, 100, catalog=name == "replay", least=LEASTS[name])


@pytest.fixture
def asked_for(monkeypatch: pytest.MonkeyPatch) -> list[CheckRequest]:
    """How the checks were asked to run; replay passes, and the others fail."""
    asked: list[CheckRequest] = []
    for name in CHECKS:
        figures = (HELD,) if name == "replay" else (HELD, BROKEN)
        findings = () if name == "replay" else ("plan 7: too far; dalenius check bounding --seed 7",)
        monkeypatch.setitem(CHECKS, name, known(name, Outcome(name, figures, findings), asked))
    return asked


def test_a_check_that_passes_ends_with_0_and_a_table(asked_for: list[CheckRequest]) -> None:
    done = run("check", "replay", "--plans", "1e6", "--seed", 7)
    assert done.code == 0
    heading, line, row, _, end = done.out.splitlines()
    assert heading.split() == ["check", "what", "was", "tried", "tried", "found", "goal"]
    assert set(line) == {"─"}
    assert row.split() == ["replay", "cases", "1,200", "0", "found", "0", "held"]
    assert end == "Passed."
    assert (asked_for[0].count, asked_for[0].seed, asked_for[0].folder) == (10**6, 7, None)


def test_a_check_that_fails_ends_with_5_and_its_findings(asked_for: list[CheckRequest]) -> None:
    done = run("check", "bounding")
    assert done.code == 5
    assert "NOT HELD" in done.out
    assert "bounding: plan 7: too far; dalenius check bounding --seed 7" in done.out
    assert done.out.endswith("Failed: bounding.\n")


def test_scripts_get_the_same_facts(asked_for: list[CheckRequest]) -> None:
    done = run("check", "bounding", "--json")
    assert done.code == 5
    assert done.json["check"] == "bounding"
    assert done.json["passed"] is False
    assert done.json["figures"][1] == {
        "what": "pairs", "tried": 3, "found": "2 found", "goal": "0", "held": False
    }  # fmt: skip
    assert done.json["findings"] == ["plan 7: too far; dalenius check bounding --seed 7"]


def test_all_runs_all_and_a_check_that_breaks_stops_no_other(
    asked_for: list[CheckRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Breaking(Listed):
        def run(self, asked: CheckRequest, *, full: bool = False) -> Outcome:
            raise ValueError("a row")

    monkeypatch.setitem(CHECKS, "audit", Breaking("audit", "to break", "cases", 1, 1))
    done = run("check", "all", "--json")
    assert done.code == 5
    assert [each["check"] for each in done.json["checks"]] == list(CHECKS)
    broken = done.json["checks"][list(CHECKS).index("audit")]
    assert broken["findings"] == ["it ended with ValueError; see `dalenius check audit`"]
    assert "a row" not in done.out + done.err
    assert len(asked_for) == len(CHECKS) - 1


def test_all_of_an_installed_package_says_that_planted_was_not_run_and_passes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in CHECKS:
        monkeypatch.setitem(CHECKS, name, known(name, Outcome(name, (HELD,)), []))
    assert run("check", "all", "--json").json["not_run"] == []
    monkeypatch.setitem(CHECKS, "planted", replace(CHECKS["planted"], needs=tmp_path / "none"))
    done = run("check", "all")
    assert done.code == 0
    assert done.out.endswith("Passed.\nNot run: planted, which needs a checkout of the source.\n")
    facts = run("check", "all", "--json").json
    assert (facts["passed"], facts["not_run"]) == (True, ["planted"])
    assert "planted" not in [each["check"] for each in facts["checks"]]


def test_planted_alone_is_refused_without_a_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(CHECKS, "planted", replace(CHECKS["planted"], needs=tmp_path / "none"))
    done = run("check", "planted")
    assert done.code == 2
    assert "a checkout of the source" in done.err


@pytest.mark.parametrize(("module", "extra"), [("sklearn", "learn"), ("httpx", "client")])
def test_a_check_whose_extra_is_missing_says_which(monkeypatch: pytest.MonkeyPatch, module: str, extra: str) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name=module)

    monkeypatch.setattr(registry, "import_module", missing)
    done = run("check", "training")
    assert done.code == 2
    assert f"dalenius[{extra}]" in done.err


def test_the_least_of_every_check_is_taken(asked_for: list[CheckRequest]) -> None:
    for name, least in LEASTS.items():
        assert run("check", name, "--n", least).code != 2
    assert [asked.count for asked in asked_for] == list(LEASTS.values())


def test_a_person_sees_which_check_is_under_way(asked_for: list[CheckRequest]) -> None:
    done = run("check", "replay", person=True)
    assert "checking ... replay " in done.err
    assert "50 %" in done.err


def test_many_findings_are_counted(asked_for: list[CheckRequest], monkeypatch: pytest.MonkeyPatch) -> None:
    many = Outcome("rng", (BROKEN,), tuple(f"finding {n}" for n in range(30)))
    monkeypatch.setitem(CHECKS, "rng", known("rng", many, asked_for))
    assert "... and 10 more; --json lists them all" in run("check", "rng").out
    assert len(run("check", "rng", "--json").json["findings"]) == 30


def test_a_folder_is_for_checks_that_use_its_catalog(asked_for: list[CheckRequest], tmp_path: Path) -> None:
    assert run("init", tmp_path / "db", "--mark", tmp_path / "mark.sqlite").code == 0
    done = run("check", "replay", tmp_path / "db")
    assert (done.code, done.err) == (0, "")
    assert asked_for[0].folder == tmp_path / "db"
    assert run("check", "bounding", tmp_path / "db").code == 2, "it cannot use a catalog here"
    assert len(asked_for) == 1
    assert "planted look at the product itself, and not at your catalog." in run("check", "all", tmp_path / "db").err


def test_a_check_gets_its_own_number_of_cases_and_the_folder_only_where_it_can_use_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: list[CheckRequest] = []
    module = SimpleNamespace(check=lambda asked: given.append(asked) or Outcome("x", (HELD,)))
    monkeypatch.setattr(registry, "import_module", lambda name: module)
    listed = Listed("x", "help", "cases", push=10, full=100)
    listed.run(CheckRequest(folder=tmp_path))
    listed.run(CheckRequest(), full=True)
    Listed("x", "help", "cases", 10, 100, catalog=True).run(CheckRequest(folder=tmp_path, count=3), full=True)
    assert [asked.count for asked in given] == [10, 100, 3]
    assert [asked.folder for asked in given] == [None, None, tmp_path]


def test_the_least_counts_are_no_more_than_every_change_asks_for_and_one_plan_is_enough() -> None:
    assert all(listed.least <= listed.push for listed in CHECKS.values() if listed.push)
    assert LEASTS["replay"] == LEASTS["bounding"] == 1, "findings print a command with one plan"


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_of_the_registry_is_there(name: str) -> None:
    assert callable(import_module(f"dalenius.checks.commands.{name}").check)


def test_the_ledger_of_a_folder_is_recomputed(tmp_path: Path) -> None:
    assert run("init", tmp_path / "db", "--mark", tmp_path / "mark.sqlite").code == 0
    assert run("check", "ledger", tmp_path / "db").code == 0
    outcome = CHECKS["ledger"].run(CheckRequest(folder=tmp_path / "db"))
    assert outcome.passed
