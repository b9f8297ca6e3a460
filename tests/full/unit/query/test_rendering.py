"""The dear tests of `unit/query/test_rendering.py`."""

from __future__ import annotations

from collections.abc import Iterator

from dalenius.query.rendering import RESERVED
from dalenius.query.sql.grammar import Grammar
from dalenius.query.sql.names import known
from tests.unit.query.test_rendering import _places, reads_back


def _words() -> Iterator[str]:
    """Every word that the parser may look for by its spelling."""
    parser = Grammar.Parser
    tables = [getattr(parser, name) for name in dir(parser)]
    listed = [each for table in tables if isinstance(table, dict | set | frozenset) for each in table]
    for word in [*Grammar.Tokenizer.KEYWORDS, *known(), *RESERVED, *listed, "asc", "zone", "escape", "nulls", "at"]:
        if isinstance(word, str):
            yield from (part.lower() for part in word.split() if part.isidentifier() and part.isascii())


def test_every_word_of_the_parser_may_be_a_name() -> None:
    words = sorted(set(_words()))
    assert len(words) > 400
    assert [word for word in words if not all(map(reads_back, _places(word)))] == []
