"""Seeded mutations of SQL texts: deletions, swaps, repetitions, splices, noise and escapes, for fuzzing the reader."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dalenius.engines.conformance.worlds import Draws

FOLDER = Path(__file__).parent
_PIECES = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\w+|\s+|<>|<=|>=|!=|::|\|\||//|.", re.DOTALL)

ESCAPES = (
    """
read_csv('/etc/passwd')|read_csv_auto('/etc/passwd')|read_json('/etc/passwd')|read_parquet('/etc/passwd')
read_text('/etc/passwd')|read_blob('/etc/passwd')|parquet_scan('/x')|glob('/*')|sniff_csv('/x')|'/etc/passwd'
"/etc/passwd"|COPY visits TO '/tmp/x'|EXPORT DATABASE '/tmp/x'|ATTACH '/tmp/x' AS y|INSTALL httpfs|LOAD httpfs
PRAGMA database_list|SET threads = 1|query('SELECT 1')|query_table('visits')|json_execute_serialized_sql('{}')
duckdb_secrets()|getvariable('x')|setseed(0.1)|; DROP TABLE visits|'; DROP TABLE visits --|" OR 1=1 --|*/ 1 /*
$$x$$|$x$y$x$|E'\\n'|U&'\\0041'|X'41'|b'1'|{'a': 1}|[1, 2]|x[1:2]|x -> x|?|$1|:x|@x|@@x|{{ x }}|{% x %}|%s
information_schema.tables|pg_catalog.pg_class|main.visits|UNNEST([1])|LATERAL|TABLESAMPLE (1 PERCENT)|QUALIFY 1
OVER ()|PIVOT|UNPIVOT|MATCH_RECOGNIZE|FOR UPDATE|INTO OUTFILE 'x'|WITH t AS (DELETE FROM visits)|RETURNING *
COLUMNS('.*')|* EXCLUDE (age)|* REPLACE (1 AS age)|ROW(1, 2)|STRUCT_PACK(a := 1)|MAP {'a': 1}|CAST(x AS STRUCT(a INT))
x COLLATE nocase|x AT TIME ZONE 'UTC'|INTERVAL 1 YEAR|CURRENT_USER|NEXT VALUE FOR s|PRIOR x
CONNECT BY 1|GROUPING SETS (())
|> SELECT 1|SELECT 1|VALUES (1)|/*+ hint */|#comment|--|/*|\\|\0|\u202e|\ufeff|😀|ß|İ|ﬀ|\ud800|\x1b[31m|'||'
1e999|1_0|0x1|.|..|::
IN (SELECT 1)|EXISTS (SELECT 1)|ANY (SELECT 1)|(((((((((|)))))))))|NOT NOT NOT NOT|- - - -|CASE WHEN CASE WHEN|AND AND
""".strip()
    .replace("\n", "|")
    .split("|")
)
"""Ways out of a parser, and characters that parsers trip over."""


def statements(name: str) -> list[str]:
    """The texts of a fixture file, with what follows ` -- error: ` still on them."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("--")]


def refused() -> list[tuple[str, str]]:
    """Pairs of a text and the words that its refusal must contain."""
    parts = [line.rpartition(" -- error: ") for line in statements("refused.sql")]
    return [(text, words) for text, _, words in parts]


def mutations(count: int, *, seed: int) -> Iterator[str]:
    """So many mutated texts; the same for the same seed."""
    chance = Draws(f"mutations {seed}")
    good = [_PIECES.findall(text) for text in statements("accepted.sql")]
    texts = [*good, *(_PIECES.findall(text) for text, _ in refused())]
    for _ in range(count):
        pieces = list(chance.choice(good if chance.chance(80) else texts))
        for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
            chance.choice(_CHANGES)(pieces, texts, chance)
        yield "".join(pieces)


def _place(pieces: list[str], chance: Draws) -> int:
    return chance.below(len(pieces) + 1)


def _delete(pieces: list[str], texts: list[list[str]], chance: Draws) -> None:
    start = _place(pieces, chance)
    del pieces[start : start + chance.choice((1, 1, 2, 5))]


def _swap(pieces: list[str], texts: list[list[str]], chance: Draws) -> None:
    if len(pieces) > 1:
        one, other = chance.below(len(pieces)), chance.below(len(pieces))
        pieces[one], pieces[other] = pieces[other], pieces[one]


def _exchange(pieces: list[str], texts: list[list[str]], chance: Draws) -> None:
    other = chance.choice(texts)
    if pieces and other:
        pieces[chance.below(len(pieces))] = chance.choice(other)


def _repeat(pieces: list[str], texts: list[list[str]], chance: Draws) -> None:
    start = _place(pieces, chance)
    length, times = chance.choice((1, 2, 5, 12)), chance.choice((1, 1, 2, 30))
    pieces[start:start] = pieces[start : start + length] * times


def _splice(pieces: list[str], texts: list[list[str]], chance: Draws) -> None:
    other = chance.choice(texts)
    start, end = sorted((_place(other, chance), _place(other, chance)))
    here = _place(pieces, chance)
    pieces[here : here + chance.choice((0, 0, 1, 3))] = [" ", *other[start:end], " "]


def _escape(pieces: list[str], texts: list[list[str]], chance: Draws) -> None:
    here = _place(pieces, chance)
    pieces[here : here + chance.choice((0, 1))] = [" ", chance.choice(ESCAPES), " "]


def _noise(pieces: list[str], texts: list[list[str]], chance: Draws) -> None:
    drawn = bytes(chance.below(256) for _ in range(chance.choice((1, 3, 9))))
    pieces.insert(_place(pieces, chance), drawn.decode("utf-8", chance.choice(("replace", "surrogateescape"))))


def _nest(pieces: list[str], texts: list[list[str]], chance: Draws) -> None:
    here, deep = _place(pieces, chance), chance.choice((1, 3, 15, 40))
    opening, closing = chance.choice(
        (("(", ")"), ("CASE WHEN TRUE THEN ", " END"), ("NOT ", ""), ("-", ""), ("ABS(", ")"))
    )
    pieces.insert(here, opening * deep)
    pieces.insert(min(len(pieces), here + chance.choice((2, 3, 6))), closing * deep)


_CHANGES = (_delete, _swap, _exchange, _exchange, _repeat, _splice, _escape, _noise, _nest)
