"""The public hash is the same arithmetic in Python and in SQL, and keeps every key about equally often."""

from __future__ import annotations

from collections import Counter
from random import Random

import duckdb
import pytest

from dalenius.engines.duckdb.dialect import DUCKDB
from dalenius.engines.hashing import NULL_NUMBER, P, kept, number
from dalenius.engines.hashing import group_hash as python_hash
from dalenius.engines.hashing import identity as python_identity
from dalenius.engines.sql.hashes import folded, folded_unit, group_hash, key_number, mixed
from dalenius.query.types import Bool, Code, Domain, Int, Text

INTEGERS = [0, 1, -1, P - 1, P, P + 1, -P, 7, -7, 2**62, -(2**62), 2**63 - 1, -(2**63), 2**125, -(2**125), 10**30]
TEXTS = ["", "a", "A", "é", "🧑‍⚕️", "Oslo", "a'b", "x" * 1000]


def in_sql(expression: str, value: Code) -> int:
    found = duckdb.execute(
        f"SELECT {expression} FROM (SELECT ?{'' if isinstance(value, bool | str) else '::HUGEINT'} AS x)", [value]
    ).fetchone()
    assert found is not None
    return int(found[0])


@pytest.mark.parametrize(
    ("values", "domain"),
    [
        ([0, 5, P - 1], Int(0, P - 1)),
        ([-5, 0, 5, -P + 1], Int(1 - P, P - 1)),
        (TEXTS, Text()),
        ([True, False], Bool()),
    ],
)
def test_numbers_are_the_same_in_sql(values: list[Code], domain: Domain) -> None:
    for value in values:
        assert in_sql(mixed(folded(DUCKDB, "x", domain)), value) == number(value)


def test_numbers_of_units_are_the_same_in_sql() -> None:
    for value in INTEGERS:
        assert in_sql(mixed(folded_unit(DUCKDB, "x", DUCKDB.wide)), value) == number(value)


def test_identities_are_the_same_in_sql() -> None:
    assert [in_sql(DUCKDB.identity("x"), text) for text in TEXTS] == [python_identity(text) for text in TEXTS]


def test_hashes_are_the_same_in_sql() -> None:
    random = Random(1)
    for _ in range(200):
        unit, key = random.randrange(-(2**63), 2**63), [random.choice([None, 3, "a", True, -9]) for _ in range(3)]
        numbers = ["NULL::BIGINT" if part is None else f"{number(part)}::BIGINT" for part in key]
        sql = group_hash("u", "k")
        found = duckdb.execute(
            f"SELECT {sql} FROM (SELECT {number(unit) + 1}::BIGINT AS u, {key_number(numbers)} AS k)"
        )
        assert found.fetchone() == (python_hash(unit, key),)
    assert number(None) == NULL_NUMBER


@pytest.mark.parametrize(
    "keys",
    [[(k,) for k in range(12)], [(f"city {k}",) for k in range(12)], [(k, k % 2 == 0) for k in range(12)]],
    ids=["numbers", "texts", "pairs"],
)
def test_every_key_is_kept_about_equally_often(keys: list[tuple[Code, ...]]) -> None:
    found = Counter(key for unit in range(12_000) for key in kept(unit, keys, 3))
    # Each count is near 3000 with a standard deviation of 47; six of these are one false alarm in 10^7.
    assert all(abs(found[key] - 3000) < 285 for key in keys)


def test_the_check_above_notices_a_hash_that_forgets_the_unit() -> None:
    keys: list[tuple[Code, ...]] = [(k,) for k in range(12)]
    found = Counter(key for _ in range(12_000) for key in kept(7, keys, 3))
    assert any(abs(found[key] - 3000) >= 285 for key in keys)


def test_what_is_kept_depends_on_the_keys_not_on_their_order() -> None:
    keys: list[tuple[Code, ...]] = [("a",), ("b",), (None,), ("",), ("é",)]
    assert kept("me", keys, 2) == kept("me", reversed(keys), 2)
    assert len(kept("me", keys, None)) == 5
