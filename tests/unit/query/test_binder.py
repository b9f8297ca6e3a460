"""The outermost SELECT: what is a statistic, a key, post-processing, a top-k, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from binding import CLINIC, ask, below, internal_names, nodes
from dalenius.errors import QueryRefused, TooManyKeys, UnknownName
from dalenius.privacy.neighbours import Replace
from dalenius.query.binding.binder import bind
from dalenius.query.plan.relations import Filter, Project, Scan
from dalenius.query.questions import Compute, Given, KeyOf, Statistic, Top, ValueOf
from dalenius.query.syntax import Apply, Constant, Item, Select, TableName
from dalenius.query.tables import ContributionBounds, Protection, Table, UnitColumn
from dalenius.query.types import Choice, Number


def test_a_count_by_city_has_one_key_and_one_statistic() -> None:
    question = ask("SELECT city, COUNT(*) AS visits FROM visits GROUP BY city")
    assert question.keys == ("k.0",)
    assert question.statistics == (Statistic("count"),)
    assert question.output.columns == (("city", KeyOf(0)), ("visits", ValueOf(0)))
    assert question.most == ContributionBounds(rows=20, groups=4)  # three cities and NULL
    assert isinstance(below(question), Scan)


def test_names_do_not_mind_capital_letters() -> None:
    assert (
        ask("SELECT CITY, count(*) AS n FROM Visits V GROUP BY v.City").relation
        == ask("SELECT city, COUNT(*) AS n FROM visits GROUP BY city").relation
    )


@pytest.mark.parametrize(
    ("sql", "kind", "near"),
    [
        ("SELECT COUNT(*) FROM visit", "table", "visits"),
        ("SELECT AVG(costs) FROM visits", "column", "cost"),
        ("SELECT AVG(v.cost) FROM visits", "table in FROM", "visits"),
    ],
)
def test_unknown_names_come_with_a_suggestion(sql: str, kind: str, near: str) -> None:
    with pytest.raises(UnknownName, match=near) as refused:
        ask(sql)
    assert refused.value.kind == kind


def test_an_ambiguous_name_is_refused_and_a_qualified_one_is_not() -> None:
    joined = "FROM visits v JOIN patients p ON v.patient_id = p.patient_id"
    with pytest.raises(QueryRefused, match="several columns"):
        ask(f"SELECT AVG(age) {joined}")
    assert ask(f"SELECT AVG(p.age) {joined}").statistics == (Statistic("mean", ("x.0",)),)


STATISTICS = {
    "COUNT(*)": Statistic("count"),
    "COUNT(cost)": Statistic("present", ("x.0",)),
    "COUNT(1)": Statistic("count"),
    "COUNT(DISTINCT patient_id)": Statistic("units"),
    "COUNT(DISTINCT icd)": Statistic("distinct", ("x.0",)),
    "SUM(cost)": Statistic("sum", ("x.0",)),
    "AVG(cost)": Statistic("mean", ("x.0",)),
    "VARIANCE(cost)": Statistic("variance", ("x.0",)),
    "STDDEV(cost)": Statistic("stddev", ("x.0",)),
    "CORR(cost, age)": Statistic("correlation", ("x.0", "x.1")),
    "MIN(day)": Statistic("quantile", ("x.0",), Fraction(0)),
    "MAX(seen)": Statistic("quantile", ("x.0",), Fraction(1)),
    "MEDIAN(age)": Statistic("quantile", ("x.0",), Fraction(1, 2)),
    "QUANTILE(age, 0.9)": Statistic("quantile", ("x.0",), Fraction(9, 10)),
    "MODE(city)": Statistic("mode", ("x.0",)),
    "ROBUST_MEDIAN(age)": Statistic("robust_quantile", ("x.0",), Fraction(1, 2)),
    "ROBUST_QUANTILE(age, 0.9)": Statistic("robust_quantile", ("x.0",), Fraction(9, 10)),
    "ROBUST_TRIMMED_MEAN(cost, 0.1)": Statistic("trimmed_mean", ("x.0",), Fraction(1, 10)),
    "ROBUST_SCALE(cost)": Statistic("robust_scale", ("x.0",)),
    "STABLE_MODE(icd)": Statistic("stable_mode", ("x.0",)),
    "STABLE_MEDIAN(day)": Statistic("stable_quantile", ("x.0",), Fraction(1, 2)),
    "STABLE_QUANTILE(age, 0.9)": Statistic("stable_quantile", ("x.0",), Fraction(9, 10)),
    "PROPOSED_MEDIAN(age, 2)": Statistic("proposed_quantile", ("x.0",), Fraction(1, 2), Fraction(2)),
    "PROPOSED_QUANTILE(cost, 0.9, 2.5)": Statistic("proposed_quantile", ("x.0",), Fraction(9, 10), Fraction(5, 2)),
    "HISTOGRAM(age)": Statistic("histogram", ("x.0",)),
}


@pytest.mark.parametrize(("term", "statistic"), STATISTICS.items(), ids=list(STATISTICS))
def test_aggregates_become_statistics(term: str, statistic: Statistic) -> None:
    assert ask(f"SELECT {term} AS a FROM visits").statistics == (statistic,)


@pytest.mark.parametrize(
    ("term", "rule"),
    [
        ("SUM(urgent)", "CASE WHEN"),
        ("AVG(city)", "takes numbers"),
        ("MIN(icd)", "numbers, dates or moments"),
        ("MODE(icd)", "public"),
        ("MODE(NULL)", "always NULL"),
        ("HISTOGRAM(icd)", "public"),
        ("HISTOGRAM(seen)", "public values"),
        ("QUANTILE(age, 2)", "0 to 1"),
        ("QUANTILE(age, cost)", "level"),
        ("SUM(AVG(cost))", "inside another aggregate"),
        ("COUNT(patient_id)", "whose row"),
        ("SUM(patient_id)", "whose row"),
        ("COUNT(visit_id)", "joined on"),
        ("AVG(cost) + HISTOGRAM(city)", "histogram"),
        ("AVG(cost) + 'a'", "spent"),
        ("TO_TEXT(SUM(cost))", "whole numbers"),
    ],
)
def test_aggregates_of_the_wrong_kind_are_refused(term: str, rule: str) -> None:
    with pytest.raises(QueryRefused, match=rule):
        ask(f"SELECT {term} AS a FROM visits")


def test_a_count_of_a_column_without_nulls_is_the_count_of_rows() -> None:
    question = ask("SELECT COUNT(age) AS a, COUNT(*) AS b FROM visits")
    assert question.statistics == (Statistic("count"),)
    narrowed = ask("SELECT COUNT(cost) AS a, COUNT(*) AS b FROM visits WHERE cost > 5")
    assert narrowed.statistics == (Statistic("count"),)


def test_equal_aggregates_and_arguments_are_taken_once() -> None:
    question = ask("SELECT AVG(cost) a, SUM(cost) b, AVG(cost) * 2 c FROM visits HAVING SUM(cost) > 5")
    assert question.statistics == (Statistic("mean", ("x.0",)), Statistic("sum", ("x.0",)))
    assert list(question.relation.schema) == ["x.0"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM visits",
        "SELECT visits.* FROM visits",
        "SELECT age FROM visits",
        "SELECT age, COUNT(*) FROM visits",
        "SELECT age, COUNT(*) FROM visits GROUP BY city",
        "SELECT 1 FROM visits",
        "SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id",
        "SELECT city, COUNT(*) FROM visits GROUP BY city, patient_id",
        "SELECT COUNT(*) FROM visits WHERE patient_id = 17",
        "SELECT COUNT(*) FROM visits WHERE visit_id < 17",
        "SELECT COUNT(*) FROM visits GROUP BY visit_id",
        "SELECT MAX(cost) FROM visits ORDER BY patient_id",
        "SELECT COUNT(*) FROM visits GROUP BY city HAVING patient_id = 3",
        "SELECT DISTINCT patient_id FROM visits",
    ],
)
def test_rows_and_identifiers_are_never_shown_or_computed_with(sql: str) -> None:
    with pytest.raises(QueryRefused, match="nothing was read or spent"):
        ask(sql)


def test_an_aggregate_in_where_is_refused_with_having_as_the_way_out() -> None:
    with pytest.raises(QueryRefused, match="HAVING"):
        ask("SELECT city, COUNT(*) FROM visits WHERE COUNT(*) > 5 GROUP BY city")
    question = ask("SELECT city, COUNT(*) FROM visits GROUP BY city HAVING COUNT(*) > 5")
    assert question.output.having == Compute("greater", (ValueOf(0), Given(5)))


def test_what_is_computed_from_aggregates_and_keys_is_post_processing() -> None:
    question = ask("SELECT age + 1 AS next, SUM(cost) / COUNT(*) AS each FROM visits GROUP BY age")
    assert dict(question.output.columns) == {
        "next": Compute("add", (KeyOf(0), Given(1))),
        "each": Compute("divide", (ValueOf(0), ValueOf(1))),
    }


def test_a_condition_after_the_noise_must_be_true_or_false() -> None:
    with pytest.raises(QueryRefused, match="true or false"):
        ask("SELECT COUNT(*) FROM visits HAVING COUNT(*) + 1")


def test_group_by_takes_positions_aliases_and_source_columns_first() -> None:
    written = ask("SELECT BIN(age, 10) AS decade, COUNT(*) AS n FROM visits GROUP BY BIN(age, 10)")
    assert ask("SELECT BIN(age, 10) AS decade, COUNT(*) AS n FROM visits GROUP BY 1") == written
    assert ask("SELECT BIN(age, 10) AS decade, COUNT(*) AS n FROM visits GROUP BY decade") == written
    source = ask("SELECT BIN(age, 10) AS age, COUNT(*) AS n FROM visits GROUP BY age")
    assert source.public_keys == 121
    with pytest.raises(QueryRefused, match="output columns"):
        ask("SELECT COUNT(*) FROM visits GROUP BY 2")


def test_order_by_takes_positions_and_aliases_first() -> None:
    by_alias = ask("SELECT city, AVG(cost) AS cost FROM visits GROUP BY city ORDER BY cost DESC, 1")
    assert by_alias.output.order_by == ((ValueOf(0), True), (KeyOf(0), False))


def test_having_may_use_an_alias_but_where_may_not() -> None:
    question = ask("SELECT city, COUNT(*) AS n FROM visits GROUP BY city HAVING n > 3")
    assert question.output.having == Compute("greater", (ValueOf(0), Given(3)))
    with pytest.raises(UnknownName):
        ask("SELECT city AS town, COUNT(*) AS n FROM visits WHERE town = 'Oslo' GROUP BY city")


def test_a_filter_narrows_the_keys() -> None:
    question = ask("SELECT city, COUNT(*) FROM visits WHERE city IN ('Oslo', 'Bergen') GROUP BY city")
    (domain,) = question.key_domains
    assert isinstance(domain, Choice)
    assert set(domain.values) == {"Oslo", "Bergen"}
    assert question.most.groups == 2


def test_conditions_of_one_conjunction_are_typed_by_the_columns_below_it() -> None:
    question = ask("SELECT COUNT(*) FROM (SELECT age FROM visits WHERE age < 50) WHERE age > 10")
    relation = below(question)
    assert isinstance(relation, Filter)
    assert isinstance(relation.child, Scan)
    assert question == ask("SELECT COUNT(*) FROM visits WHERE age < 50 AND age > 10")


def test_a_condition_must_be_true_or_false() -> None:
    with pytest.raises(QueryRefused, match="true or false"):
        ask("SELECT COUNT(*) FROM visits WHERE age")
    assert ask("SELECT COUNT(*) FROM visits WHERE urgent")


# ---- keys


def test_keys_found_privately_need_no_statistic() -> None:
    question = ask("SELECT DISTINCT icd FROM visits")
    assert (question.public_keys, question.statistics) == (None, ())
    assert question.relation == ask("SELECT icd FROM visits GROUP BY icd").relation


@pytest.mark.parametrize("sql", ["SELECT DISTINCT city FROM visits", "SELECT city FROM visits GROUP BY city"])
def test_public_keys_alone_ask_nothing(sql: str) -> None:
    with pytest.raises(QueryRefused, match="public"):
        ask(sql)


def test_distinct_on_an_answer_is_refused() -> None:
    with pytest.raises(QueryRefused, match="distinct already"):
        ask("SELECT DISTINCT city, COUNT(*) FROM visits GROUP BY city")


def test_a_condition_on_the_year_leaves_the_keys_of_those_years() -> None:
    years = "SELECT YEAR(day) AS y, COUNT(*) FROM visits WHERE {} GROUP BY YEAR(day)"
    assert ask(years.format("YEAR(day) BETWEEN 2025 AND 2026")).public_keys == 2
    assert ask(years.format("YEAR(day) = 2025")).public_keys == 1
    assert ask(years.format("MONTH(day) = 1")).public_keys == 3  # which says nothing about the years
    assert ask("SELECT day, COUNT(*) FROM visits WHERE YEAR(day) < 2025 GROUP BY day").public_keys == 366


def test_too_many_public_keys_are_refused_and_coarser_ones_are_not() -> None:
    with pytest.raises(TooManyKeys, match="coarser"):
        ask("SELECT seen, COUNT(*) FROM visits GROUP BY seen")
    with pytest.raises(TooManyKeys, match="fewer keys"):
        ask("SELECT day, HISTOGRAM(cost) AS h FROM visits GROUP BY day")
    assert ask("SELECT day, COUNT(*) FROM visits GROUP BY day").public_keys == 1096
    assert ask("SELECT icd, seen, COUNT(*) FROM visits GROUP BY icd, seen").public_keys is None


def test_reals_may_be_keys_if_they_are_few() -> None:
    assert ask("SELECT cost, COUNT(*) FROM visits GROUP BY cost").public_keys == 500_002


def test_equal_keys_are_one() -> None:
    question = ask("SELECT city, city AS again, COUNT(*) FROM visits GROUP BY city, visits.city")
    assert question.keys == ("k.0",)


# ---- top-k


def test_the_largest_groups_are_recognised() -> None:
    question = ask("SELECT icd, COUNT(*) AS n FROM visits GROUP BY icd ORDER BY n DESC LIMIT 5")
    assert question.top == Top(5, 0, True)
    hidden = ask("SELECT icd FROM visits GROUP BY icd ORDER BY COUNT(DISTINCT patient_id) DESC LIMIT 5")
    assert hidden.top == Top(5, 0, False)
    assert hidden.statistics == (Statistic("units"),)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT icd, COUNT(*) AS n FROM visits GROUP BY icd ORDER BY n LIMIT 5",
        "SELECT icd, COUNT(*) AS n FROM visits GROUP BY icd ORDER BY n DESC",
        "SELECT icd, COUNT(*) AS n, AVG(cost) FROM visits GROUP BY icd ORDER BY n DESC LIMIT 5",
        "SELECT icd, COUNT(*) AS n FROM visits GROUP BY icd HAVING n > 3 ORDER BY n DESC LIMIT 5",
        "SELECT icd, SUM(cost) AS n FROM visits GROUP BY icd ORDER BY n DESC LIMIT 5",
        "SELECT icd, COUNT(*) AS n FROM visits GROUP BY icd ORDER BY icd LIMIT 5",
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city ORDER BY n DESC LIMIT 9",
        "SELECT COUNT(*) AS n FROM visits ORDER BY n DESC LIMIT 1",
    ],
)
def test_other_orders_and_limits_are_plain_post_processing(sql: str) -> None:
    assert ask(sql).top is None


# ---- how much of a unit counts


def test_the_question_overrides_what_a_unit_contributes() -> None:
    question = ask("SELECT icd, COUNT(*) FROM visits GROUP BY icd", most=ContributionBounds(rows=2, groups=3))
    assert question.most == ContributionBounds(rows=2, groups=3)


def test_without_keys_there_is_one_group() -> None:
    assert ask("SELECT COUNT(*) FROM visits").most == ContributionBounds(rows=20, groups=1)


def test_few_keys_do_not_lower_the_number_of_different_values() -> None:
    assert ask("SELECT COUNT(DISTINCT icd) FROM visits").most == ContributionBounds(rows=20, groups=5)


def test_where_each_row_is_a_unit_it_counts_once() -> None:
    question = ask("SELECT kind, COUNT(*) FROM events GROUP BY kind", most=ContributionBounds(rows=7, groups=7))
    assert question.most == ContributionBounds(rows=1, groups=1)


def test_rows_of_a_unit_that_a_join_multiplies_are_counted_by_the_public_table() -> None:
    sql = "SELECT COUNT(*) FROM events e JOIN cities c ON e.loss = {} GROUP BY c.city"
    assert ask(sql.format("c.inhabitants")).most == ContributionBounds(rows=1, groups=1)
    assert ask(sql.format("c.inhabitants * 2")).most == ContributionBounds(rows=3, groups=3)
    stated = ContributionBounds(rows=2, groups=1)
    assert ask(sql.format("c.inhabitants * 2"), most=stated).most == stated


def test_a_sum_must_fit_into_126_bits() -> None:
    wide = Table("wide", (("x", Number(False, 0, 2**100)),), CLINIC["visits"].protection)
    assert ask("SELECT SUM(x) FROM wide", tables={"wide": wide})
    with pytest.raises(QueryRefused, match="126 bits"):
        ask("SELECT SUM(x) FROM wide", tables={"wide": wide}, most=ContributionBounds(rows=2**30, groups=1))
    with pytest.raises(QueryRefused, match="126 bits"):
        ask("SELECT VARIANCE(x) FROM wide", tables={"wide": wide})


# ---- whose data


def test_a_question_about_public_tables_alone_is_refused() -> None:
    with pytest.raises(QueryRefused, match="no budget"):
        ask("SELECT COUNT(*) FROM cities")


def test_all_populations_must_have_the_same_neighbours() -> None:
    doctors = CLINIC["doctors"]
    protection = Protection("doctors", UnitColumn("doctor_id"), Replace(), ContributionBounds(rows=2, groups=2))
    other = replace(doctors, protection=protection)
    sql = "SELECT COUNT(*) FROM (SELECT city FROM visits UNION ALL SELECT city FROM doctors)"
    assert ask(sql).relation.populations == ("doctors", "patients")
    with pytest.raises(QueryRefused, match="different neighbours"):
        ask(sql, tables={**CLINIC, "doctors": other})


def test_a_union_of_answers_is_refused() -> None:
    with pytest.raises(QueryRefused, match="one SELECT"):
        ask("SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM labs")


# ---- names inside


def test_nothing_that_an_analyst_wrote_becomes_an_internal_name() -> None:
    question = ask(
        "WITH evil_with AS (SELECT patient_id AS evil_unit, cost * 2 AS evil_cost, 'evil_text' AS evil_constant, city "
        "FROM visits AS evil_table), evil_group AS (SELECT evil_unit, SUM(evil_cost) AS evil_sum, COUNT(*) evil_count "
        "FROM evil_with GROUP BY evil_unit HAVING COUNT(*) > 3) "
        "SELECT evil_count AS evil_key, AVG(evil_sum) AS evil_answer FROM evil_group GROUP BY evil_key"
    )
    names = internal_names(question.relation)
    assert not [name for name in names if "evil" in name]
    assert all("." in name for name in names)
    assert [name for name, _ in question.output.columns] == ["evil_key", "evil_answer"]
    labels = [node.label for node in nodes(question.relation) if isinstance(node, Scan)]
    assert labels == ["visits"]


def test_tables_whose_names_look_like_internal_ones_get_other_labels() -> None:
    tables = {"d": replace(CLINIC["visits"], name="d"), "d_2": replace(CLINIC["visits"], name="d_2")}
    question = ask("SELECT COUNT(*) FROM d JOIN d_2 ON d.patient_id = d_2.patient_id", tables=tables)
    labels = [node.label for node in nodes(question.relation) if isinstance(node, Scan)]
    assert labels == ["d_2", "d_2_2"]


def test_output_names_are_different_and_the_aggregate_itself_where_none_is_given() -> None:
    question = ask("SELECT COUNT(*), AVG(cost), AVG(cost) FROM visits")
    assert [name for name, _ in question.output.columns] == ["COUNT(*)", "AVG(cost)", "AVG(cost)_2"]


def test_deep_questions_are_refused_and_do_not_crash() -> None:
    term: object = Constant(1)
    for _ in range(50_000):
        term = Apply("add", (term, Constant(1)))  # type: ignore[arg-type]
    select = Select((Item(Apply("sum", (term,))),), TableName("visits"))  # type: ignore[arg-type]
    with pytest.raises(QueryRefused, match="deep"):
        bind(select, CLINIC)


def test_the_final_projection_has_keys_and_arguments_alone() -> None:
    question = ask("SELECT city, AVG(cost) FROM visits GROUP BY city")
    assert isinstance(question.relation, Project)
    assert list(question.relation.schema) == ["k.0", "x.0"]
