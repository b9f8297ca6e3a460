"""Questions that no row can answer, by the catalog alone, are refused with what was meant; all others are not."""

from __future__ import annotations

import pytest

from binding import ask
from dalenius.errors import QueryRefused


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        ("city = 'oslo'", "Did you mean 'Oslo'?"),
        ("'oslo' = city", "Did you mean 'Oslo'?"),
        ("city IN ('Brgen', 'London')", "Did you mean 'Bergen'?"),
        ("city = 'London'", "Declared: one of Oslo"),
        ("age = 900", "Declared: numbers from 0 to 120"),
        ("age > 3 AND age = -1", "Declared: numbers"),
        ("age IN (900, NULL)", "Declared: numbers"),
        ("cost = 5000.001", "Declared: numbers"),
        ("age = NULL", "Write IS NULL"),
        ("city IN (NULL)", "Write IS NULL"),
    ],
)
def test_a_condition_that_no_declared_value_meets_is_refused(condition: str, hint: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        ask(f"SELECT COUNT(*) FROM visits WHERE {condition}")
    assert hint in refused.value.instead
    assert refused.value.clause in condition


@pytest.mark.parametrize(
    "condition",
    [
        "city = 'Oslo'",
        "city IN ('oslo', 'Oslo')",
        "city = 'oslo' OR age = 5",
        "NOT city = 'oslo'",
        "city <> 'oslo'",
        "icd = 'anything'",
        "age = 120",
        "age IN (900, 5)",
        "age > 900",
        "age = 3.5",
        "day = '1900-01-01'",
    ],
)
def test_other_conditions_stay(condition: str) -> None:
    ask(f"SELECT COUNT(*) FROM visits WHERE {condition}")


@pytest.mark.parametrize(
    ("term", "said"),
    [
        ("CONCAT(city, '-', age)", ["age: it must be a text", "numbers from 0 to 120", "Write CAST(age AS TEXT)."]),
        ("city || age", ["age: it must be a text", "Write CAST(age AS TEXT)."]),
        ("age = '3'", ["numbers from 0 to 120 and '3'", "Write 3 without quotes."]),
        ("city = 2", ["and 2 do not fit", "Write '2' in quotes."]),
        ("CASE WHEN age > 3 THEN 1 ELSE 'x' END", ["1 and 'x' do not fit", "CAST(x AS TEXT)"]),
        ("age / 0", ["it divides by 0"]),
        ("age // 0", ["it divides by 0"]),
        ("age % 0", ["it divides by 0"]),
        ("cost / 365", ["write x // y", "CLAMP(x, lowest, highest)"]),
        ("age * cost", ["CLAMP(x, lowest, highest)"]),
    ],
)
def test_refusals_say_what_to_write_instead(term: str, said: list[str]) -> None:
    with pytest.raises(QueryRefused) as refused:
        ask(f"SELECT {term} AS k, COUNT(*) FROM visits GROUP BY {term}")
    for words in said:
        assert words in str(refused.value)
    assert "COALESCE" not in str(refused.value)


def test_whole_quotients_are_not_told_to_use_whole_division() -> None:
    with pytest.raises(QueryRefused) as refused:
        ask("SELECT FLOOR(age / 7) * cost AS k, COUNT(*) FROM visits GROUP BY 1")
    assert "//" not in str(refused.value)


def test_an_unknown_function_is_guessed_only_where_a_name_is_near() -> None:
    with pytest.raises(QueryRefused, match=r"Known: median\."):
        ask("SELECT MEDAN(age) FROM visits")
    with pytest.raises(QueryRefused, match=r"docs/functions\.md"):
        ask("SELECT COUNT(*) FROM visits WHERE REGEXP_MATCHES(icd, 'x')")


def test_the_length_of_any_text_can_be_a_key() -> None:
    (domain,) = ask("SELECT LENGTH(icd) AS n, COUNT(*) FROM visits GROUP BY LENGTH(icd)").key_domains
    assert str(domain) == "numbers from 0 to 1000"
