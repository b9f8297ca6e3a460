"""Answers as text: what a ledger stores, a server sends and a client reads. Reading gives back an equal answer.

The text is JSON. What JSON has no word for is an object with one name, its type: {"date": "2024-01-31"}.

The values of an answer as JSON, each in one way.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar, get_args

from dalenius.errors import DamagedAnswer, InvalidParameter
from dalenius.measuring.postprocess import Kind, Name
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.columns import AnswerColumn
from dalenius.session.answers.contents import KINDS
from dalenius.session.cards.cards import Card

_MICROSECOND = dt.timedelta(microseconds=1)
_FRACTION = re.compile(r"-?[0-9]+(/[0-9]+)?", re.ASCII)
_LARGEST_EXPONENT = 5_000  # a larger one would fill the memory when it is written out


def written(value: Any) -> Any:
    """A value as JSON: what JSON has no word for becomes an object with one name, its type."""
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    for type_, name, write, _ in _TYPES:
        if isinstance(value, type_):
            return {name: write(value)}
    raise TypeError(type(value).__name__)


def read(value: Any) -> Any:
    """The value that was written; `DamagedAnswer` for what nothing is written as."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if not isinstance(value, dict) or len(value) != 1:
        raise DamagedAnswer("made of known values")
    ((name, text),) = value.items()
    for _, known, _, reading in _TYPES:
        if known == name:
            return _same(reading(text), value)
    raise DamagedAnswer("made of known values")


def fraction(text: Any) -> Fraction:
    """The fraction that was written."""
    if not isinstance(text, str) or not _FRACTION.fullmatch(text):
        raise DamagedAnswer("with fractions such as 19/20")
    return Fraction(text)


def _same(found: Any, value: Any) -> Any:
    """The value that was read, if it is written that way: there is one text for each value."""
    if written(found) != value:
        raise DamagedAnswer("made of values in their usual form")
    return found


def _decimal(text: Any) -> Decimal:
    found = Decimal(text if isinstance(text, str) else "")
    if not found.is_finite() or abs(int(found.as_tuple().exponent)) > _LARGEST_EXPONENT:
        raise DamagedAnswer("with decimals of a moderate size")
    return found


def _endless(text: Any) -> float:
    if text not in ("inf", "-inf", "nan"):
        raise DamagedAnswer("made of known values")
    return float(text)


def _span(count: Any) -> dt.timedelta:
    if type(count) is not int:
        raise DamagedAnswer("with spans in microseconds")
    return count * _MICROSECOND


def _histogram(counts: Mapping[Any, Any]) -> list[Any]:
    return [[written(value), written(count)] for value, count in counts.items()]


def _histogram_from(pairs: Any) -> dict[Any, Any]:
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise DamagedAnswer("with histograms as lists of pairs")
    return {read(value): read(count) for value, count in pairs}


_TYPES: tuple[tuple[type, str, Callable[[Any], Any], Callable[[Any], Any]], ...] = (
    (float, "float", str, _endless),
    (Decimal, "decimal", str, _decimal),
    (Fraction, "fraction", str, fraction),
    (dt.datetime, "moment", dt.datetime.isoformat, dt.datetime.fromisoformat),  # before date: it is one too
    (dt.date, "date", dt.date.isoformat, dt.date.fromisoformat),
    (dt.timedelta, "span", lambda span: span // _MICROSECOND, _span),
    (dict, "histogram", _histogram, _histogram_from),
)
"""Each type with its name, how it is written and how it is read."""


Value = TypeVar("Value")

_CARD_FIRST = '{"card":'
_READER = json.JSONDecoder()
_CARD_PIECES = (
    ("receipt", "at"),
    ("asked", "software", "trust", "loss", "contribution", "sources", "people"),
    ("steps", "bounds"),
    ("promised", "not_promised", "unprotected"),
)
ABOUT = 1
"""Which piece says what an answer is about."""
_FIRST = "Only the first {:,} of {:,} rows are kept and shown: all of them would be longer than an answer may be."
_ANSWER = ("level", "charge", "receipt", "derivation", "notes", "card")
_COLUMN = ("name", "values", "errors", "kind", "key")
_KIND = ("name", "unit", "size", "of")


def encoded(answer: Answer) -> str:
    """An answer as JSON; what was left of a budget at that time, and who read it when, is no part of it."""
    return "".join(pieces(answer))


def pieces(answer: Answer) -> tuple[str, ...]:
    """The same text, cut where one answer has much in common with another: the same question at another price, the
    same price at another time, another question about the same people."""
    card = {} if answer.card is None else answer.card.facts()
    head, *parts = [_members(card, names) for names in _CARD_PIECES]
    columns = {"columns": [_column(column) for column in answer.columns]}
    noisy = {
        **(columns if answer.content is None else answer.content.facts()),
        "level": str(answer.level),
        "charge": answer.charge,
        "receipt": answer.receipt,
    }
    return (
        _CARD_FIRST + ("{" + head if card else "null"),  # first, so that it can be read alone
        *(f",{part}" if card else "" for part in parts[:-1]),
        f",{parts[-1]}}}" if card else "",
        f",{_members(noisy, noisy)}",
        f",{_members({'derivation': answer.derivation}, ['derivation'])}",
        f",{_members({'notes': list(answer.notes)}, ['notes'])}}}",
    )


def _members(facts: Mapping[str, Any], names: Iterable[str]) -> str:
    """These names of an object with their values, as JSON without the braces."""
    chosen = {name: facts[name] for name in names if name in facts}
    return json.dumps(chosen, ensure_ascii=False, separators=(",", ":"), allow_nan=False)[1:-1]


def about_in(piece: str) -> Mapping[str, Any]:
    """What the piece `ABOUT` of an answer says: what was asked, of which tables, and at whose expense; nothing where
    there is no card."""
    facts: Mapping[str, Any] = json.loads(f"{{{piece[1:]}}}")
    return facts


def fitting(answer: Answer, most: int) -> Answer:
    """The answer with as many of its first rows as fit into so many bytes, and a note about the others: what was paid
    for is not lost because more keys were found than can be stored."""
    shown, rows = answer, len(answer)
    while (length := len(encoded(shown).encode(errors="surrogatepass"))) > most and rows:
        rows = min(rows - 1, rows * most // length)
        columns = tuple(column.first(rows) for column in answer.columns)
        shown = replace(answer, columns=columns, notes=(*answer.notes, _FIRST.format(rows, len(answer))))
    return shown


def decoded(text: str) -> Answer:
    """The answer that a text holds; `DamagedAnswer` where it holds none."""
    try:
        facts = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_once)
        return _answer_from({"card": None, **_is(dict, facts)})
    except InvalidParameter:
        raise
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, RecursionError):
        raise DamagedAnswer("a text that holds an answer") from None


def card_in(text: str) -> Card | None:
    """The card of the answer that a text holds, without a look at the rest."""
    try:
        if not text.startswith(_CARD_FIRST):
            return decoded(text).card
        facts, _ = _READER.raw_decode(text, len(_CARD_FIRST))
        return None if facts is None else Card.from_facts(facts)
    except ValueError as error:
        raise error if isinstance(error, InvalidParameter) else DamagedAnswer("a text that holds an answer") from None


def _answer_from(facts: Mapping[str, Any]) -> Answer:
    held = next((name for name in KINDS if name in facts), "columns")
    facts = _named((held, *_ANSWER), facts)
    content = KINDS[held].from_facts(facts) if held in KINDS else None
    listed = [] if content else _is(list, facts["columns"])
    columns = content.columns if content else tuple(_column_from(_named(_COLUMN, column)) for column in listed)
    if len({len(column.values) for column in columns}) > 1:
        raise DamagedAnswer("columns of the same length")
    level = fraction(facts["level"])
    if not 0 < level < 1:
        raise DamagedAnswer("a level between 0 and 1")
    return Answer(
        columns=columns,
        level=level,
        charge=_is(str, facts["charge"]),
        receipt=_is(str, facts["receipt"]),
        derivation=_is(str, facts["derivation"]),
        notes=tuple(_is(str, note) for note in _is(list, facts["notes"])),
        card=None if facts["card"] is None else Card.from_facts(facts["card"]),
        content=content,
    )


def _column(column: AnswerColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        "values": [written(value) for value in column.values],
        "errors": None if column.errors is None else [written(error) for error in column.errors],
        "kind": None if column.kind is None else _kind(column.kind),
        "key": column.is_key,
    }


def _column_from(facts: Mapping[str, Any]) -> AnswerColumn:
    values = tuple(map(read, _is(list, facts["values"])))
    errors = None if facts["errors"] is None else tuple(map(read, _is(list, facts["errors"])))
    if errors is not None and len(errors) != len(values):
        raise DamagedAnswer("a bar for each value")
    kind = None if facts["kind"] is None else _kind_from(facts["kind"])
    return AnswerColumn(_is(str, facts["name"]), values, errors, kind, _is(bool, facts["key"]))


def _kind(kind: Kind) -> dict[str, Any]:
    of = None if kind.of is None else _kind(kind.of)
    return {"name": kind.name, "unit": str(kind.unit), "size": str(kind.size), "of": of}


def _kind_from(given: Any) -> Kind:
    facts = _named(_KIND, given)
    if facts["name"] not in get_args(Name):
        raise DamagedAnswer("a known kind of column")
    of = None if facts["of"] is None else _kind_from(facts["of"])
    unit, size = fraction(facts["unit"]), fraction(facts["size"])
    if unit <= Fraction(0) or size < 0:
        raise DamagedAnswer("a kind with a unit above 0")
    return Kind(facts["name"], unit, size, of)


def _named(names: tuple[str, ...], facts: Any) -> Mapping[str, Any]:
    if not isinstance(facts, dict) or set(facts) != set(names):
        raise DamagedAnswer(f"an object with {', '.join(names)}")
    return facts


def _is(kind: type[Value], value: Any) -> Value:
    if type(value) is not kind:
        raise DamagedAnswer(f"made of the right types, here {kind.__name__}")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which no name stands twice: two readers could see two answers."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise DamagedAnswer("without a name that stands twice")
    return dict(pairs)


def _no_constant(word: str) -> float:
    raise DamagedAnswer(f"without {word}")
