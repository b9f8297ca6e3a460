"""Mutated texts give a question or a refusal: no other error, no long wait, and no text beyond names and constants."""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
import time
from collections.abc import Iterator
from fractions import Fraction

import pytest

from dalenius.checks.escapes.listening import TABLES
from dalenius.checks.escapes.mutations import ESCAPES, mutations, statements
from dalenius.errors import QueryRefused
from dalenius.query import syntax
from dalenius.query.binding.binder import bind
from dalenius.query.sql.names import AGGREGATES, SCALARS
from dalenius.query.sql.reader import read

LONGEST_WAIT = 5.0
"""Seconds of computing for one text."""

KINDS = (
    syntax.Name,
    syntax.Constant,
    syntax.Apply,
    syntax.UnitsIn,
    syntax.Item,
    syntax.TableName,
    syntax.Subquery,
    syntax.Joined,
    syntax.Order,
    syntax.Select,
    syntax.UnionAll,
)
FUNCTIONS = {function for function, _, _ in [*SCALARS.values(), *AGGREGATES.values()]} | set(
    re.findall(
        r"\w+",
        """add subtract multiply divide floor_divide modulo negate equal not_equal less less_equal greater greater_equal
        and or not case in between like concat trim substring date_trunc days_between round""",
    )
)
"""Every function that a tree may name."""


def read_and_bind(text: str) -> syntax.QueryTree | None:
    """The syntax of a text, or None if it is refused, within the time that one text may take."""
    started = time.process_time()
    query = None
    try:
        query = read(text)
        bind(query, TABLES)
    except QueryRefused:
        pass
    assert time.process_time() - started < LONGEST_WAIT, text
    return query


def parts(node: object) -> Iterator[object]:
    """Every node of a syntax tree."""
    if isinstance(node, tuple):
        for each in node:
            yield from parts(each)
    elif dataclasses.is_dataclass(node):
        yield node
        for field in dataclasses.fields(node):
            yield from parts(getattr(node, field.name))


def require_plain(query: syntax.QueryTree) -> None:
    """A tree is made of the known nodes, of functions on the list, of names, and of plain values."""
    for node in parts(query):
        assert type(node) in KINDS
        if isinstance(node, syntax.Apply):
            assert node.function in FUNCTIONS
        if isinstance(node, syntax.Constant):
            assert node.value is None or type(node.value) in (bool, int, Fraction, str, dt.date, dt.datetime)
        if isinstance(node, syntax.Joined):
            assert node.kind in ("inner", "left", "right", "full", "cross")


def fuzz(count: int, *, seed: int) -> int:
    """How many of so many mutations are read."""
    found = 0
    for text in mutations(count, seed=seed):
        query = read_and_bind(text)
        if query is not None:
            require_plain(query)
            found += 1
    return found


def test_5000_mutations_give_questions_or_refusals() -> None:
    assert fuzz(5_000, seed=20240131) > 250  # some are still questions, so the fuzz goes deep


@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        "SELECT {} FROM visits",
        "SELECT COUNT(*) FROM {}",
        "SELECT COUNT(*) FROM visits, {}",
        "SELECT COUNT(*) FROM visits {}",
        "SELECT COUNT(*) FROM visits WHERE {}",
        "SELECT COUNT(*) FROM visits WHERE age = {}",
        "SELECT city, COUNT(*) FROM visits GROUP BY {}",
        "SELECT COUNT(*) AS {} FROM visits",
        "SELECT COUNT(*) FROM visits ORDER BY {}",
        "SELECT COUNT(*) FROM visits LIMIT {}",
        "WITH x AS ({}) SELECT COUNT(*) FROM x",
        "SELECT COUNT(*) FROM visits JOIN {} ON TRUE",
        "SELECT ABS({}) FROM visits",
    ],
)
def test_no_way_out_of_the_reader_opens_in_any_place(frame: str) -> None:
    for escape in ESCAPES:
        query = read_and_bind(frame.replace("{}", escape))
        if query is not None:
            require_plain(query)


def test_the_check_of_trees_notices_foreign_nodes() -> None:
    select = read("SELECT COUNT(*) FROM visits")
    for foreign in (
        syntax.Apply("read_csv", (syntax.Constant("/etc/passwd"),)),
        syntax.Constant(0.5),
        syntax.Constant(b"x"),
    ):
        planted = dataclasses.replace(select, where=foreign)
        with pytest.raises(AssertionError):
            require_plain(planted)


def test_the_mutations_reach_most_of_what_can_be_written() -> None:
    """The twin of the fuzz: a generator that broke every text at once would find nothing."""
    seen = {
        node.function
        for text in statements("accepted.sql")
        for node in parts(read(text))
        if isinstance(node, syntax.Apply)
    }
    mutated: set[str] = set()
    for text in mutations(2_000, seed=1):
        try:
            mutated |= {node.function for node in parts(read(text)) if isinstance(node, syntax.Apply)}
        except QueryRefused:
            continue
    assert len(seen - mutated) < len(seen) // 3
