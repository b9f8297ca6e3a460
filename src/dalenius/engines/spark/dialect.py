"""Spark's words: what it does differently, and what is written instead, stands beside each spelling.

All of it means the same in ANSI mode and without it: conversions that may fail are TRY_CASTs.

LIKE for known patterns, in time that is linear in the text.

Spark turns a LIKE into a regular expression that tries all ways, reads backslashes as escapes and refuses some of them.
Here each piece between two % is searched once, from where the one before it ended: what stands to the left of the
first place where a piece is found can only be of use to the pieces after it. An atomic group, (?>...), takes this
first place and never another.
"""

from __future__ import annotations

from itertools import groupby

from dalenius.engines.hashing import DIGITS
from dalenius.engines.spark import codes as words
from dalenius.engines.spark.codes import NARROW, WIDE, Coded, code, id_kind, id_text, text_literal
from dalenius.engines.sql.dialect import NARROW as NARROW_LIMIT
from dalenius.engines.sql.live import Kind, LiveDialect, SourceColumn
from dalenius.query.calendar import DATE_PATTERN, MOMENT_PATTERN
from dalenius.query.types import Domain


def matches(text: str, pattern: str) -> str:
    """Whether a text is LIKE a known pattern: % stands for any code points, _ for one; no escapes."""
    pieces = pattern.split("%")
    if "_" not in pattern and (simple := _simple(text, pieces)):
        return simple
    return f"{text} RLIKE {text_literal(_expression(pieces))}"


def _simple(text: str, pieces: list[str]) -> str | None:
    """Functions that need no regular expression, where they do."""
    literals = [text_literal(piece) for piece in pieces]
    if len(pieces) == 1:
        return f"{text} = {literals[0]}"
    if len(pieces) == 2 and not pieces[0]:
        return f"endswith({text}, {literals[1]})"
    if len(pieces) == 2 and not pieces[1]:
        return f"startswith({text}, {literals[0]})"
    return f"contains({text}, {literals[1]})" if len(pieces) == 3 and not (pieces[0] or pieces[2]) else None


def _expression(pieces: list[str]) -> str:
    first, last = _piece(pieces[0]), _piece(pieces[-1])
    if len(pieces) == 1:
        return rf"(?s)\A{first}\z"
    between = "".join(f"(?>.*?{_piece(piece)})" for piece in pieces[1:-1] if piece)
    return rf"(?s)\A{first}{between}.*{last}\z"


def _piece(piece: str) -> str:
    """A piece as a regular expression: a run of _ is one step, so that nothing is nested deeply."""
    runs = [(unknown, len(list(run))) for unknown, run in groupby(piece, lambda each: each == "_")]
    found, place = [], 0
    for unknown, size in runs:
        found.append(f".{{{size}}}" if unknown else "".join(map(_character, piece[place : place + size])))
        place += size
    return "".join(found)


def _character(character: str) -> str:
    return character if character.isascii() and character.isalnum() else rf"\x{{{ord(character):x}}}"


_HALF = DIGITS // 2
_PERIODS = {"month": "MONTH", "quarter": "QUARTER", "year": "YEAR"}
_DECIMAL = r"\A([+-]?)([0-9]*)(?:\.([0-9]+))?\z"


class SparkDialect(LiveDialect):
    """Tables that stay where they are, behind views that have their codes (see `views`)."""

    wide, text = WIDE, words.TEXT

    def quote(self, name: str) -> str:
        return words.quote(name)

    def text_literal(self, text: str) -> str:
        return words.text_literal(text)

    def bracketed(self, sql: str) -> str:
        """Spark's parser takes minutes for brackets inside brackets, which might turn out to be rows or queries; a
        function is read at once. Of one term `coalesce` is the term."""
        return f"coalesce({sql})"

    def integer(self, value: int) -> str:
        """Spark takes x > 2^100 for false where x is a NULL of 64 bits; it does not look into a cast."""
        return super().integer(value) if abs(value) < NARROW_LIMIT else words.wide(str(value))

    def fitted(self, sql: str, kind: str) -> str:
        """Spark computes constants beforehand, and fails where they do not fit."""
        return f"TRY_CAST({sql} AS {kind})"

    # ---- integers

    def quotient(self, x: str, y: str, kind: str) -> str:
        return words.quotient(x, y, kind)

    def remainder(self, x: str, y: str, kind: str) -> str:
        """The remainder of decimals has the type of the shorter one."""
        return f"({x} % {y})" if kind == NARROW else words.wide(f"({x} % {y})")

    def negated(self, x: str) -> str:
        """Spark rounds decimals to 34 digits when it turns their sign, and in `abs`."""
        return f"0 - ({x})"

    def absolute(self, x: str) -> str:
        return f"greatest({x}, 0 - {x})"

    def summed(self, column: str) -> str:
        """A sum of BIGINT would wrap, or fail in ANSI mode."""
        return f"sum({words.wide(column)})"

    # ---- texts

    def identity(self, text: str) -> str:
        """`conv` gives at most 64 bits: two halves."""
        digits = f"sha2({text}, 256)"
        high, low = (f"substr({digits}, {start}, {_HALF})" for start in (1, 1 + _HALF))
        numbers = [words.wide(f"TRY_CAST(conv({part}, 16, 10) AS {NARROW})") for part in (high, low)]
        return words.wide(f"({numbers[0]} * {16**_HALF} + {numbers[1]})")

    def matches_known(self, text: str, pattern: str) -> str:
        return matches(text, pattern)

    def starts_with(self, text: str, piece: str) -> str:
        return f"startswith({text}, {piece})"

    def ends_with(self, text: str, piece: str) -> str:
        return f"endswith({text}, {piece})"

    def contains(self, text: str, piece: str) -> str:
        return f"contains({text}, {piece})"

    # ---- days, moments, conversions

    def _date(self, day: str) -> str:
        return f"date_from_unix_date(TRY_CAST({day} AS INT))"

    def part_of_day(self, part: str, day: str) -> str:
        return f"CAST({part}({self._date(day)}) AS {NARROW})"

    def first_of(self, period: str, day: str) -> str:
        return f"CAST(unix_date(trunc({self._date(day)}, '{_PERIODS[period]}')) AS {NARROW})"

    def read_integer(self, text: str) -> str:
        """Spark would also read blanks around the digits, and fractions."""
        return f"TRY_CAST({_extracted(text, '[+-]?[0-9]+')} AS {NARROW})"

    def read_decimal(self, text: str, places: int, most: int) -> str:
        """The digits before the point and those after it that count, as one whole number."""
        if words.is_long(text):
            return words.named(text, "given", self.read_decimal("given", places, most))
        sign, whole, fraction = (f"regexp_extract({text}, {self.text_literal(_DECIMAL)}, {part})" for part in (1, 2, 3))
        digits = f"trim(LEADING '0' FROM concat({whole}, rpad({fraction}, {places}, '0')))"
        size = f"TRY_CAST(concat('0', substring({digits}, 1, 39)) AS {WIDE})"
        plain = f"{text} RLIKE {self.text_literal(_DECIMAL)} AND {text} RLIKE '[0-9]'"
        value = f"CASE WHEN {sign} = {self.text_literal('-')} THEN 0 - {size} ELSE {size} END"
        return f"CASE WHEN {plain} AND {size} <= {most} THEN {value} END"

    def read_day(self, text: str) -> str:
        """Spark would also read other forms and years."""
        return f"CAST(unix_date(TRY_CAST({_extracted(text, DATE_PATTERN)} AS DATE)) AS {NARROW})"

    def read_moment(self, text: str) -> str:
        return f"unix_micros(TRY_CAST({_extracted(text, MOMENT_PATTERN)} AS TIMESTAMP))"

    def written_day(self, day: str) -> str:
        return f"CAST({self._date(day)} AS STRING)"

    def written_moment(self, moment: str) -> str:
        digits = f"date_format(timestamp_micros({moment}), 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
        return f"replace({digits}, {self.text_literal('.000000')}, '')"

    # ---- tables that stay

    def code(self, domain: Domain, column: SourceColumn) -> str | None:
        return column.code if isinstance(column, Coded) else code(domain, column)

    def id_kind(self, column: SourceColumn) -> Kind | None:
        return id_kind(column)

    def integer_id(self, column: SourceColumn) -> str:
        return f"CAST({column.name} AS {NARROW})"

    def text_id(self, column: SourceColumn) -> str:
        return id_text(column)


def _extracted(text: str, pattern: str) -> str:
    """The text if all of it matches, else the empty one. $ would also stand before a line end."""
    whole = rf"\A(?:{pattern})\z"
    return f"regexp_extract({text}, {words.text_literal(whole)}, 0)"
