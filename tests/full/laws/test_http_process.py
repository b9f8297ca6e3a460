"""A server process and its workers: what they say and write, on a table full of values that must not be shown."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

import dalenius as dl
from dalenius.server.routes import ROUTES
from http_pairs import QUESTIONS, canaries_in, everything, shown_canaries
from poisons import COLUMNS, MOST, all_poisoned

ROLES = {"ana": "analyst", "vera": "auditor", "owner": "owner"}
PROGRAM = """
import sys
from pathlib import Path
from dalenius.server.schedule import ReplySchedule
from dalenius.server.limits import Limits
from dalenius.server.serving import Serving, serve
limits = Limits(rate=1000, burst=1000, at_once=100)
chosen = Serving(Path(sys.argv[1]), port=0, workers=2, grid=ReplySchedule(0.001, 0.1), limits=limits)
serve(chosen, announce=lambda text: print(text, flush=True), log=lambda line: print(line, file=sys.stderr, flush=True))
"""


@dataclass
class Elsewhere:
    """A server process, as the comparisons ask it."""

    address: str
    tokens: dict[str, str]

    def token(self, who: str, role: str = "analyst") -> str:
        return self.tokens[who]

    def client(self, token: str | None = None) -> httpx.Client:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=120, trust_env=False)


@contextmanager
def serving(folder: Path, tokens: dict[str, str], said: Path) -> Iterator[Elsewhere]:
    with said.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(folder)], stdout=subprocess.PIPE, stderr=errors, text=True
        )
        try:
            assert process.stdout is not None
            yield Elsewhere(process.stdout.readline().strip(), tokens)
        finally:
            process.send_signal(signal.SIGTERM)
            rest, _ = process.communicate(timeout=60)
            errors.write(rest)


def test_no_value_of_a_row_is_in_a_reply_a_log_or_a_file_beside_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder, said = tmp_path / "clinic", tmp_path / "said"
    tokens = made(folder)
    with serving(folder, tokens, said) as server:
        heard = everything(server, QUESTIONS[1:3], rehearse=False)  # type: ignore[arg-type]
    assert {each.route for each in heard.values()} == {route.name for route in ROUTES} - {"rehearse"}
    assert {label: each.body for label, each in heard.items() if each.status >= 500} == {}
    assert shown_canaries(heard) == []
    assert canaries_in("".join(capfd.readouterr())) == []
    lines = said.read_text()
    assert len(lines.splitlines()) > len(heard)
    assert not any(token in lines for token in tokens.values())
    beside = [each for each in tmp_path.rglob("*") if each.is_file() and not each.name.startswith("tables.")]
    assert {"catalog.toml", "ledger.sqlite", "said"} <= {each.name for each in beside}
    assert [str(each) for each in beside if canaries_in(each.read_bytes())] == []
    assert canaries_in(str(all_poisoned(1).to_pylist())) != []


def made(folder: Path) -> dict[str, str]:
    """A folder with all poisons in one table, and tokens."""
    with dl.create(folder) as db:
        db.add_population("patients", budget=dl.Budget(epsilon=50, delta=0))
        db.add_table(
            "visits",
            all_poisoned(1),
            population="patients",
            unit="patient_id",
            max_rows=MOST.rows,
            max_groups=MOST.groups,
            columns=COLUMNS,
        )
        db.grant("ana", tables=["visits"], share="90%")
        return {who: db.token(who, role=role) for who, role in ROLES.items()}
