"""`dalenius serve` and the commands against a server: the same words, answers and exit codes as against a folder."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import run
from dalenius.server.client.wire import Wire


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a table and two tokens."""
    place = tmp_path_factory.mktemp("served")
    (place / "visits.csv").write_text("patient_id,city\n" + "".join(f"{i},Oslo\n" for i in range(50)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(place / "state"))
        patch.delenv("DALENIUS_TOKEN", raising=False)
        folder = place / "clinic"
        assert run("init", folder, "--population", "patients", "--epsilon", 1).code == 0
        terms = ("--population", "patients", "--unit", "patient_id", "--max-rows", 1, "--max-groups", 1)
        assert run("add-table", folder, "visits", place / "visits.csv", *terms, "--type", "city=Text").code == 0
        assert run("add-table", folder, "visits", place / "visits.csv").code == 0
        assert run("grant", folder, "ana", "--tables", "visits", "--share", "50%").code == 0
        (place / "token").write_text(run("token", folder, "ana").out)
        yield folder


@pytest.fixture(scope="module")
def url(clinic: Path) -> Iterator[str]:
    """The address of a server, which ends well when it is told to."""
    words = [sys.executable, "-m", "dalenius", "serve", str(clinic), "--port", "0", "--workers", "2"]
    log = clinic.parent / "log"
    with subprocess.Popen([*words, "--log", str(log)], stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        found = re.search(r"http://\S+:\d+", server.stderr.readline())
        try:
            assert found is not None
            yield found[0]
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(timeout=30) == 0
    assert (clinic.parent / "token").read_text().strip() not in log.read_text()


def test_no_token_a_wrong_one_and_no_server_are_refused(
    clinic: Path, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Wire.__init__, "__kwdefaults__", {**(Wire.__init__.__kwdefaults__ or {}), "sleep": lambda _: 0})
    assert run("tables", url).code == 2
    (tmp_path / "wrong").write_text("dal_" + "A" * 43)
    wrong = run("tables", url, "--token-file", tmp_path / "wrong")
    assert wrong.code == 2
    assert "AAAA" not in wrong.err
    assert run("tables", url, "--token-file", tmp_path / "none").code == 2
    nobody = run("tables", "http://127.0.0.1:9", "--token-file", clinic.parent / "token")
    assert nobody.code == 4
    assert run("tables", "http://data.example", "--token-file", clinic.parent / "token").code == 2


def test_serve_refuses_what_it_cannot_do_safely(clinic: Path, tmp_path: Path) -> None:
    assert run("serve", clinic, "--host", "0.0.0.0").code == 2
    assert run("serve", clinic, "--admin", "--no-admin").code == 2
    assert run("serve", tmp_path).code == 2
    assert run("serve", clinic, "--step", "0").code == 2


@pytest.mark.parametrize(
    "wrong",
    [
        ("--workers", "-3"),
        ("--workers", "1"),
        ("--seconds", "nan"),
        ("--seconds", "0"),
        ("--step", "nan"),
        ("--port", "99999"),
        ("--certificate", "none.pem", "--key", "none.pem"),
        ("--log", "no/such/folder/log"),
    ],
    ids=" ".join,
)
def test_serve_says_which_of_its_options_cannot_be(clinic: Path, wrong: tuple[str, ...]) -> None:
    refused = run("serve", clinic, *wrong)
    assert refused.code == 2
    assert "unexpected" not in refused.err
    assert wrong[0].removeprefix("--") in refused.err or wrong[1] in refused.err or "grid" in refused.err
