"""How answers look: plain tables for terminals, HTML for notebooks. What a cell says is never markup or a command."""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from html import escape
from typing import Any

from dalenius.session.answers.columns import AnswerColumn

MOST_ROWS = 40
_LONGEST = 60
_MOST_DECIMALS = 12
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def text_table(columns: Sequence[AnswerColumn], *, footer: Sequence[str]) -> str:
    """An aligned table of at most 40 rows, and lines below it."""
    shown = [cells(column) for column in columns]
    titled = [part for parts in shown for part in parts]
    widths = [max(width(cell) for cell in [title, *texts]) for title, texts, _ in titled]
    lines = [[title for title, _, _ in titled], *zip(*(texts for _, texts, _ in titled), strict=True)]
    aligned = [_aligned(line, widths, [right for _, _, right in titled]) for line in lines]
    rule = "  ".join("─" * size for size in widths)
    return "\n".join([aligned[0], rule, *aligned[1:], *_more(columns), "", *footer])


def html_table(columns: Sequence[AnswerColumn], *, footer: Sequence[str]) -> str:
    """The same table as HTML; every text in it is escaped."""
    titled = [part for column in columns for part in cells(column)]
    head = "".join(_cell("th", title, right) for title, _, right in titled)
    rows = zip(*(texts for _, texts, _ in titled), strict=True)
    body = "".join(
        f"<tr>{''.join(_cell('td', text, right) for text, (_, _, right) in zip(row, titled, strict=True))}</tr>"
        for row in rows
    )
    below = "".join(f"<p>{escape(line)}</p>" for line in [*_more(columns), *footer])
    return (
        '<div class="dalenius-answer"><table><thead><tr>'
        f'{head}</tr></thead><tbody>{body}</tbody></table><div style="font-size:85%;opacity:0.75">{below}</div></div>'
    )


def cells(column: AnswerColumn) -> list[tuple[str, list[str], bool]]:
    """The column and its bars as (title, texts, whether aligned to the right), at most 40 rows; an unknown bar is ?."""
    decimals = _decimals(column)
    values = [cell(value, decimals, grouped=not column.is_key) for value in column.values[:MOST_ROWS]]
    right = any(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in column.values)
    parts = [(visible(column.name), values, right)]
    if column.errors is not None:
        errors = ["?" if error is None else cell(error, decimals) for error in column.errors[:MOST_ROWS]]
        parts.append((visible(f"{column.name} ±"), errors, True))
    return parts


def cell(value: Any, decimals: int, *, grouped: bool = True) -> str:
    """A value as text on one line."""
    comma = "," if grouped else ""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case float():
            return format(value, f"{comma}.{decimals}f") if abs(value) < 1e15 else format(value, ".6g")
        case int() | Decimal():
            return format(value, f"{comma}f" if isinstance(value, Decimal) else f"{comma}d")
        case dt.timedelta():
            return str(value) if value % dt.timedelta(days=1) else f"{value.days} days"
        case dict():
            return visible(", ".join(f"{cell(name, 0, grouped=False)}: {count:,}" for name, count in value.items()))
    return visible(str(value))


def visible(text: str) -> str:
    """The text on one line, without control characters, and not too long."""
    line = printable(text)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def printable(text: str) -> str:
    """The text without control characters, which a terminal would obey, and without marks that turn or hide letters."""
    return "".join(letter if letter.isprintable() else "�" for letter in text)


def at_level(level: Fraction) -> str:
    """What bars are at: ± at 95 %."""
    return f"± at {float(100 * level):g} %"


def harmless(cell: Any) -> Any:
    """A cell of a CSV file, for a spreadsheet or a terminal: a text that would run as a formula gets an apostrophe in
    front, and what would be obeyed or hidden is shown as �."""
    if not isinstance(cell, str):
        return cell
    return ("'" if cell.startswith(_FORMULA) else "") + printable(cell)


def width(text: str) -> int:
    """How many places a text takes in a terminal."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def _decimals(column: AnswerColumn) -> int:
    """As many decimals as show two digits of the smallest bar; four digits where there are no bars."""
    sizes = [Decimal(error) for error in column.errors or () if isinstance(error, float) and error > 0]
    if sizes:
        return max(0, min(1 - min(sizes).adjusted(), _MOST_DECIMALS))
    largest = max((Decimal(abs(value)) for value in column.values if isinstance(value, float)), default=Decimal(0))
    return max(0, min(3 - largest.adjusted(), _MOST_DECIMALS)) if largest else 0


def _aligned(line: Sequence[str], widths: Sequence[int], rights: Sequence[bool]) -> str:
    padded = []
    for text, size, right in zip(line, widths, rights, strict=True):
        space = " " * (size - width(text))
        padded.append(space + text if right else text + space)
    return "  ".join(padded).rstrip()


def _more(columns: Sequence[AnswerColumn]) -> list[str]:
    total = len(columns[0].values) if columns else 0
    return [f"... and {total - MOST_ROWS:,} more"] if total > MOST_ROWS else []


def _cell(tag: str, text: str, right: bool) -> str:
    side = "right" if right else "left"
    return f'<{tag} style="text-align:{side}">{escape(text)}</{tag}>'
