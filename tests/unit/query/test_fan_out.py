"""How many rows a row or a unit may turn into is a public figure; a question that allows too many is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binding import ask, below
from dalenius.checks.escapes.listening import TABLES as CLINIC
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.query.binding.limits import MOST_WORK_OF_UNIT
from dalenius.query.plan.relations import JOIN_ROWS, MOST_ROWS_OF_UNIT, Relation
from dalenius.query.tables import Table


def cities(rows: int | None, **repeats: int) -> dict[str, Table]:
    """The clinic, with a table of cities that has these figures."""
    return {**CLINIC, "cities": replace(CLINIC["cities"], rows=rows, repeats=tuple(repeats.items()))}


def plan(source: str, tables: dict[str, Table] | None = None) -> Relation:
    return below(ask(f"SELECT COUNT(*) FROM {source}", tables=tables))


def fan_out(source: str, tables: dict[str, Table] | None = None) -> int | None:
    return plan(source, tables).fan_out


def rows_of_large_unit(source: str, tables: dict[str, Table] | None = None) -> int | None:
    return plan(source, tables).rows_of_large_unit


def test_a_row_matches_as_many_public_rows_as_its_most_frequent_value_has() -> None:
    tables = cities(90, city=4, region=30)
    assert fan_out("visits v JOIN cities c ON v.city = c.city", tables) == 4
    assert fan_out("visits v LEFT JOIN cities c ON v.city = c.region", tables) == 30
    assert fan_out("visits v JOIN cities c ON v.city = c.region AND v.city = c.city", tables) == 4
    assert fan_out("visits v JOIN cities c ON v.age = c.inhabitants", tables) == 90


@pytest.mark.parametrize("on", ["v.age * 0 = c.inhabitants * 0", "LOWER(v.city) = LOWER(c.city)"])
def test_where_the_public_column_is_computed_every_row_may_match(on: str) -> None:
    assert fan_out(f"visits v JOIN cities c ON {on}", cities(90, city=1, inhabitants=1)) == 90


def test_the_figure_is_seen_through_filters_and_renamed_columns() -> None:
    tables = cities(90, city=4)
    inner = "(SELECT city AS town, inhabitants + 1 AS many FROM cities WHERE region = 'east') c"
    assert fan_out(f"visits v JOIN {inner} ON v.city = c.town", tables) == 4
    assert fan_out(f"visits v JOIN {inner} ON v.age = c.many", tables) == 90


def test_public_tables_that_are_joined_first_multiply() -> None:
    tables = cities(60, city=4, region=30)
    inner = "(SELECT a.city AS one, b.region AS two FROM cities a JOIN cities b ON a.city = b.city) c"
    assert fan_out(f"visits v JOIN {inner} ON v.city = c.one", tables) == 16
    assert fan_out(f"visits v JOIN {inner} ON v.city = c.two", tables) == 120
    assert fan_out(f"visits v JOIN {inner} ON v.city = LOWER(c.two)", tables) == 240


def test_figures_multiply_along_the_plan_until_the_question_is_refused() -> None:
    tables = cities(15, city=1)
    twice = "visits v JOIN cities a ON v.age = a.inhabitants JOIN cities b ON v.age = b.inhabitants"
    assert (fan_out(twice, tables), rows_of_large_unit(twice, tables)) == (225, 225 * JOIN_ROWS)
    with pytest.raises(QueryRefused, match="could turn into 1,012,500 rows") as refused:
        ask(f"SELECT COUNT(*) FROM {twice} JOIN cities c ON v.age = c.inhabitants", tables=tables)
    assert "unique" in refused.value.instead
    assert fan_out(f"{twice} JOIN cities c ON v.city = c.city", tables) == 225
    once = "SELECT COUNT(*) FROM visits v JOIN cities a ON v.age = a.inhabitants"
    ask(once, tables=cities(MOST_ROWS_OF_UNIT // JOIN_ROWS))
    with pytest.raises(QueryRefused, match="90,300 rows"):
        ask(once, tables=cities(MOST_ROWS_OF_UNIT // JOIN_ROWS + 1))


def test_distinct_and_group_by_in_between_reset_nothing_but_what_one_unit_has_of_keys() -> None:
    tables = cities(200)
    joined = "FROM visits v JOIN cities a ON v.age = a.inhabitants"
    again = "q JOIN cities b ON q.age = b.inhabitants"
    for inner in (
        f"SELECT DISTINCT v.patient_id, v.age, v.icd {joined}",
        f"SELECT v.patient_id, v.age, v.icd, COUNT(*) AS n {joined} GROUP BY v.patient_id, v.age, v.icd",
    ):
        with pytest.raises(QueryRefused, match="12,000,000"):
            ask(f"SELECT COUNT(*) FROM ({inner}) {again}", tables=tables)
    ages = f"SELECT DISTINCT v.patient_id, v.age {joined}"
    assert rows_of_large_unit(f"({ages}) {again}", tables) == 121 * 200
    one = f"SELECT v.patient_id, MAX(v.age) AS age {joined} GROUP BY v.patient_id"
    assert (fan_out(f"({one}) {again}", tables), rows_of_large_unit(f"({one}) {again}", tables)) == (200, 200)


def test_a_public_table_that_was_never_counted_is_not_joined() -> None:
    with pytest.raises(QueryRefused, match="unknown number"):
        ask("SELECT COUNT(*) FROM visits v JOIN cities c ON v.city = c.city", tables=cities(None))


def test_a_unit_has_so_many_rows_at_most_after_each_join_of_private_tables() -> None:
    relation = plan("visits v JOIN visits w ON v.patient_id = w.patient_id JOIN labs l ON l.patient_id = v.patient_id")
    assert (relation.rows_of_unit, relation.rows_of_large_unit, relation.fan_out) == (JOIN_ROWS, JOIN_ROWS, JOIN_ROWS)
    grouped = "(SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) g"
    few = plan(f"visits v JOIN {grouped} ON v.patient_id = g.patient_id")
    assert (few.rows_of_unit, few.fan_out) == (JOIN_ROWS, 1)


def test_rows_of_four_private_tables_are_joined_and_aggregates_per_unit_freely() -> None:
    def joined(others: str, count: int) -> str:
        return "visits v0 " + " ".join(
            f"JOIN {others} v{n} ON v0.patient_id = v{n}.patient_id" for n in range(1, count)
        )

    assert plan(joined("visits", 4)).unit_joins == 3
    with pytest.raises(QueryRefused, match="more than 4 private tables"):
        ask(f"SELECT COUNT(*) FROM {joined('visits', 5)}")
    grouped = plan(joined("(SELECT patient_id, MAX(age) AS a FROM visits GROUP BY patient_id)", 9))
    assert (grouped.rows_of_unit, grouped.unit_joins) == (JOIN_ROWS, 1)


def test_a_join_of_private_tables_leaves_as_much_room_for_public_ones_after_it_as_a_table() -> None:
    joined = "visits v JOIN visits w ON v.patient_id = w.patient_id JOIN cities c ON v.city = c.city"
    assert rows_of_large_unit(joined, cities(90, city=10)) == 10 * JOIN_ROWS
    assert rows_of_large_unit("visits v JOIN cities c ON v.city = c.city", cities(90, city=10)) == 10 * JOIN_ROWS
    with pytest.raises(QueryRefused, match="90,300 rows"):
        ask(f"SELECT COUNT(*) FROM {joined}", tables=cities(900, city=301))
    before = "visits v JOIN cities c ON v.city = c.city JOIN visits w ON v.patient_id = w.patient_id"
    assert rows_of_large_unit(before, cities(90, city=11)) == JOIN_ROWS


def test_the_same_table_many_times_in_a_union_adds_up() -> None:
    parts = " UNION ALL ".join(["SELECT age FROM visits"] * 31)
    assert fan_out(f"({parts}) u") == 31


def test_many_joins_are_counted_quickly() -> None:
    inner = "cities"
    for place in range(12):
        on = f"a{place}.city = b{place}.city AND a{place}.region = b{place}.region"
        inner = f"(SELECT a{place}.city, b{place}.region FROM {inner} a{place} JOIN cities b{place} ON {on})"
    assert fan_out(f"visits v JOIN {inner} c ON v.city = c.city") == 1


def test_private_tables_have_no_figures() -> None:
    with pytest.raises(InvalidParameter):
        replace(CLINIC["visits"], rows=3)
    assert plan("visits v").repeats(None) is None


def test_what_is_put_together_after_the_joins_is_bounded_too() -> None:
    part = "SELECT v.age FROM visits v JOIN cities c ON v.age = c.inhabitants"
    with pytest.raises(QueryRefused, match="more than 90,000"):
        ask(f"SELECT COUNT(*) FROM ({part} UNION ALL {part})", tables=cities(200))
    self_join = "SELECT v.age FROM visits v JOIN visits w ON v.patient_id = w.patient_id"
    many = " UNION ALL ".join([self_join, "SELECT age FROM visits"] * 6)
    assert rows_of_large_unit(f"({many}) u") == 12 * JOIN_ROWS


# ---- what is computed for so many rows


LIKES = [f"CONCAT(v.icd, c.city) LIKE '%{letter}%'" for letter in "abcdefghijklm"]


def asked(conditions: list[str], repeats: int, statistics: str = "COUNT(*)") -> None:
    source = "visits v JOIN cities c ON v.city = c.region"
    ask(f"SELECT {statistics} FROM {source} WHERE {' AND '.join(conditions)}", tables=cities(900, region=repeats))


def test_the_more_rows_a_unit_turns_into_the_less_may_be_computed_for_each() -> None:
    """Every CONCAT writes two columns down twice, and the count reads every row."""
    rows = 6 * JOIN_ROWS
    assert rows * (4 * len(LIKES) + 1) <= MOST_WORK_OF_UNIT < rows * (4 * (len(LIKES) + 1) + 1)
    asked(LIKES, 6)
    with pytest.raises(QueryRefused, match="102,600 columns are read for them, and at most 100,000") as refused:
        asked([*LIKES, LIKES[0]], 6)
    assert "Compute in a subquery" in refused.value.instead
    asked([*LIKES, LIKES[0]], 5)


def test_what_reads_one_side_is_computed_below_the_join_and_free() -> None:
    one_sided = [f"v.icd LIKE '%{letter}%' AND c.city LIKE '{letter}%'" for letter in "abcdefghij"]
    asked(one_sided * 3, 300)
    with pytest.raises(QueryRefused, match="columns are read"):
        asked([each.replace("AND", "OR") for each in one_sided], 300)


def test_the_advice_is_an_edit_that_passes() -> None:
    tables = cities(900, region=90)
    terms = " + ".join(f"CASE WHEN v.icd LIKE '%{letter}%' THEN 1 ELSE 0 END" for letter in "abcd")
    with pytest.raises(QueryRefused, match="columns are read"):
        ask(f"SELECT SUM({terms}) FROM visits v JOIN cities c ON v.city = c.region", tables=tables)
    inner = f"(SELECT city, {terms} AS hits FROM visits v)"
    ask(f"SELECT SUM(q.hits) FROM {inner} q JOIN cities c ON q.city = c.region", tables=tables)


def test_what_is_computed_of_public_tables_is_not_counted() -> None:
    terms = " AND ".join(f"CONCAT(a.city, b.region) LIKE '%{letter}%'" for letter in "abcdefghijkl")
    inner = f"(SELECT a.city FROM cities a JOIN cities b ON a.region = b.region WHERE {terms}) c"
    ask(f"SELECT COUNT(*) FROM visits v JOIN {inner} ON v.city = c.city", tables=cities(200, city=2, region=100))


def test_statistics_are_counted_too_and_joins_that_make_no_more_rows_are_not() -> None:
    sums = ", ".join(f"SUM(v.age + {n})" for n in range(20))
    with pytest.raises(QueryRefused, match="columns are read"):
        asked(["v.urgent"], 30, sums)
    asked(["v.urgent"], 1, sums)
    wide = " AND ".join(f"CONCAT(v.icd, w.icd) LIKE '%{n}%'" for n in range(40))
    ask(f"SELECT {sums} FROM visits v JOIN visits w ON v.patient_id = w.patient_id WHERE {wide}")


def test_star_joins_with_public_tables_of_unique_keys_are_free() -> None:
    star = " ".join(f"JOIN cities c{n} ON v.city = c{n}.city" for n in range(5))
    source = f"visits v JOIN labs l ON v.patient_id = l.patient_id {star}"
    sums = ", ".join(f"SUM(v.age * {n} + l.value), AVG(c{n}.inhabitants)" for n in range(5))
    terms = " AND ".join(f"(v.icd LIKE '%{n}%' OR c{n}.region = 'east' OR l.value > v.age)" for n in range(5))
    question = ask(f"SELECT c1.region, {sums} FROM {source} WHERE {terms} GROUP BY c1.region")
    assert question.relation.rows_of_large_unit == JOIN_ROWS
