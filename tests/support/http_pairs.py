"""What a server says about two tables that differ in one person: all routes are asked the same, and compared.

Whatever is no answer must be equal to the byte. An answer is noisy; its status, headers, length class, charge, all
that it says outside of its noisy values and, where its keys are public, number of rows must be equal. The noise is the
same for both tables, so that a run of these comparisons gives the same result every time.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any, Literal

import httpx
import pyarrow as pa

from dalenius.accounting.budget import Budget
from dalenius.ledger.accounts import Rate
from dalenius.randomness.entropy import Entropy
from dalenius.server.routes import ARROW, ROUTES
from dalenius.session.answers.encoding import read
from dalenius.session.databases import Database, create
from http_server import Server
from poisons import CANARIES, COLUMNS, MOST

Mode = Literal["exact", "shape", "keys unknown"]
"""How much of a reply must be equal: all bytes, all but noisy values, or all but these and their number."""

QUESTIONS: tuple[str, ...] = (
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT city, COUNT(*) AS n, SUM(cost) AS s, AVG(age) AS a FROM visits GROUP BY city",
    "SELECT COUNT(*) AS n FROM visits WHERE cost > 100 AND age / (age - 7) > 0 AND NOT urgent",
    "SELECT SUM(CAST(icd AS INTEGER)) AS s FROM (SELECT CLAMP(CAST(icd AS INTEGER), 0, 9) AS icd FROM visits)",
    "SELECT MEDIAN(cost) AS m, QUANTILE(age, 0.9) AS q FROM visits",
    "SELECT MODE(city) AS m, VARIANCE(cost) AS v FROM visits",
    "SELECT YEAR(day) AS y, COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY YEAR(day)",
    "SELECT COUNT(*) AS n FROM visits WHERE icd LIKE '%<%' OR LENGTH(icd) > 3 OR CAST(icd AS DATE) IS NULL",
    "SELECT BIN(age, 20) AS decade, HOUR(seen) AS hour, COUNT(*) AS n FROM visits GROUP BY BIN(age, 20), HOUR(seen)",
    "SELECT AVG(n) AS n FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id)",
    "SELECT HISTOGRAM(city) AS h FROM visits",
    "SELECT CORR(age, cost) AS c, STDDEV(age) AS s FROM visits WHERE urgent",
    "SELECT SUM(cost) / COUNT(*) AS mean, COUNT(*) / (COUNT(*) - COUNT(*)) AS n FROM visits",
)
UNKNOWN_KEYS = "SELECT icd, COUNT(*) AS n FROM visits GROUP BY icd"
REFUSED: tuple[str, ...] = (
    "SELECT * FROM visits",
    "SELECT nothing FROM visits",
    "SELECT COUNT(*) FROM others",
    "SELECT icd, COUNT(*) FROM visits GROUP BY icd ORDER BY patient_id",
    "SELEKT",
    "SELECT SUM(icd) FROM visits",
    "SELECT MIN(patient_id) FROM visits",
)


class SeededEntropy(Entropy):
    """Noise that is the same again: for comparisons alone."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)

    def read(self, count: int) -> bytes:
        return self._random.randbytes(count)


def database_of(rows: pa.Table, *, delta: str = "1e-6") -> Database:
    """A database with one table of one population, and an analyst. Without a delta prices are worked out faster, and
    keys that are not public cannot be asked for."""
    database = create()
    database.add_population("patients", budget=Budget(epsilon=50, delta=delta), least_share="1e-15")
    database.add_table(
        "visits",
        rows,
        population="patients",
        unit="patient_id",
        max_rows=MOST.rows,
        max_groups=MOST.groups,
        columns=COLUMNS,
    )
    database.grant("ana", tables=["visits"], share="90%", rate=Rate(10**6, seconds=1))
    return database


@dataclass(frozen=True)
class Heard:
    """A reply: what was asked, by whom, what came, and how much of it must be the same on the other table."""

    route: str
    mode: Mode
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def facts(self) -> Any:
        return json.loads(self.body)


@dataclass
class Asking:
    """Asks a server through all its routes, and keeps what it says under a label."""

    server: Server
    heard: dict[str, Heard] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clients = {
            role: self.server.client(self.server.token(who, role))
            for role, who in (("analyst", "ana"), ("auditor", "vera"), ("owner", "owner"))
        }
        self.clients["nobody"] = self.server.client()

    def ask(
        self, route: str, *, role: str = "analyst", mode: Mode = "exact", label: str = "",
        headers: Mapping[str, str] | None = None, **request: Any,
    ) -> Heard:  # fmt: skip
        """Ask one route, by its name in the table."""
        (found,) = (each for each in ROUTES if each.name == route)
        names = request.pop("names", {})
        reply = self.clients[role].request(found.method, found.path.format(**names), headers=headers, **request)
        heard = Heard(route, mode, reply.status_code, _public(reply.headers), reply.content)
        self.heard[f"{route} {role} {label}"] = heard
        return heard

    def close(self) -> None:
        for client in self.clients.values():
            client.close()


def everything(server: Server, questions: Sequence[str] = QUESTIONS, *, rehearse: bool = True) -> dict[str, Heard]:
    """What a server says through every route."""
    asking = Asking(server)
    _public_pages(asking)
    _questions(asking, questions, rehearse=rehearse)
    _refusals(asking)
    _other_forms(asking, questions[0])
    _job(asking, questions[-1])
    _records(asking)
    _owner(asking)
    asking.close()
    return asking.heard


def answers(server: Server, questions: Sequence[str] = QUESTIONS) -> dict[str, Heard]:
    """What a server says about questions: their prices, errors, derivations, answers and charges."""
    asking = Asking(server)
    _questions(asking, questions, rehearse=False)
    asking.close()
    return asking.heard


def _questions(asking: Asking, questions: Sequence[str], *, rehearse: bool) -> None:
    for number, sql in enumerate(questions):
        _question(asking, sql, f"question {number}", rehearse=rehearse and not number)
    _question(asking, UNKNOWN_KEYS, "unknown keys", mode="keys unknown", rehearse=False)


def _public_pages(asking: Asking) -> None:
    for route in ("health", "openapi", "registry", "registry_csv", "registry_html"):
        asking.ask(route, role="nobody")
    for role in ("analyst", "auditor", "owner"):
        asking.ask("catalog", role=role)
        asking.ask("balance", role=role)


def _question(asking: Asking, sql: str, label: str, *, mode: Mode = "shape", rehearse: bool) -> None:
    body = {"sql": sql, "epsilon": "0.5"}
    asking.ask("price", label=label, json=body)
    asking.ask("expected_error", label=label, json={**body, "size": 1000})
    asking.ask("explain", label=label, json=body)
    asking.ask("run", label=label, mode=mode, json=body)
    asking.ask("balance", label=f"after {label}")
    if rehearse:
        asking.ask("rehearse", label=label, mode="shape", json=body)


def _refusals(asking: Asking) -> None:
    for number, sql in enumerate(REFUSED):
        for route in ("price", "explain", "run"):
            asking.ask(route, label=f"refused {number}", json={"sql": sql, "epsilon": "0.5"})
    count = {"sql": QUESTIONS[0]}
    for label, body in {
        "no price": count,
        "too dear": {**count, "epsilon": "50"},
        "beyond the budget": {**count, "epsilon": "51"},
        "no number": {**count, "epsilon": "lots"},
        "no field": {**count, "code": "1"},
        "no text": {"sql": 3},
    }.items():
        asking.ask("run", label=label, json=body)
    asking.ask("run", role="nobody", json=count)
    asking.ask("run", role="auditor", json=count)
    asking.ask("balance", label="after refusals")


def _other_forms(asking: Asking, sql: str) -> None:
    body, key = {"sql": sql, "epsilon": "0.25"}, {"Idempotency-Key": "attempt"}
    asking.ask("run", label="Arrow", mode="shape", json={**body, "digits": 0}, headers={"Accept": ARROW})
    first = asking.ask("run", label="first", mode="shape", json=body, headers=key)
    asking.ask("run", label="again", mode="shape", json=body, headers=key)
    asking.ask("run", label="fresh", mode="shape", json={**body, "fresh": True, "nonnegative": True})
    receipt = {"id": first.facts["answer"]["receipt"] if first.status == 200 else "nothing"}
    asking.ask("receipt", names=receipt, mode="shape")
    asking.ask("receipt", names=receipt, mode="shape", headers={"Accept": ARROW}, label="Arrow")
    asking.ask("replays", mode="shape")
    for route in ("replay", "card"):
        asking.ask(route, names=receipt, mode="shape")
    for route in ("receipt", "replay", "card"):
        asking.ask(route, names={"id": "nothing"}, label="unknown")
    asking.ask("balance", label="after other forms")


def _job(asking: Asking, sql: str) -> None:
    started = asking.ask("start_job", mode="shape", json={"sql": sql, "share": "1%"})
    job = {"id": started.facts["job"]}
    while asking.ask("job", names=job, mode="shape").facts["state"] == "running":
        time.sleep(0.002)
    asking.ask("stop_job", names=job, mode="shape")
    asking.ask("job", names={"id": "nothing"}, label="unknown")


def _records(asking: Asking) -> None:
    for role in ("analyst", "auditor", "owner"):
        asking.ask("receipts", role=role, mode="shape")
    for role in ("auditor", "owner"):
        asking.ask("ledger", role=role, mode="shape")
        asking.ask("metrics", role=role, mode="shape")


def _owner(asking: Asking) -> None:
    def ask(route: str, **request: Any) -> None:
        asking.ask(route, role="owner", **request)

    ask("study", json={"name": "falls", "population": "patients", "share": "5%"})
    ask("grant", json={"analyst": "bo", "tables": ["visits"], "share": "1%"})
    ask("token", mode="shape", json={"who": "bo"})
    ask("revoke_tokens", names={"who": "bo"})
    ask("revoke_grant", names={"analyst": "bo"})


# ---- comparing


def differences(here: Mapping[str, Heard], there: Mapping[str, Heard]) -> list[str]:
    """What tells two tables apart, beyond the noise of an answer."""
    found = [f"{label}: asked of one alone" for label in here.keys() ^ there.keys()]
    for label in here.keys() & there.keys():
        found += [f"{label}: {each}" for each in _differing(here[label], there[label])]
    return sorted(found)


def _differing(one: Heard, other: Heard) -> Iterator[str]:
    if one.status != other.status:
        yield f"status {one.status} and {other.status}"
    headers = {name for name in one.headers.keys() | other.headers.keys() if _header(one, name) != _header(other, name)}
    if headers:
        yield f"headers {', '.join(sorted(headers))}"
    if one.mode == "exact" and _untimed(one.body) != _untimed(other.body):
        yield "body"
    if one.mode != "exact" and _shape_of(one) != _shape_of(other):
        yield "what is said"
    if one.mode != "keys unknown" and len(one.body) != len(other.body) and _notes(one) == _notes(other):
        yield f"length class {len(one.body)} and {len(other.body)}"


def _notes(heard: Heard) -> Any:
    """What an answer remarks about its own noisy values."""
    return heard.facts.get("answer", {}).get("notes") if heard.mode == "shape" and heard.body[:1] == b"{" else None


def _header(heard: Heard, name: str) -> str | None:
    """A header; of an answer's own name and of its length, which is compared apart, only whether it is there."""
    loose = name == "dalenius-receipt" or (name == "content-length" and heard.mode != "exact")
    value = heard.headers.get(name)
    return "there" if loose and value is not None else value


def _public(headers: httpx.Headers) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name != "date"}


_MOMENT = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?([+-]\d\d:\d\d|Z)?")


def _untimed(body: bytes) -> bytes:
    return _MOMENT.sub(b"a moment", body)


def _shape_of(heard: Heard) -> Any:
    if heard.headers["content-type"] == ARROW:
        table = pa.ipc.open_stream(heard.body).read_all()
        return table.schema.serialize().to_pybytes(), len(table)
    if not heard.headers["content-type"].startswith("application/json"):
        return re.sub(rb"[\d.e+-]+(?=\n|$)", b"a number", heard.body.rstrip())
    return shape(heard.facts, rows=heard.mode != "keys unknown")


def shape(value: Any, *, rows: bool = True) -> Any:
    """All that a JSON value says, but for noisy values and their errors, remarks on these, and names and moments that
    each reply has of its own."""
    if isinstance(value, Mapping) and {"kind", "values"} <= value.keys():
        public = rows and value.get("key", False)
        return value if public else {name: _column(name, each, rows=rows) for name, each in value.items()}
    if isinstance(value, Mapping):
        facts = {**value, "notes": _unexplained(value)} if {"columns", "notes"} <= value.keys() else value
        return {name: _fact(name, each, rows=rows) for name, each in facts.items()}
    return [shape(each, rows=rows) for each in value] if isinstance(value, list) else value


_OWN = re.compile(r"[0-9a-f]{32}|[0-9a-f]{64}|dal_[\w-]{43}")
_OWN_NAMES = ("receipt", "id", "job", "ledger", "sha256", "token")
_TIMES = ("at", "expires")


def _fact(name: str, value: Any, *, rows: bool) -> Any:
    """A part by its name: names that are drawn and moments are only said to be there."""
    if isinstance(value, str) and name in _OWN_NAMES and _OWN.fullmatch(value):
        return f"{len(value)} characters"
    if isinstance(value, str) and name in _TIMES and _MOMENT.fullmatch(value.encode()):
        return "a moment"
    return shape(value, rows=rows)


def _unexplained(answer: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The notes of an answer that do not follow from the noisy values that it shows, and those that should stand there
    and do not."""
    notes, follow = answer["notes"], [note for column in answer["columns"] for note in _lost(column)]
    return [note for note in notes if note not in follow], [note for note in follow if note not in notes]


def _lost(column: Mapping[str, Any]) -> Iterator[str]:
    """What is remarked about a column whose bars are larger than its values."""
    both = [(read(value), read(error)) for value, error in zip(column["values"], column["errors"] or [], strict=False)]
    known = [(value, error) for value, error in both if _is_number(value) and _is_number(error)]
    if lost := sum(abs(value) < error for value, error in known):
        yield (
            f"{column['name']}: in {lost} of {len(known)} groups the bar is larger than the value. "
            "Offer more, or ask for larger groups."
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal)


def _column(name: str, part: Any, *, rows: bool) -> Any:
    """A part of an answer's column: its name, kind and the rest as they are, of its noisy values only how many."""
    if name not in ("values", "errors"):
        return part
    return len(part) if rows and part is not None else "values"


# ---- canaries


def canaries_in(text: str | bytes) -> list[str]:
    """The values of rows that a text shows."""
    said = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return [canary for canary in CANARIES if canary in said]


def shown_canaries(heard: Mapping[str, Heard]) -> list[str]:
    """The replies that show a value of a row, in the body or a header."""
    return [label for label, each in heard.items() if canaries_in(each.body) or canaries_in(json.dumps(each.headers))]


def with_same_noise(patch: Callable[[Any, str, Any], None], seed: str) -> None:
    """Let all noise of the next questions follow from a seed."""
    from dalenius.session import executor as door

    patch(door, "fresh_entropy", lambda: SeededEntropy(seed))
