"""Charts of answers: bars with error bars for categories, a line with a band for numbers and dates."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from dalenius.errors import InvalidParameter
from dalenius.lazy import optional
from dalenius.session.answers.columns import AnswerColumn
from dalenius.session.answers.displays import at_level, cell, visible

MOST_BARS = 60
_LONGEST = 24
_INK, _BAND = "#27566b", "#9ec3d2"


@dataclass(frozen=True)
class Chart:
    """A drawn chart; it shows in notebooks, and is saved as SVG or PNG."""

    svg: str = field(repr=False)
    png: bytes = field(repr=False)

    def save(self, path: str | Path) -> Path:
        """Write the chart; the suffix, .svg or .png, says how."""
        target = require_kind(path)
        target.write_bytes(self.png if target.suffix.lower() == ".png" else self.svg.encode())
        return target

    def _repr_svg_(self) -> str:
        return self.svg


def require_kind(path: str | Path) -> Path:
    """Refuse a file of a kind that no chart is written in."""
    if Path(path).suffix.lower() not in (".svg", ".png"):
        raise InvalidParameter("path", str(path), allowed="a file that ends in .svg or .png")
    return Path(path)


def chart(columns: Sequence[AnswerColumn], *, level: Fraction) -> Chart:
    """Draw every numeric column that has bars, against the keys."""
    keys = [column for column in columns if column.is_key]
    values = [column for column in columns if not column.is_key and column.is_numeric]
    if not values or not columns[0].values:
        raise InvalidParameter("answer", "without numbers", allowed="a table with a numeric column and a row, to plot")
    figure = optional("matplotlib.figure", function="Answer.plot", extra="plot").Figure(
        figsize=(8, 1 + 2.6 * len(values)), layout="constrained"
    )
    panels = figure.subplots(len(values), sharex=True, squeeze=False)[:, 0]
    for axes, column in zip(panels, values, strict=True):
        _draw(axes, keys, column, level)
    _name_axis(panels[-1], keys, len(columns[0].values))
    return drawn(figure)


def drawn(figure: Any, path: str | Path | None = None) -> Chart:
    """A figure of matplotlib as a chart, also written to `path` if there is one."""
    made = Chart(_saved(figure, "svg").decode(), _saved(figure, "png"))
    if path is not None:
        made.save(path)
    return made


def _draw(axes: Any, keys: Sequence[AnswerColumn], column: AnswerColumn, level: Fraction) -> None:
    if _along_line(keys):
        _line(axes, keys[0], column)
    else:
        _bars(axes, keys, column)
    axes.set_ylabel(_label(column.name))
    axes.set_title(at_level(level), fontsize=8, loc="right", color="#666666")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", linewidth=0.4, alpha=0.5)
    axes.set_axisbelow(True)


def _line(axes: Any, key: AnswerColumn, column: AnswerColumn) -> None:
    known = [place for place, value in enumerate(key.values) if value is not None]
    known.sort(key=lambda place: key.values[place])
    places = [_plain(key.values[place]) for place in known]
    heights, errors = ([part[place] for place in known] for part in _heights(column))
    axes.plot(places, heights, color=_INK, marker="o", markersize=3)
    low = [height - error for height, error in zip(heights, errors, strict=True)]
    high = [height + error for height, error in zip(heights, errors, strict=True)]
    axes.fill_between(places, low, high, color=_BAND, alpha=0.5, linewidth=0)
    if key.kind is not None and key.kind.name in ("date", "moment"):
        dates = optional("matplotlib.dates", function="Answer.plot", extra="plot")
        axes.xaxis.set_major_locator(dates.AutoDateLocator(maxticks=7))


def _bars(axes: Any, keys: Sequence[AnswerColumn], column: AnswerColumn) -> None:
    heights, errors = (part[:MOST_BARS] for part in _heights(column))
    axes.bar(range(len(heights)), heights, yerr=errors, color=_BAND, ecolor=_INK, capsize=3)
    names = [_joined(keys, place) for place in range(len(heights))]
    turned = len(names) > 8 or max(map(len, names)) > 12
    axes.set_xticks(range(len(names)), names, rotation=60 if turned else 0, ha="right" if turned else "center")


def _joined(keys: Sequence[AnswerColumn], place: int) -> str:
    """The keys of one bar."""
    text = " · ".join(cell(key.values[place], 2, grouped=False) for key in keys)
    return _label(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")


def _name_axis(axes: Any, keys: Sequence[AnswerColumn], rows: int) -> None:
    drawn = rows if _along_line(keys) else min(rows, MOST_BARS)
    more = f" (and {rows - drawn:,} more)" if rows > drawn else ""
    axes.set_xlabel(_label(", ".join(key.name for key in keys)) + more)


def _along_line(keys: Sequence[AnswerColumn]) -> bool:
    return len(keys) == 1 and keys[0].kind is not None and keys[0].kind.name in ("exact", "date", "moment")


def _heights(column: AnswerColumn) -> tuple[list[float], list[float]]:
    """Values and bars; where no bar is known, nothing is drawn."""
    if column.errors is None:
        return [_height(value) for value in column.values], [0.0] * len(column.values)
    pairs = zip(column.values, column.errors, strict=True)
    known = [(None, None) if value is None or error is None else (value, error) for value, error in pairs]
    return [_height(value) for value, _ in known], [_height(error) for _, error in known]


def _height(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal | Fraction) else value


def _label(text: str) -> str:
    """A text that is drawn as it stands: no formula, no control characters."""
    return visible(text).replace("\\", "\\\\").replace("$", r"\$") if "$" in text else visible(text)


def _saved(figure: Any, kind: str) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
    return out.getvalue()
