"""The dear tests of `unit/cli/test_serving.py`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from command_line import run
from tests.unit.cli import test_serving

clinic = test_serving.clinic
url = test_serving.url

COUNT = "SELECT COUNT(*) AS visits FROM visits"


def test_the_same_words_work_against_a_server(clinic: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    token = ("--token-file", clinic.parent / "token")
    tables = run("tables", url, *token, "--json").json
    assert tables["tables"].keys() == {"visits"}
    assert run("cost", url, COUNT, "--epsilon", "0.1", *token, "--json").json == (
        run("cost", clinic, COUNT, "--epsilon", "0.1", "--as", "ana", "--json").json
    )
    bought = run("ask", url, COUNT, "--epsilon", "0.1", *token, "--json").json
    assert bought["answer"] == run("ask", clinic, COUNT, "--epsilon", "0.1", "--as", "ana", "--json").json["answer"]
    assert run("ask", url, COUNT, "--epsilon", "0.9", *token).code == 3
    assert run("ask", url, "SELECT * FROM visits", "--epsilon", "0.1", *token).code == 2
    assert run("explain", url, COUNT, *token).code == 0
    for who in (token, ()):  # the registry is for anybody
        registry = run("registry", url, *who, "--csv")
        assert (registry.code, registry.out) == (0, run("registry", clinic, "--csv").out)
    assert run("registry", url, "--as", "ana").code == 2
    receipt = bought["answer"]["receipt"]
    assert run("replays", url, receipt, *token, "--json").json["answer"] == bought["answer"]
    listed = run("replays", url, *token, "--json").json
    assert [each["receipt"] for each in listed["replays"]] == [receipt]
    assert run("card", url, receipt, *token).out == run("card", clinic, receipt).out
    assert run("rehearse", url, COUNT, *token).code == 0
    monkeypatch.setenv("DALENIUS_TOKEN", os.fspath((clinic.parent / "token").read_text()))
    assert run("tables", url).code == 0
    assert run("tables", url, "--as", "ana").code == 2
