"""Bodies have exactly their shape, or are refused without a word about their values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dalenius.server.faults import Faulted
from dalenius.server.routes import ROUTES
from dalenius.server.schemas import MOST_SQL, parsed, require

RUN = next(route.body for route in ROUTES if route.name == "run")
EXPLAIN = next(route.body for route in ROUTES if route.name == "explain")
CANARY = "8675309"


def code(value: Any, schema: Any = RUN) -> str:
    assert schema is not None
    said = None
    try:
        require(value, schema)
    except Faulted as faulted:
        said = faulted.fault
    assert said is None or CANARY not in said.message
    return said.code if said else "fits"


@pytest.mark.parametrize(
    "body",
    [
        {"sql": "x"},
        {"sql": "x", "epsilon": "0.1", "max_rows": 1, "max_groups": 2, "size": 5, "level": "95%"},
        {"sql": "x", "error": {"n": "± 5"}, "weights": {"n": "2"}, "nonnegative": True, "digits": 0, "fresh": False},
        {"sql": "x", "error": "± 5", "epsilon": None, "max_rows": None},
    ],
)
def test_what_the_route_takes_fits(body: dict[str, Any]) -> None:
    assert code(body) == "fits"


@pytest.mark.parametrize(
    "body",
    [
        [],
        "x",
        None,
        {},
        {"sql": ""},
        {"sql": 5},
        {"sql": None},
        {"sql": ["x"]},
        {"sql": "x", CANARY: 1},
        {"sql": "x", "epsilon": 0.1},
        {"sql": "x", "epsilon": 1},
        {"sql": "x", "epsilon": ""},
        {"sql": "x", "size": True},
        {"sql": "x", "size": 0},
        {"sql": "x", "size": "5"},
        {"sql": "x", "size": 10**30},
        {"sql": "x", "digits": 1.0},
        {"sql": "x", "fresh": 1},
        {"sql": "x", "max_rows": 0},
        {"sql": "x", "max_rows": {"rows": 1}},
        {"sql": "x", "error": {"n": 5}},
        {"sql": "x", "error": [CANARY]},
        {"sql": "x", "weights": "2"},
        {"sql": "\ud800"},
    ],
)
def test_all_else_is_malformed(body: Any) -> None:
    assert code(body) == "malformed"


@pytest.mark.parametrize(
    "body",
    [
        {"sql": "x" * (MOST_SQL + 1)},
        {"sql": "x", "epsilon": "1" * 201},
        {"sql": "x", "weights": {str(number): "1" for number in range(1001)}},
        {"sql": "x", "weights": {"n" * 101: "1"}},
    ],
)
def test_what_is_too_much_is_too_large(body: Any) -> None:
    assert code(body) == "too_large"


def test_a_field_that_a_route_has_no_use_for_must_be_null() -> None:
    assert code({"sql": "x", "fresh": None, "digits": None}, EXPLAIN) == "fits"
    assert code({"sql": "x", "fresh": True}, EXPLAIN) == "malformed"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b'{"a": 1, "a": 2}',
        b'{"a": {"b": 1, "b": 1}}',
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'"\xff"',
        b"\xef\xbb\xbf{}",
    ],
    ids=range(11),
)
def test_what_is_not_plain_json_is_malformed(text: bytes) -> None:
    with pytest.raises(Faulted) as refused:
        parsed(text)
    assert refused.value.fault.code == "malformed"


def test_plain_json_is_read() -> None:
    assert parsed(json.dumps({"a": [1, "x", None, {"b": True}]}).encode()) == {"a": [1, "x", None, {"b": True}]}


def test_no_field_of_any_route_is_code_or_a_pattern() -> None:
    """All that is sent is a name, a number, a flag or the text of a question."""
    text = json.dumps([route.body for route in ROUTES if route.body])
    assert not any(word in text for word in ('"code"', '"pattern"', '"function"', '"regex"', '"template"', '"script"'))
