"""Of a text no more is kept than 1,000 code points, so that no row makes a question slow; ids are kept whole."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dalenius.engines.reference.canonical import canonical, unit_code
from dalenius.errors import DataMismatch
from dalenius.query.expressions import Column
from dalenius.query.functions.functions import call
from dalenius.query.plan.passes import Aggregate, Total
from dalenius.query.plan.relations import Bound, Scan
from dalenius.query.types import LONGEST_KEPT, LONGEST_READ, Category, Number, Text, normal
from duckdb_tables import engine_with, exact, imported, private

LONG = ["é" * 5_000, "e\u0301" * 5_000, "😀" * 1_001, "a" * LONGEST_KEPT, "a" * (LONGEST_KEPT + 1)]
MARKS = "x" + "\N{COMBINING ACUTE ACCENT}" * LONGEST_READ + "\N{COMBINING DOT BELOW}"
"""Marks that NFC would sort, the last one to the front, if it were read to its end."""


@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
def test_duckdb_cuts_texts_where_the_reference_does(text: str) -> None:
    (kept,) = imported(Text(), pa.array([text]))
    assert kept == canonical(Text(), text)
    assert len(kept) == LONGEST_KEPT


def test_a_listed_text_is_compared_whole() -> None:
    listed, longer = "a" * (LONGEST_KEPT + 1), "a" * (LONGEST_KEPT + 2)
    assert imported(Category(listed), pa.array([listed, longer])) == [listed, None]
    assert [canonical(Category(listed), each) for each in (listed, longer)] == [listed, None]


def test_ids_that_differ_at_the_end_are_two_units() -> None:
    ids = ["a" * 2_000 + end for end in ("x", "y")]
    assert unit_code(ids[0]) != unit_code(ids[1])
    table = private("t", {})
    engine = engine_with((table, {"id": ids}))
    step = Aggregate(Bound(Scan(table, "t"), (), 1, 1), (Total("units"),))
    assert exact(engine, step) == {(): (2,)}
    engine.close()


def test_only_the_beginning_of_many_marks_is_read() -> None:
    (kept,) = imported(Text(), pa.array([MARKS]))
    assert kept == canonical(Text(), MARKS)
    assert kept != normal(MARKS)[:LONGEST_KEPT]


def test_an_id_that_is_too_long_to_read_names_nobody() -> None:
    ids = ["é" * LONGEST_READ, "é" * (LONGEST_READ + 1)]
    assert unit_code(ids[0]) is not None
    assert unit_code(ids[1]) is None
    with pytest.raises(DataMismatch, match="has no value in some rows"):
        engine_with((private("t", {}), {"id": ids}))


def test_a_length_has_the_domain_that_follows() -> None:
    domain = call("length", Column(Text(), "t.x")).domain
    assert isinstance(domain, Number)
    assert (domain.lower, domain.upper) == (0, LONGEST_KEPT)
