"""Answers: a noisy table with error bars, what it cost, and where it came from. All of it is released and public.

What an answer says about itself: what its bars leave out, which keys may be missing, which groups are small.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from dalenius.lazy import optional
from dalenius.measuring.estimates import LEVEL
from dalenius.measuring.measurements import FoundKeys
from dalenius.measuring.postprocess import Shaped, of_domain
from dalenius.measuring.pricing import Priced
from dalenius.mechanisms.keys.limited_domain import LimitedTopK
from dalenius.session.answers.charts import Chart, chart
from dalenius.session.answers.columns import AnswerColumn
from dalenius.session.answers.contents import Content
from dalenius.session.answers.displays import at_level, harmless, html_table, text_table
from dalenius.session.cards.cards import Card

BARS_COVER_NOISE = (
    "Error bars cover the noise that was added; they do not cover values that were clamped to their bounds, nor rows "
    "and groups beyond what one unit may contribute."
)
KEYS_LEFT_OUT = "Keys that too few units have are not shown; which keys were left out stays unknown."


@dataclass(frozen=True, repr=False)
class Answer:
    """A noisy table. Each column that is made of statistics is followed by a column of error bars, titled `name ±`, at
    `level`; where nothing can be said about the error, the bar is NULL.

    Rows are dicts, by iteration; `to_arrow`, `to_pandas`, `to_polars`, `to_dict` and `to_csv` give the whole table.
    `card` says what was released, at which loss and with which promise; a rehearsal releases nothing and has none.
    `notes` name the columns that are mostly noise.
    Textbook: S18.12.
    """

    columns: tuple[AnswerColumn, ...]
    level: Fraction = LEVEL
    charge: str = ""
    left: str = ""
    receipt: str = ""
    derivation: str = field(default="", compare=False)
    notes: tuple[str, ...] = (BARS_COVER_NOISE,)
    card: Card | None = None
    content: Content | None = field(default=None, compare=False)
    """Arrays or marginals, where that is what was released; `columns` shows them then."""
    replayed: bool = field(default=False, compare=False)
    """Whether it was bought before and comes from the ledger, at no cost to the population."""

    @classmethod
    def from_shaped(cls, shaped: Shaped, **facts: Any) -> Self:
        """The answer that shows a shaped table; `facts` are the other fields."""
        kinds = shaped.kinds or [None if domain is None else of_domain(domain) for domain in shaped.domains]
        parts = zip(_different(shaped.names), shaped.columns, shaped.errors, kinds, shaped.domains, strict=True)
        columns = [
            AnswerColumn(name, tuple(values), None if errors is None else tuple(errors), kind, domain is not None)
            for name, values, errors, kind, domain in parts
        ]
        return cls(tuple(columns), **facts)

    @classmethod
    def of(cls, content: Content) -> Self:
        """The answer that holds arrays or marginals."""
        return cls(content.columns, notes=(), content=content)

    @property
    def asked(self) -> str:
        """The question that it answers, as SQL."""
        return self.card.asked if self.card else ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, without those of the bars."""
        return tuple(column.name for column in self.columns)

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        table = self.to_dict()
        return (dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True))

    def __getitem__(self, name: str) -> tuple[Any, ...]:
        """The values of a column, or of a column of bars, by its title."""
        return self.to_dict()[name]

    def to_dict(self) -> dict[str, tuple[Any, ...]]:
        """All columns by title, bars included."""
        return {title: values for column in self.columns for title, values in column.titled()}

    def to_arrow(self) -> pa.Table:
        """An Arrow table: int64, decimal128, float64, date32, timestamp, duration, string or bool.

        The types follow from the question and the declared columns, never from what was released. A number is int64
        if it is whole and fits, decimal128 with as many places as the column's step, or float64 where 38 digits may
        not suffice. A value beyond its type is shown as the nearest end of it.
        """
        titled = [titled for column in self.columns for titled in column.arrows()]
        return pa.table([array for _, array in titled], names=[title for title, _ in titled])

    def to_pandas(self) -> Any:
        """A pandas DataFrame. Needs pandas."""
        optional("pandas", function="Answer.to_pandas", extra="pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """A Polars DataFrame. Needs Polars."""
        return optional("polars", function="Answer.to_polars", extra="polars").from_arrow(self.to_arrow())

    def to_csv(self, path: str | Path | None = None) -> str:
        """The table as CSV text, also written to `path` if there is one.

        A text that a spreadsheet would run as a formula (it starts with =, +, -, @, a tab or a line break) gets an
        apostrophe in front; numbers and dates stay as they are. NULL is an empty cell.
        """
        table, out = self.to_dict(), io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([harmless(title) for title in table])
        writer.writerows([harmless(cell) for cell in row] for row in zip(*table.values(), strict=True))
        if path is not None:
            Path(path).write_text(out.getvalue(), encoding="utf-8")
        return out.getvalue()

    def plot(self, path: str | Path | None = None) -> Chart:
        """A chart with error bars, also written to `path` (.svg or .png) if there is one; it shows in notebooks.

        Bars for categories and texts, a line with a band for numbers and dates. Needs the extra `plot`.
        """
        drawn = chart(self.columns, level=self.level)
        if path is not None:
            drawn.save(path)
        return drawn

    def __str__(self) -> str:
        return text_table(self.columns, footer=self._footer())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self.columns, footer=self._footer())

    def _footer(self) -> list[str]:
        facts = [at_level(self.level)]
        charged = "replayed, charged before:" if self.replayed else "charged"
        facts += [f"{label} {text}" for label, text in ((charged, self.charge), ("left", self.left)) if text]
        facts += [f"receipt {self.receipt}"] if self.receipt else []
        return [" · ".join(facts), *self.notes]


def _different(names: Sequence[str]) -> list[str]:
    """The names, made different where two are the same."""
    made: list[str] = []
    for name in names:
        count, title = 1, name
        while {title, f"{title} ±"} & {*made, *(f"{other} ±" for other in made)}:
            count += 1
            title = f"{name} ({count})"
        made.append(title)
    return made


FEWER_THAN_ASKED = "The list may be shorter than asked for: it ends where the next key would be too rare to be shown."


def notes(priced: Priced, shaped: Shaped) -> tuple[str, ...]:
    """Remarks made of public facts and released values."""
    return (BARS_COVER_NOISE, *_missing_keys(priced), *_small_groups(shaped))


def _missing_keys(priced: Priced) -> Iterator[str]:
    if any(isinstance(step.measurement, FoundKeys) for step in priced.steps):
        yield KEYS_LEFT_OUT
    if any(isinstance(step.mechanism, LimitedTopK) for step in priced.steps):
        yield FEWER_THAN_ASKED


def _small_groups(shaped: Shaped) -> Iterator[str]:
    """Which columns are mostly noise: the error shrinks relative to a group only as the group grows.

    Textbook: S18.12.
    """
    for name, values, errors in zip(shaped.names, shaped.columns, shaped.errors, strict=True):
        known = [(value, error) for value, error in zip(values, errors or values, strict=True) if _both(value, error)]
        if errors is None or not known or not all(isinstance(figure, int | float | Decimal) for figure in known[0]):
            continue
        lost = sum(abs(value) < error for value, error in known)
        if lost:
            yield (
                f"{name}: in {lost} of {len(known)} groups the bar is larger than the value. "
                "Offer more, or ask for larger groups."
            )


def _both(value: object, error: object) -> bool:
    return value is not None and error is not None
