"""FROM and WHERE: tables, joins, paths and conditions on the unit; each rule with a question that breaks it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binding import CLINIC, WITHOUT_KEYS, ask, below, nodes
from dalenius.errors import QueryRefused, UnknownName
from dalenius.privacy.neighbours import AddRemove
from dalenius.query.plan.relations import Filter, Join, Project, Scan, UnitFilter
from dalenius.query.tables import ContributionBounds, ForeignKey, Protection


def joined(sql: str) -> Join:
    (join,) = [node for node in nodes(below(ask(sql))) if isinstance(node, Join)]
    return join


def pairs(join: Join) -> list[tuple[str, str]]:
    return [(next(left.columns()), next(right.columns())) for left, right in join.on]


# ---- private with public


def test_a_private_table_joins_a_public_one_over_an_equality() -> None:
    join = joined("SELECT c.region, COUNT(*) FROM visits v JOIN cities c ON v.city = c.city GROUP BY c.region")
    assert (join.kind, pairs(join)) == ("inner", [("visits.city", "cities.city")])


def test_the_sides_of_an_equality_may_be_written_in_any_order() -> None:
    one = ask("SELECT COUNT(*) FROM visits v JOIN cities c ON v.city = c.city")
    assert one == ask("SELECT COUNT(*) FROM visits v JOIN cities c ON c.city = v.city")


def test_an_outer_join_keeps_the_private_side() -> None:
    left = joined("SELECT COUNT(region) FROM visits v LEFT JOIN cities c ON v.city = c.city")
    right = joined("SELECT COUNT(region) FROM cities c RIGHT JOIN visits v ON v.city = c.city")
    for join in (left, right):
        assert join.kind == "left"
        assert join.left.private
        assert not join.right.private


@pytest.mark.parametrize(
    "source",
    ["cities c LEFT JOIN visits v", "visits v RIGHT JOIN cities c", "visits v FULL JOIN cities c"],
)
def test_an_outer_join_that_keeps_the_public_side_is_refused(source: str) -> None:
    with pytest.raises(QueryRefused, match="public side"):
        ask(f"SELECT COUNT(*) FROM {source} ON v.city = c.city")


def test_further_conditions_of_an_inner_join_are_a_filter_above_it() -> None:
    question = ask("SELECT COUNT(*) FROM visits v JOIN cities c ON v.city = c.city AND c.inhabitants > v.age")
    relation = below(question)
    assert isinstance(relation, Filter)
    assert isinstance(relation.child, Join)


def test_further_conditions_of_an_outer_join_may_choose_among_the_added_side() -> None:
    join = joined("SELECT COUNT(*) FROM visits v LEFT JOIN cities c ON v.city = c.city AND c.inhabitants > 1000")
    assert isinstance(join.right, Filter)
    for other in ("v.age > 10", "v.age > c.inhabitants", "1 = 2"):
        with pytest.raises(QueryRefused, match="outer join"):
            ask(f"SELECT COUNT(*) FROM visits v LEFT JOIN cities c ON v.city = c.city AND {other}")


@pytest.mark.parametrize("condition", ["v.age > c.inhabitants", "v.age = 3", "c.city = 'Oslo'", "1 = 1"])
def test_a_join_without_an_equality_between_both_sides_is_refused(condition: str) -> None:
    with pytest.raises(QueryRefused, match="equality"):
        ask(f"SELECT COUNT(*) FROM visits v JOIN cities c ON {condition}")


def test_a_comma_join_takes_its_equalities_from_where() -> None:
    comma = ask("SELECT COUNT(*) FROM visits v, cities c WHERE v.city = c.city AND v.age > 5")
    assert comma == ask("SELECT COUNT(*) FROM visits v JOIN cities c ON v.city = c.city WHERE v.age > 5")
    with pytest.raises(QueryRefused, match="equality"):
        ask("SELECT COUNT(*) FROM visits v, cities c WHERE v.age > 5")
    with pytest.raises(QueryRefused, match="equality"):
        ask("SELECT COUNT(*) FROM visits v CROSS JOIN cities c")


@pytest.mark.parametrize(
    "joined",
    [
        "visits v LEFT JOIN (cities c CROSS JOIN cities d) ON v.city = c.city",
        "cities b JOIN (cities c CROSS JOIN cities d) ON b.city = c.city RIGHT JOIN visits v ON v.city = b.city",
    ],
)
def test_a_comma_join_that_an_outer_join_fills_up_takes_nothing_from_where(joined: str) -> None:
    """WHERE drops the rows that found no match; taken into the join, the equality would keep them."""
    with pytest.raises(QueryRefused, match="needs an equality"):
        ask(f"SELECT COUNT(*) FROM {joined} WHERE c.city = d.city")


def test_a_column_that_both_sides_share_through_using_needs_no_table() -> None:
    question = ask("SELECT city, COUNT(*) FROM visits JOIN cities USING (city) GROUP BY city")
    assert isinstance(question.relation, Project)
    assert list(dict(question.relation.columns)["k.0"].columns()) == ["visits.city"]
    with pytest.raises(QueryRefused, match="several columns"):
        ask("SELECT city, COUNT(*) FROM visits v JOIN cities c ON v.age = c.inhabitants GROUP BY city")


def test_public_tables_join_each_other() -> None:
    question = ask(
        "SELECT COUNT(*) FROM visits v JOIN (SELECT a.city, b.region FROM cities a JOIN cities b ON a.city = b.city) c "
        "ON v.city = c.city"
    )
    labels = [node.label for node in nodes(question.relation) if isinstance(node, Scan)]
    assert labels == ["visits", "cities", "cities_2"]


# ---- private with private


def test_private_tables_join_over_their_unit() -> None:
    join = joined("SELECT AVG(p.age) FROM visits v JOIN patients p ON v.patient_id = p.patient_id")
    assert join.on == ()  # the meaning of a private join equates the units


def test_a_private_table_joins_itself_under_other_labels() -> None:
    join = joined("SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient_id = b.patient_id AND a.day = b.day")
    assert pairs(join) == [("visits.day", "visits_2.day")]


@pytest.mark.parametrize("condition", ["v.age = p.age", "v.patient_id = p.age", "v.patient_id = v.patient_id"])
def test_private_tables_without_their_unit_in_the_condition_are_refused(condition: str) -> None:
    with pytest.raises(QueryRefused):
        ask(f"SELECT COUNT(*) FROM visits v JOIN patients p ON {condition}")


def test_the_refusal_names_the_condition_that_would_pass() -> None:
    with pytest.raises(QueryRefused) as refused:
        ask("SELECT COUNT(*) FROM visits v JOIN patients p ON v.age = p.age")
    assert "v.patient_id = p.patient_id" in refused.value.instead


def test_a_private_table_may_keep_its_rows_in_a_join_with_another() -> None:
    sql = "FROM patients p LEFT JOIN visits v ON p.patient_id = v.patient_id"
    assert joined(f"SELECT AVG(v.cost) {sql}").kind == "left"
    assert ask(f"SELECT COUNT(DISTINCT p.patient_id) {sql}").statistics[0].kind == "units"
    with pytest.raises(UnknownName):  # it may be missing, so it is not whose row this is
        ask(f"SELECT COUNT(DISTINCT v.patient_id) {sql}")


@pytest.mark.textbook("S18.11")
def test_two_different_units_are_not_joined() -> None:
    for condition in ("v.city = d.city", "v.patient_id = d.doctor_id"):
        with pytest.raises(QueryRefused, match="two different units"):
            ask(f"SELECT COUNT(*) FROM visits v JOIN doctors d ON {condition}")


def test_rows_that_are_units_join_public_tables_only() -> None:
    with pytest.raises(QueryRefused):
        ask("SELECT COUNT(*) FROM events a JOIN events b ON a.day = b.day")


# ---- paths


def test_a_declared_path_is_joined_over_its_key() -> None:
    join = joined("SELECT AVG(l.value) FROM labs l JOIN visits v ON l.visit_id = v.visit_id")
    assert pairs(join) == [("labs.visit_id", "visits.visit_id")]


def test_a_table_along_a_path_knows_the_unit_at_its_end() -> None:
    assert ask("SELECT COUNT(DISTINCT patient_id) FROM labs").statistics[0].kind == "units"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT visit_id, COUNT(*) FROM labs GROUP BY visit_id",
        "SELECT COUNT(DISTINCT visit_id) FROM labs",
        "SELECT COUNT(*) FROM labs WHERE visit_id = 5",
        "SELECT COUNT(*) FROM (SELECT visit_id FROM labs) a",
        "SELECT COUNT(*) FROM labs l JOIN visits v ON l.visit_id = v.age AND l.patient_id = v.patient_id",
        "SELECT COUNT(*) FROM labs l JOIN cities c ON l.visit_id = c.inhabitants",
    ],
)
def test_keys_of_a_path_are_for_joins_along_it_alone(sql: str) -> None:
    with pytest.raises(QueryRefused, match="joined on"):
        ask(sql)


def test_keys_of_two_different_paths_are_not_equated() -> None:
    scans = replace(CLINIC["labs"], name="scans", protection=_along(ForeignKey("visit_id", "patients", "visit_id")))
    bills = replace(CLINIC["labs"], name="bills")
    tables = {**CLINIC, "scans": scans, "bills": bills}
    sql = "SELECT COUNT(*) FROM labs a JOIN {} b ON a.visit_id = b.visit_id"
    with pytest.raises(QueryRefused, match="joined on"):
        ask(sql.format("scans"), tables=tables)
    assert ask(sql.format("bills"), tables=tables)  # both lead to visits.visit_id


def _along(via: ForeignKey) -> Protection:
    return Protection("patients", via, AddRemove(), ContributionBounds(rows=50, groups=3))


def test_a_key_that_is_not_declared_cannot_be_compared() -> None:
    with pytest.raises(QueryRefused, match="declare"):
        ask("SELECT COUNT(*) FROM labs l JOIN visits v ON l.visit_id = v.visit_id", tables=WITHOUT_KEYS)


# ---- units in a subquery


def test_units_are_looked_up_in_a_subquery() -> None:
    within = "SELECT patient_id FROM labs WHERE value > 100"
    relation = below(ask(f"SELECT COUNT(*) FROM visits WHERE patient_id IN ({within}) AND age > 5"))
    assert isinstance(relation, UnitFilter)
    assert isinstance(relation.child, Filter)
    assert not relation.negated
    negated = below(ask(f"SELECT COUNT(*) FROM visits WHERE NOT patient_id IN ({within})"))
    assert isinstance(negated, UnitFilter)
    assert negated.negated


def test_exists_keyed_by_the_unit_is_the_same_question() -> None:
    exists = "EXISTS (SELECT 1 FROM labs l WHERE l.patient_id = v.patient_id AND l.value > 100)"
    assert ask(f"SELECT COUNT(*) FROM visits v WHERE {exists}") == ask(
        "SELECT COUNT(*) FROM visits v WHERE v.patient_id IN (SELECT l.patient_id FROM labs l WHERE l.value > 100)"
    )


@pytest.mark.parametrize(
    "condition",
    [
        "patient_id IN (SELECT doctor_id FROM doctors)",
        "patient_id IN (SELECT age FROM patients)",
        "patient_id IN (SELECT city FROM cities)",
        "patient_id IN (SELECT patient_id, age FROM patients)",
        "city IN (SELECT city FROM cities)",
        "age IN (SELECT patient_id FROM patients)",
        "age > 5 OR patient_id IN (SELECT patient_id FROM patients)",
        "CASE WHEN patient_id IN (SELECT patient_id FROM patients) THEN TRUE ELSE FALSE END",
        "visit_id IN (SELECT visit_id FROM labs)",
    ],
)
def test_other_subqueries_in_conditions_are_refused(condition: str) -> None:
    with pytest.raises(QueryRefused):
        ask(f"SELECT COUNT(*) FROM visits WHERE {condition}")


# ---- names


def test_with_names_hide_tables_and_see_those_before_them() -> None:
    question = ask(
        "WITH visits AS (SELECT * FROM visits WHERE age > 60), old AS (SELECT * FROM visits WHERE urgent) "
        "SELECT COUNT(*) FROM old"
    )
    assert question == ask("SELECT COUNT(*) FROM visits WHERE age > 60 AND urgent")


def test_a_with_name_does_not_see_itself() -> None:
    with pytest.raises(UnknownName):
        ask("WITH a AS (SELECT * FROM a) SELECT COUNT(*) FROM a")


def test_two_tables_of_one_name_are_refused() -> None:
    with pytest.raises(QueryRefused, match="are called"):
        ask("SELECT COUNT(*) FROM visits JOIN visits ON visits.patient_id = visits.patient_id")


def test_questions_that_read_too_many_tables_are_refused() -> None:
    doubling = ", ".join(
        f"t{n} AS (SELECT a.patient_id FROM t{n - 1} a JOIN t{n - 1} b ON a.patient_id = b.patient_id)"
        for n in range(1, 12)
    )
    with pytest.raises(QueryRefused, match="more than 4 private tables"):
        ask(f"WITH t0 AS (SELECT patient_id FROM visits), {doubling} SELECT COUNT(*) FROM t11")
