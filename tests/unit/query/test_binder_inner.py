"""Inner queries: rows one by one, aggregates per unit, DISTINCT per unit and UNION ALL; each with what is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest

from binding import ask, below, nodes
from dalenius.errors import QueryRefused
from dalenius.query.plan.relations import Distinct, Filter, Group, Project, Relation, Scan, Union, UnitTotal
from dalenius.query.tables import ContributionBounds
from dalenius.query.types import Days, Number


def group(sql: str, *, most: ContributionBounds | None = None) -> Group:
    (found,) = [node for node in nodes(below(ask(sql, most=most))) if isinstance(node, Group)]
    return found


def totals(items: str, *, most: ContributionBounds | None = None) -> list[UnitTotal]:
    sql = f"SELECT COUNT(*) FROM (SELECT patient_id, {items} FROM visits GROUP BY patient_id) t"
    return [total for _, total in group(sql, most=most).totals]


# ---- rows


def test_a_subquery_that_only_renames_leaves_no_trace() -> None:
    renamed = ask("SELECT AVG(c) FROM (SELECT cost AS c, age AS a FROM (SELECT * FROM visits)) t WHERE a > 5")
    assert renamed.relation == ask("SELECT AVG(cost) FROM visits WHERE age > 5").relation


def test_a_computed_column_is_a_projection_with_a_made_up_name() -> None:
    relation = below(ask("SELECT AVG(twice) FROM (SELECT cost * 2 AS twice, age FROM visits) t"))
    assert isinstance(relation, Project)
    assert [name for name, _ in relation.columns] == ["d.0", "visits.age"]


def test_what_a_subquery_does_not_select_is_gone() -> None:
    with pytest.raises(QueryRefused, match="no such column"):
        ask("SELECT COUNT(DISTINCT patient_id) FROM (SELECT cost FROM visits) t")
    assert ask("SELECT COUNT(DISTINCT p) FROM (SELECT patient_id AS p FROM visits) t").statistics[0].kind == "units"


@pytest.mark.parametrize("clause", ["ORDER BY cost", "LIMIT 5", "ORDER BY cost LIMIT 5"])
def test_an_inner_query_has_no_order_and_no_limit(clause: str) -> None:
    with pytest.raises(QueryRefused, match="no order and no limit"):
        ask(f"SELECT AVG(cost) FROM (SELECT cost FROM visits {clause}) t")


# ---- aggregates per unit


def test_an_inner_group_by_with_the_unit_is_a_group() -> None:
    question = ask(
        "SELECT AVG(total) FROM (SELECT patient_id, city, SUM(cost) AS total FROM visits GROUP BY patient_id, city) t"
    )
    relation = below(question)
    assert isinstance(relation, Group)
    assert [name for name, _ in relation.keys] == ["d.0"]
    assert relation.rows_of_unit == 4
    assert question.most == ContributionBounds(rows=4, groups=1)


def test_a_unit_has_one_row_where_it_is_the_only_key() -> None:
    question = ask("SELECT AVG(total) FROM (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id) t")
    assert question.most == ContributionBounds(rows=1, groups=1)


@pytest.mark.parametrize(
    ("inside", "edit"),
    [
        ("SELECT city, SUM(cost) AS total FROM visits GROUP BY city", "GROUP BY city, patient_id"),
        ("SELECT SUM(cost) AS total FROM visits", "GROUP BY patient_id"),
        ("SELECT cost AS total FROM visits GROUP BY cost", "GROUP BY cost, patient_id"),
        ("SELECT loss AS total FROM events GROUP BY loss", "outermost"),
    ],
)
def test_an_inner_aggregate_without_the_unit_is_refused_and_the_edit_named(inside: str, edit: str) -> None:
    with pytest.raises(QueryRefused, match="must contain the unit") as refused:
        ask(f"SELECT AVG(total) FROM ({inside}) t")
    assert edit in refused.value.instead


def test_public_tables_are_not_aggregated_inside() -> None:
    with pytest.raises(QueryRefused, match="public tables"):
        ask("SELECT COUNT(*) FROM visits v JOIN (SELECT city FROM cities GROUP BY city) c ON v.city = c.city")
    with pytest.raises(QueryRefused, match="public tables"):
        ask("SELECT COUNT(*) FROM visits v JOIN (SELECT DISTINCT city FROM cities) c ON v.city = c.city")


def test_totals_have_public_ranges() -> None:
    rows, present, added, least, different = totals(
        "COUNT(*) a, COUNT(cost) b, SUM(cost) c, MIN(day) d, COUNT(DISTINCT icd) e"
    )
    assert (rows.argument, rows.domain) == (None, Number(False, 1, 20))
    assert present.domain == Number(False, 0, 20)
    assert added.domain == Number(True, 0, 20 * 500_000, Fraction(1, 100))
    assert isinstance(least.domain, Days)
    assert (different.kind, different.domain) == ("distinct", Number(False, 0, 20))


def test_a_sum_that_may_be_negative_has_both_bounds() -> None:
    (added,) = totals("SUM(age - 20) AS a", most=ContributionBounds(rows=3, groups=1))
    assert added.domain == Number(False, -60, 300)
    assert added.rows == 3


def test_an_average_per_unit_is_a_sum_divided_by_a_count() -> None:
    question = ask("SELECT AVG(a) FROM (SELECT patient_id, AVG(cost) AS a FROM visits GROUP BY patient_id) t")
    relation = below(question)
    assert isinstance(relation, Project)
    assert isinstance(relation.child, Group)
    assert [total.kind for _, total in relation.child.totals] == ["sum", "count"]


def test_equal_totals_are_taken_once() -> None:
    assert len(totals("SUM(cost) a, SUM(cost) b, AVG(cost) c")) == 2


def test_having_inside_is_a_filter_per_unit() -> None:
    relation = below(
        ask("SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) > 3) t")
    )
    assert isinstance(relation, Filter)
    assert isinstance(relation.child, Group)


@pytest.mark.parametrize(
    "items",
    [
        "MEDIAN(cost) AS a",
        "VARIANCE(cost) AS a",
        "SUM(city) AS a",
        "MIN(icd) AS a",
        "COUNT(DISTINCT patient_id) AS a",
        "SUM(DISTINCT cost) AS a",
        "SUM(COUNT(*)) AS a",
        "cost AS a",
        "patient_id + 1 AS a",
    ],
)
def test_other_terms_of_a_group_per_unit_are_refused(items: str) -> None:
    with pytest.raises(QueryRefused):
        totals(items)


def test_positions_and_aliases_may_group_inside() -> None:
    written = "SELECT AVG(n) FROM (SELECT patient_id, BIN(age, 10) AS b, COUNT(*) AS n FROM visits GROUP BY {}) t"
    first = ask(written.format("patient_id, BIN(age, 10)"))
    assert ask(written.format("1, 2")) == first
    assert ask(written.format("patient_id, b")) == first


# ---- distinct


def test_distinct_inside_works_per_unit() -> None:
    relation = below(ask("SELECT city, COUNT(*) FROM (SELECT DISTINCT patient_id, city FROM visits) t GROUP BY city"))
    assert isinstance(relation, Distinct)
    assert list(relation.schema) == ["visits.city"]
    assert relation.rows_of_unit == 4


def test_distinct_inside_without_the_unit_is_refused() -> None:
    with pytest.raises(QueryRefused, match="unit must be selected"):
        ask("SELECT city, COUNT(*) FROM (SELECT DISTINCT city FROM visits) t GROUP BY city")


# ---- union


def union(sql: str) -> Union:
    relation: Relation = below(ask(sql))
    assert isinstance(relation, Union)
    return relation


def test_union_all_goes_by_position_and_keeps_populations_apart() -> None:
    relation = union(
        "SELECT COUNT(DISTINCT u) FROM (SELECT patient_id AS u, city FROM visits UNION ALL "
        "SELECT doctor_id, city FROM doctors) t"
    )
    assert relation.populations == ("doctors", "patients")
    assert list(relation.schema) == ["d.0"]
    assert [list(part.schema) for part in relation.parts] == [["d.0"], ["d.0"]]


def test_union_all_brings_numbers_to_one_step() -> None:
    relation = union("SELECT AVG(a) FROM (SELECT cost AS a FROM visits UNION ALL SELECT value FROM labs) t")
    domain = relation.schema["d.0"]
    assert isinstance(domain, Number)
    assert (domain.step, domain.upper) == (Fraction(1, 100), 500_000)


def test_the_limits_of_the_parts_of_a_union_add_up() -> None:
    twice = "(SELECT patient_id, age, city FROM visits UNION ALL SELECT patient_id, age, city FROM visits)"
    once = ask("SELECT age, COUNT(*) FROM visits GROUP BY age").most
    assert ask(f"SELECT age, COUNT(*) FROM {twice} GROUP BY age").most == ContributionBounds(
        rows=2 * once.rows, groups=2 * once.groups
    )
    joined = f"{twice} v JOIN patients p ON v.patient_id = p.patient_id"
    assert ask(f"SELECT v.age, COUNT(*) FROM {joined} GROUP BY v.age").most.rows == 2 * once.rows
    assert ask(f"SELECT COUNT(*) FROM {twice}", most=ContributionBounds(rows=3, groups=1)).most.rows == 3


def test_the_limits_of_two_populations_in_a_union_do_not_add_up() -> None:
    both = "(SELECT city FROM visits UNION ALL SELECT city FROM doctors)"
    alone = [ask(f"SELECT COUNT(*) FROM {table}").most.rows for table in ("visits", "doctors")]
    assert ask(f"SELECT COUNT(*) FROM {both}").most.rows == max(alone)


def test_each_part_of_a_union_adds_rows_of_a_unit() -> None:
    question = ask("SELECT AVG(loss) FROM (SELECT loss FROM events UNION ALL SELECT loss FROM events) t")
    assert question.most == ContributionBounds(rows=2, groups=1)
    labels = [node.label for node in nodes(question.relation) if isinstance(node, Scan)]
    assert labels == ["events", "events_2"]


@pytest.mark.parametrize(
    ("second", "rule"),
    [
        ("SELECT city, age FROM patients", "numbers of named columns"),
        ("SELECT age FROM patients", "several kinds"),
        ("SELECT patient_id FROM patients", "is the unit in one part"),
        ("SELECT city FROM cities", "belong to nobody"),
    ],
)
def test_parts_of_a_union_that_do_not_fit_are_refused(second: str, rule: str) -> None:
    with pytest.raises(QueryRefused, match=rule):
        ask(f"SELECT COUNT(*) FROM (SELECT city FROM visits UNION ALL {second}) t")


def test_a_union_of_two_populations_does_not_look_up_units() -> None:
    both = "SELECT patient_id AS u, city FROM visits UNION ALL SELECT doctor_id, city FROM doctors"
    with pytest.raises(QueryRefused, match="one population"):
        ask(f"SELECT COUNT(*) FROM ({both}) t WHERE u IN (SELECT patient_id FROM patients)")
