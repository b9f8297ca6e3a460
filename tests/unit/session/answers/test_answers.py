"""Answers: tables with error bars in terminals, notebooks, files and charts; hostile cells stay harmless."""

from __future__ import annotations

import csv
import datetime as dt
import io
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from dalenius import lazy as extras
from dalenius.errors import InvalidParameter, MissingExtra
from dalenius.measuring.postprocess import Shaped, of_domain
from dalenius.query.types import Bool, Category, Date, Domain, Int, Real, Text, Timestamp
from dalenius.session.answers.answers import BARS_COVER_NOISE, KEYS_LEFT_OUT, Answer
from dalenius.session.answers.columns import AnswerColumn
from dalenius.session.answers.displays import printable

CITY = Category("Oslo", "Bergen", "Tromsø")
HOSTILE = ["<script>alert('x')</script>", "=1+1", "+1", "-1", "@SUM(A1)", "\tx", "a\x1b[31mred", "$\\frac{1}$", "a\nb"]


def answer(*columns: AnswerColumn, **facts: Any) -> Answer:
    return Answer(
        columns or (key("city", ("Oslo", "Bergen", None), CITY), AnswerColumn("visits", (1234, 56, -7), (31, 31, 31))),
        **facts,
    )


def key(name: str, values: Any, domain: Domain | None) -> AnswerColumn:
    return AnswerColumn(name, tuple(values), None, None if domain is None else of_domain(domain), is_key=True)


def keyed(values: list[Any], domain: Domain) -> Answer:
    return answer(key("key", values, domain), AnswerColumn("n", tuple(range(len(values))), (3,) * len(values)))


def test_a_table_in_a_terminal_is_aligned_and_says_what_it_cost() -> None:
    shown = str(answer(charge="ε = 0.2", left="ε = 2.8", receipt="r1", notes=(KEYS_LEFT_OUT,)))
    assert shown.splitlines() == [
        "city    visits  visits ±",
        "──────  ──────  ────────",
        "Oslo     1,234        31",
        "Bergen      56        31",
        "NULL        -7        31",
        "",
        "± at 95 % · charged ε = 0.2 · left ε = 2.8 · receipt r1",
        KEYS_LEFT_OUT,
    ]


def test_what_bars_do_not_cover_is_said_unless_told_otherwise() -> None:
    assert BARS_COVER_NOISE in str(answer())
    assert BARS_COVER_NOISE in answer()._repr_html_()


def test_long_tables_show_forty_rows_and_count_the_others() -> None:
    shown = str(keyed(list(range(1000)), Int(0, 1000)))
    assert "... and 960 more" in shown
    assert shown.count("\n") < 50


def test_floats_show_two_digits_of_their_bar_and_unknown_bars_a_question_mark() -> None:
    shown = str(answer(AnswerColumn("mean", (12.3456789, None), (0.0123, None))))
    assert shown.splitlines()[2:4] == ["12.346   0.012", "  NULL       ?"]


def test_wide_letters_keep_the_columns_in_line() -> None:
    lines = str(keyed(["東京", "Oslo"], Text())).splitlines()
    assert lines[2] == "東京  0    3"
    assert lines[3] == "Oslo  1    3"


def test_control_characters_never_reach_a_terminal() -> None:
    shown = str(keyed(HOSTILE, Text()))
    assert all(letter.isprintable() or letter == "\n" for letter in shown)
    assert len(shown.splitlines()) == 2 + len(HOSTILE) + 3


class Tags(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[tuple[str, str]] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen |= {(tag, name) for name, _ in attrs} | {(tag, "")}


def test_cells_titles_and_facts_are_never_markup() -> None:
    payload = '"><img src=x onerror=alert(1)>'
    page = answer(
        key(payload, (payload, "<b>"), Text()),
        AnswerColumn("n", (1, 2), (3, 3)),
        charge=payload, left=payload, receipt=payload, notes=(payload,),
    )._repr_html_()  # fmt: skip
    tags = Tags()
    tags.feed(page)
    assert {tag for tag, _ in tags.seen} == {"div", "table", "thead", "tbody", "tr", "th", "td", "p"}
    assert {name for _, name in tags.seen} <= {"", "class", "style"}


def test_the_check_above_notices_an_image() -> None:
    tags = Tags()
    tags.feed("<p><img src=x onerror=alert(1)></p>")
    assert ("img", "onerror") in tags.seen


def test_formulas_in_csv_are_texts_and_numbers_stay_numbers() -> None:
    text = keyed(HOSTILE, Text()).to_csv()
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["key", "n", "n ±"]
    keys = [row[0] for row in rows[1:]]
    assert [key.removeprefix("'") for key in keys] == [printable(key) for key in HOSTILE]
    assert [key for key in keys if key.startswith(tuple("=+-@\t\r\n"))] == []
    assert answer(AnswerColumn("n", (-5,), (3,))).to_csv() == "n,n ±\n-5,3\n"
    assert answer(AnswerColumn("=n", (5,))).to_csv() == "'=n\n5\n"


def test_csv_is_written_where_told(tmp_path: Path) -> None:
    text = answer().to_csv(tmp_path / "visits.csv")
    assert (tmp_path / "visits.csv").read_text(encoding="utf-8") == text
    assert text.splitlines()[3] == ",-7,31"


@pytest.mark.parametrize(
    ("values", "domain", "kind"),
    [
        ([1, None], Int(0, 9), pa.int64()),
        ([None], Int(0, 9), pa.int64()),
        ([Decimal("0.10")], Real(0, 1, step="0.01"), pa.decimal128(38, 2)),
        ([dt.date(2024, 1, 1), None], Date("2024-01-01", "2024-12-31"), pa.date32()),
        ([dt.datetime(2024, 1, 1, 5)], Timestamp("2024-01-01", "2024-12-31"), pa.timestamp("us")),
        ([True, None], Bool(), pa.bool_()),
        (["Oslo", None], CITY, pa.string()),
        ([None], Text(), pa.string()),
        ([2**70], None, pa.decimal128(38, 0)),
        ([2**200], None, pa.float64()),
        ([1, Decimal("0.5")], None, pa.decimal128(38, 1)),
        ([1, 0.5, None], None, pa.float64()),
        ([None], None, pa.float64()),
        ([dt.timedelta(days=3)], None, pa.duration("us")),
        ([True, False], None, pa.bool_()),
        (["a"], None, pa.string()),
    ],
)
def test_arrow_types_follow_the_domain_or_the_values(
    values: list[Any], domain: Domain | None, kind: pa.DataType
) -> None:
    table = answer(key("x", values, domain)).to_arrow()
    assert table.schema.field("x").type == kind
    assert table.num_rows == len(values)


def test_a_histogram_is_a_list_in_arrow_and_a_line_in_a_terminal() -> None:
    shown = answer(AnswerColumn("h", ({"Oslo": 3, "Bergen": 1200}, None), (5, None)))
    assert "Oslo: 3, Bergen: 1,200" in str(shown)
    assert shown.to_arrow()["h"][0].as_py() == [{"value": "Oslo", "count": 3}, {"value": "Bergen", "count": 1200}]


def test_every_form_has_the_same_columns() -> None:
    titles = ["city", "visits", "visits ±"]
    assert answer().to_arrow().column_names == titles
    assert list(answer().to_pandas().columns) == titles
    assert answer().to_polars().columns == titles
    assert list(answer().to_dict()) == titles
    assert answer()["visits ±"] == (31, 31, 31)


def test_rows_are_dicts() -> None:
    assert len(answer()) == 3
    assert next(iter(answer())) == {"city": "Oslo", "visits": 1234, "visits ±": 31}


def test_equal_names_are_told_apart() -> None:
    shaped = Shaped(("n", "n", "n ±"), ([1], [2], [3]), ([4], None, None), (None, None, None), 0)
    assert list(Answer.from_shaped(shaped).to_dict().values()) == [(1,), (4,), (2,), (3,)]


def test_an_answer_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        answer().level = Fraction(1, 2)  # type: ignore[misc]
    shaped = Shaped(("n",), ([1],), ([4],), (None,), 0)
    made = Answer.from_shaped(shaped, receipt="r1")
    shaped.columns[0].append(2)
    assert made["n"] == (1,)


# ---- charts


def test_charts_are_written_as_svg_and_png(tmp_path: Path) -> None:
    answer().plot(tmp_path / "a.svg")
    answer().plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert ElementTree.fromstring((tmp_path / "a.svg").read_text()).tag.endswith("svg")
    assert answer().plot()._repr_svg_().startswith("<?xml")
    with pytest.raises(InvalidParameter, match="ends in"):
        answer().plot(tmp_path / "a.pdf")


@pytest.mark.parametrize(
    ("values", "domain"),
    [
        (HOSTILE, Text()),
        ([3, 1, None], Int(0, 9)),
        ([dt.date(2024, 1, day) for day in range(1, 20)], Date("2024-01-01", "2024-12-31")),
        ([Decimal("0.5"), Decimal("1.5")], Real(0, 2, step="0.5")),
        ([str(place) for place in range(100)], Text()),
    ],
)
def test_any_keys_can_be_drawn(values: list[Any], domain: Domain) -> None:
    svg = keyed(values, domain).plot().svg
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert "<script" not in svg


def test_unknown_values_and_bars_are_left_out_of_a_chart() -> None:
    column = AnswerColumn("mean", (1.5, None, 7.0), (0.1, None, None))
    assert answer(key("city", ("a", "b", "c"), CITY), column).plot().svg


def test_a_table_without_numbers_cannot_be_drawn() -> None:
    with pytest.raises(InvalidParameter, match="numeric column"):
        answer(key("city", ("Oslo",), CITY)).plot()


@pytest.mark.parametrize(
    ("form", "package"), [("plot", "matplotlib"), ("to_pandas", "pandas"), ("to_polars", "polars")]
)
def test_a_missing_package_is_named_with_its_extra(form: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(module: str) -> Any:
        raise ImportError(module)

    monkeypatch.setattr(extras, "import_module", missing)
    with pytest.raises(MissingExtra, match=f"needs the package {package}"):
        getattr(answer(), form)()


def test_files_hold_no_character_that_a_terminal_obeys_or_that_turns_letters_round() -> None:
    hostile = ("\x1b[2Jgone", "a\u202eb", "a\u2066b", "\x07", "x\x9b31m", "=1+1\x1b[m")
    text = keyed(hostile, Text()).to_csv()
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert "'=1+1" in text
