"""The SQL reader: what each spelling means, what is refused and how, and that nothing unknown slips through."""

from __future__ import annotations

import datetime as dt
import time
from fractions import Fraction

import pytest
from sqlglot import exp

from dalenius.errors import NotUnderstood, QueryRefused
from dalenius.query.sql import grammar as sql_grammar
from dalenius.query.sql import selects as sql_selects
from dalenius.query.sql import terms as sql_terms
from dalenius.query.sql.reader import read
from dalenius.query.syntax import (
    Apply,
    Constant,
    Item,
    Joined,
    Name,
    Order,
    Select,
    Subquery,
    TableName,
    Term,
    UnionAll,
    UnitsIn,
)


def value(text: str) -> Term:
    """The term that `SELECT text FROM t` selects."""
    query = read(f"SELECT {text} FROM t")
    assert isinstance(query, Select)
    return query.items[0].term


def condition(text: str) -> Term | None:
    query = read(f"SELECT COUNT(*) FROM t WHERE {text}")
    assert isinstance(query, Select)
    return query.where


def call(function: str, *arguments: Term | object) -> Apply:
    terms = [each if isinstance(each, Name | Constant | Apply | UnitsIn) else Constant(each) for each in arguments]
    return Apply(function, tuple(terms))


a, b, c = Name("a"), Name("b"), Name("c")


# ---- a whole question


def test_a_question_becomes_one_select() -> None:
    found = read(
        "SELECT city, COUNT(*) AS n FROM visits v WHERE age >= 65 GROUP BY city HAVING COUNT(*) > 5 "
        "ORDER BY n DESC, 1 LIMIT 3"
    )
    assert found == Select(
        items=(Item(Name("city")), Item(Apply("count"), "n")),
        source=TableName("visits", "v"),
        where=call("greater_equal", Name("age"), 65),
        group_by=(Name("city"),),
        having=call("greater", Apply("count"), 5),
        order_by=(Order(Name("n"), descending=True), Order(Constant(1))),
        limit=3,
    )


def test_written_names_are_kept_as_they_are_quoted_or_not() -> None:
    assert value('City, "Home City", v."X"') == Name("City")
    assert value('"Home City"') == Name("Home City")
    assert value('v."X"') == Name("X", "v")


def test_subqueries_with_and_union_all_keep_their_shape() -> None:
    inner = Select((Item(a),), TableName("t"))
    assert read("SELECT COUNT(*) FROM (SELECT a FROM t) AS s") == Select((Item(Apply("count")),), Subquery(inner, "s"))
    with_it = read("WITH s AS (SELECT a FROM t) SELECT COUNT(*) FROM s")
    assert with_it == Select((Item(Apply("count")),), TableName("s"), common=(("s", inner),))
    assert read("SELECT a FROM t UNION ALL SELECT a FROM t UNION ALL SELECT a FROM t") == UnionAll((inner,) * 3)


def test_star_is_a_name_that_the_binder_spells_out() -> None:
    assert value("*") == Name("*")
    assert value("t.*") == Name("*", "t")
    for other in ("COUNT(t.*)", '"*"', 't."*"', '""'):
        with pytest.raises(NotUnderstood):
            value(other)


@pytest.mark.parametrize(
    ("join", "kind"),
    [
        ("JOIN", "inner"),
        ("INNER JOIN", "inner"),
        ("LEFT JOIN", "left"),
        ("LEFT OUTER JOIN", "left"),
        ("RIGHT JOIN", "right"),
        ("RIGHT OUTER JOIN", "right"),
        ("FULL JOIN", "full"),
        ("FULL OUTER JOIN", "full"),
    ],
)
def test_joins_keep_their_kind(join: str, kind: str) -> None:
    found = read(f"SELECT COUNT(*) FROM t {join} u ON t.a = u.a")
    equal = call("equal", Name("a", "t"), Name("a", "u"))
    assert isinstance(found, Select)
    assert found.source == Joined(TableName("t"), TableName("u"), kind, equal)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["t CROSS JOIN u", "t, u", "t JOIN u"])
def test_a_join_without_a_condition_is_a_cross_join(text: str) -> None:
    found = read(f"SELECT COUNT(*) FROM {text}")
    assert isinstance(found, Select)
    assert found.source == Joined(TableName("t"), TableName("u"), "cross", None)


def test_using_becomes_equalities_with_the_table_that_has_the_column() -> None:
    found = read("SELECT COUNT(*) FROM t x JOIN u USING (a, b) JOIN w USING (a)")
    assert isinstance(found, Select)
    first = call("and", call("equal", Name("a", "x"), Name("a", "u")), call("equal", Name("b", "x"), Name("b", "u")))
    inner = Joined(TableName("t", "x"), TableName("u"), "inner", first)
    assert found.source == Joined(inner, TableName("w"), "inner", call("equal", Name("a", "x"), Name("a", "w")))


# ---- units


def test_in_and_exists_on_the_unit_become_the_same() -> None:
    by_in = read("SELECT COUNT(*) FROM t WHERE t.u IN (SELECT s.u FROM s WHERE s.a > 1)")
    exists = read("SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.u = t.u AND s.a > 1)")
    turned = read("SELECT COUNT(*) FROM t WHERE EXISTS (SELECT * FROM s WHERE s.a > 1 AND t.u = s.u)")
    assert by_in == exists == turned
    assert isinstance(by_in, Select)
    assert isinstance(by_in.where, UnitsIn)


def test_not_in_and_not_exists_are_negated() -> None:
    for text in ("u NOT IN (SELECT u FROM s)", "NOT u IN (SELECT u FROM s)", "NOT (u IN (SELECT u FROM s))"):
        assert condition(text) == UnitsIn(Name("u"), Select((Item(Name("u")),), TableName("s")), negated=True)
    found = condition("NOT EXISTS (SELECT 1 FROM s WHERE s.u = t.u)")
    assert isinstance(found, UnitsIn)
    assert found.negated


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT 1 FROM s",
        "SELECT 1 FROM s WHERE u = u",
        "SELECT 1 FROM s WHERE s.u = t.u OR s.a = 1",
        "SELECT 1 FROM s WHERE s.u = t.u AND s.a = t.a",
        "SELECT COUNT(*) FROM s WHERE s.u = t.u",
        "SELECT 1 FROM s WHERE s.u = t.u GROUP BY s.a",
        "SELECT 1 FROM s WHERE s.u = t.u LIMIT 1",
    ],
)
def test_exists_that_is_not_keyed_by_one_equality_is_refused(inner: str) -> None:
    with pytest.raises(NotUnderstood):
        condition(f"EXISTS ({inner})")


# ---- values


@pytest.mark.parametrize(
    ("text", "constant"),
    [
        ("5", 5),
        ("-5", -5),
        ("+5", 5),
        ("1.50", Fraction(3, 2)),
        (".5", Fraction(1, 2)),
        ("1e3", 1000),
        ("1e-2", Fraction(1, 100)),
        ("-0.25", Fraction(-1, 4)),
        ("'it''s'", "it's"),
        ("TRUE", True),
        ("NULL", None),
        ("DATE '2024-01-31'", dt.date(2024, 1, 31)),
        ("CAST('2024-01-31' AS DATE)", dt.date(2024, 1, 31)),
        ("'2024-01-31'::DATE", dt.date(2024, 1, 31)),
        ("TIMESTAMP '2024-01-31 12:30:00'", dt.datetime(2024, 1, 31, 12, 30)),
    ],
)
def test_constants_are_exact(text: str, constant: object) -> None:
    found = value(text)
    assert found == Constant(constant)
    assert isinstance(found, Constant)
    assert not isinstance(found.value, float)
    assert isinstance(found.value, bool) == isinstance(constant, bool)


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("a + b * c", call("add", a, call("multiply", b, c))),
        ("(a + b) * c", call("multiply", call("add", a, b), c)),
        ("a - b - c", call("subtract", call("subtract", a, b), c)),
        ("a / b", call("divide", a, b)),
        ("a // b", call("floor_divide", a, b)),
        ("a % b", call("modulo", a, b)),
        ("-a", call("negate", a)),
        ("MOD(a, b)", call("modulo", a, b)),
        ("a || b || c", call("concat", call("concat", a, b), c)),
        ("CONCAT(a, b)", call("concat", call("coalesce", a, ""), call("coalesce", b, ""))),
        ("a = b", call("equal", a, b)),
        ("a <> b", call("not_equal", a, b)),
        ("a != b", call("not_equal", a, b)),
        ("a < b", call("less", a, b)),
        ("a >= b", call("greater_equal", a, b)),
        ("a AND b OR NOT c", call("or", call("and", a, b), call("not", c))),
        ("NOT a = b", call("not", call("equal", a, b))),
        ("a IS NULL", call("is_null", a)),
        ("a IS NOT NULL", call("not", call("is_null", a))),
        ("a IS TRUE", call("coalesce", a, False)),
        ("a IS FALSE", call("coalesce", call("not", a), False)),
        ("a IS NOT TRUE", call("not", call("coalesce", a, False))),
        ("a IN (1, 2)", call("in", a, 1, 2)),
        ("a NOT IN (1)", call("not", call("in", a, 1))),
        ("a BETWEEN 1 AND 2", call("between", a, 1, 2)),
        ("a NOT BETWEEN 1 AND 2", call("not", call("between", a, 1, 2))),
        ("a LIKE 'x%'", call("like", a, "x%")),
        ("a NOT LIKE 'x%'", call("not", call("like", a, "x%"))),
        ("CASE WHEN a THEN 1 END", call("case", a, 1, None)),
        ("CASE a WHEN 1 THEN 2 ELSE 3 END", call("case", call("equal", a, 1), 2, 3)),
        ("IF(a, 1, 2)", call("case", a, 1, 2)),
        ("IIF(a, 1, 2)", call("case", a, 1, 2)),
        ("COALESCE(a, b, 1)", call("coalesce", a, b, 1)),
        ("IFNULL(a, 1)", call("coalesce", a, 1)),
        ("NULLIF(a, 1)", call("null_if", a, 1)),
        ("GREATEST(a, b)", call("greatest", a, b)),
        ("ABS(a)", call("abs", a)),
        ("CEILING(a)", call("ceil", a)),
        ("ROUND(a)", call("round", a, 0)),
        ("ROUND(a, 2)", call("round", a, 2)),
        ("CLAMP(a, 0, 9)", call("clamp", a, 0, 9)),
        ("BIN(a, 10)", call("bin", a, 10)),
        ("SUBSTRING(a, 1, 2)", call("substring", a, 1, 2)),
        ("SUBSTR(a, 1, 2)", call("substring", a, 1, 2)),
        ("SUBSTRING(a FROM 1 FOR 2)", call("substring", a, 1, 2)),
        ("LEFT(a, 2)", call("substring", a, 1, 2)),
        ("CHAR_LENGTH(a)", call("length", a)),
        ("TRIM(a)", call("trim", a)),
        ("REPLACE(a, 'x', 'y')", call("replace", a, "x", "y")),
        ("EXTRACT(year FROM a)", call("year", a)),
        ("DATE_PART('doy', a)", call("day_of_year", a)),
        ("EXTRACT(dow FROM a)", call("modulo", call("weekday", a), 7)),
        ("ISODOW(a)", call("weekday", a)),
        ("DATE_TRUNC('MONTH', a)", call("date_trunc", "month", a)),
        ("a + INTERVAL 7 DAY", call("add_days", a, 7)),
        ("a - INTERVAL '1 week'", call("add_days", a, -7)),
        ("INTERVAL 2 DAYS + a", call("add_days", a, 2)),
        ("DATE_SUB(a, INTERVAL 3 DAY)", call("add_days", a, -3)),
        ("DATE_DIFF('day', a, b)", call("days_between", a, b)),
        ("CAST(a AS INTEGER)", call("to_int", a)),
        ("a::BIGINT", call("to_int", a)),
        ("TRY_CAST(a AS TEXT)", call("to_text", a)),
        ("CAST(a AS DECIMAL(10, 2))", call("to_real", a, Fraction(1, 100))),
        ("a::BOOLEAN", call("to_bool", a)),
        ("CAST(a AS DATE)", call("to_date", a)),
        ("DATE(a)", call("to_date", a)),
        ("a::TIMESTAMP", call("to_timestamp", a)),
        ("COUNT(*)", Apply("count")),
        ("COUNT(a)", call("count", a)),
        ("COUNT(DISTINCT a)", Apply("count", (a,), distinct=True)),
        ("MEAN(a)", call("avg", a)),
        ("VAR_SAMP(a)", call("variance", a)),
        ("STDDEV_SAMP(a)", call("stddev", a)),
        ("COVAR_SAMP(a, b)", call("covar", a, b)),
        ("QUANTILE(a, 0.25)", call("quantile", a, Fraction(1, 4))),
        ("PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY a)", call("quantile", a, Fraction(1, 4))),
        ("PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY a DESC)", call("quantile", a, Fraction(3, 4))),
        ("MODE() WITHIN GROUP (ORDER BY a)", call("mode", a)),
        ("HISTOGRAM(a)", call("histogram", a)),
        ("COUNT(*) FILTER (WHERE b)", call("count", call("case", b, 1, None))),
        ("SUM(a) FILTER (WHERE b)", call("sum", call("case", b, a, None))),
    ],
)
def test_each_spelling_means_one_function(text: str, term: Term) -> None:
    assert value(text) == term


# ---- limits


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";",
        "   ",
        "-- only a comment",
        "x" * 100_001,
        "(" * 5000,
        "SELECT " + "(" * 21 + "1" + ")" * 21 + " FROM t",
        "SELECT " + "a + " * 3000 + "a FROM t",
        "SELECT COUNT(*) FROM t WHERE " + "NOT " * 3000 + "a",
        "SELECT " + "a, " * 6000 + "a FROM t",
        "SELECT COUNT(*) FROM t" + ", t" * 40,
        "SELECT '\0' FROM t",
        "SELECT '\ud800' FROM t",
        "SELECT '\x1b[31m' FROM t",
        "SELECT '\x9b31m' FROM t",
        "SELECT 9" + "0" * 40 + " FROM t",
        "SELECT 1e41 FROM t",
        "SELECT 1e999999999 FROM t",
        "SELECT 0." + "0" * 40 + "1 FROM t",
    ],
)
def test_what_is_too_large_or_empty_is_refused(text: str) -> None:
    with pytest.raises(QueryRefused):
        read(text)


def test_what_is_just_small_enough_is_read() -> None:
    value("(" * 20 + "1" + ")" * 20)
    condition(" AND ".join(["a = 1"] * 90))
    assert value("9" * 40) == Constant(int("9" * 40))


@pytest.mark.parametrize("joins", [24, 200, 2000])
def test_joins_without_conditions_do_not_take_twice_as_long_for_each(joins: int) -> None:
    """sqlglot tries every way to nest them: minutes for 24, and for ever beyond."""
    started = time.process_time()
    with pytest.raises(NotUnderstood):
        read("SELECT COUNT(*) FROM t" + " LEFT JOIN u v" * joins)
    assert time.process_time() - started < 20


def test_the_limit_on_reading_again_is_what_stops_them(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "SELECT COUNT(*) FROM t" + " LEFT JOIN u v" * 12
    with pytest.raises(NotUnderstood, match="too many ways"):
        read(text)
    monkeypatch.setattr(sql_grammar, "MOST_REREADING", 10**9)
    with pytest.raises(NotUnderstood, match="needs a condition"):
        read(text)


def test_something_that_is_no_text_is_refused() -> None:
    with pytest.raises(NotUnderstood):
        read(b"SELECT 1 FROM t")  # type: ignore[arg-type]


# ---- refusals


def test_a_refusal_names_clause_rule_and_edit_and_that_nothing_was_spent() -> None:
    with pytest.raises(NotUnderstood) as refused:
        read("SELECT COUNT(*) FROM visits TABLESAMPLE (10 PERCENT)")
    assert refused.value.clause == "TABLESAMPLE (10 PERCENT)"
    assert refused.value.rule
    assert refused.value.instead
    assert "nothing was read or spent" in str(refused.value)
    assert refused.value.__cause__ is None


def test_errors_of_the_parser_show_no_stack() -> None:
    with pytest.raises(NotUnderstood) as refused:
        read("SELECT COUNT(* FROM visits")
    assert refused.value.__suppress_context__


def test_a_broken_parser_is_still_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a fault of the parser")

    monkeypatch.setattr(sql_grammar.Grammar.Parser, "parse", broken)
    with pytest.raises(NotUnderstood):
        read("SELECT COUNT(*) FROM visits")


EXTRAS = [
    "SELECT COUNT(*) FROM t TABLESAMPLE (10 PERCENT)",
    "SELECT COUNT(*) FROM main.t",
    "SELECT COUNT(*) FROM t FOR UPDATE",
    "SELECT a, COUNT(*) FROM t GROUP BY a QUALIFY COUNT(*) > 1",
    "SELECT COUNT(*) FROM t LIMIT 3 OFFSET 2",
    "SELECT DISTINCT ON (a) a FROM t",
    "SELECT a FROM t ORDER BY a NULLS FIRST",
    "WITH RECURSIVE s AS (SELECT a FROM t) SELECT a FROM s",
    "SELECT a FROM t GROUP BY a WITH TOTALS",
    "SELECT x.y.a FROM t",
    "SELECT COUNT(*) FROM t AS s(a)",
]


def test_a_reader_that_ignores_unknown_arguments_would_let_them_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in EXTRAS:
        with pytest.raises(NotUnderstood):
            read(text)
    for module in (sql_terms, sql_selects):
        monkeypatch.setattr(module, "only", lambda *_: None)
    for text in EXTRAS:
        read(text)


def test_a_reader_that_accepts_subclasses_would_let_other_nodes_pass() -> None:
    """Readers are found by exact type: what sqlglot derives from a known node has a meaning of its own."""
    derived = [kind for kind in vars(exp).values() if isinstance(kind, type) and issubclass(kind, exp.Like)]
    unknown = [kind for kind in derived if kind not in sql_terms.READERS]
    for kind in unknown:
        with pytest.raises(NotUnderstood):
            sql_terms.term(kind(this=exp.column("a"), expression=exp.Literal.string("x")))


def test_every_node_type_without_a_reader_is_refused() -> None:
    kinds = [kind for kind in vars(exp).values() if isinstance(kind, type) and issubclass(kind, exp.Expression)]
    assert len(kinds) > 500
    for kind in kinds:
        if kind not in sql_terms.READERS:
            with pytest.raises(NotUnderstood):
                sql_terms.term(kind())
