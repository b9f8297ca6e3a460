"""The dear tests of `unit/cli/test_commands.py`."""

from __future__ import annotations

from pathlib import Path

from command_line import run
from tests.unit.cli import test_commands
from tests.unit.cli.test_commands import proposed

copied = test_commands.copied
data = test_commands.data
empty = test_commands.empty
made = test_commands.made


def test_a_person_sees_what_bounds_cost_and_may_decline(empty: Path, data: Path) -> None:
    words = ("--suggest-bounds", "--epsilon", "2")
    declined = proposed(empty, data, *words, person=True, given="n\n")
    assert declined.code == 2
    assert "of patients (epsilon = 2)" in declined.err
    assert run("ledger", empty, "--json").json["charges"] == []
    assert "visits" not in (empty / "catalog.toml").read_text()
    agreed = proposed(empty, data, *words, person=True, given="y\n")
    assert "age: lower = 0, upper = 200" in agreed.out
    text = (empty / "catalog.toml").read_text()
    whole = next(line for line in agreed.out.splitlines() if "charged" in line).split("charged ")[1].split("%")[0]
    assert text.count("estimated from noisy counts") == 2
    assert f"charged {whole}%" not in text  # each column says what it cost itself
