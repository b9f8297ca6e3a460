"""What an SQL engine must say of itself: its names, types and functions. Plans are spelled over it, the same for all.

Guarantee, which a dialect owes and `conformance` checks: every spelling here is total. Whatever rows hold, and in
whatever order the engine evaluates terms, it raises nothing and means what `query.functions.evaluation` says. So no
spelling relies on a CASE, a WHERE or an AND to keep another one from failing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dalenius.query.functions.evaluation import BLANKS, CAPITALS, SMALLS, TRUTHS
from dalenius.query.plan.relations import UNIT, Join, Relation, Scan
from dalenius.query.types import Bool, Domain, Ranged

NARROW = 2**63
"""Integers below this in size fit the narrow type. Not -2^63 itself: engines raise when that is divided by -1."""


@dataclass(frozen=True)
class SQLRelation:
    """A relation as SQL: the unit (unless public), then the columns of the schema in order.

    `coded` names the table of texts of each column that holds codes instead of texts, where an engine keeps such.
    """

    sql: str
    coded: Mapping[str, str] = field(default_factory=dict)


class Dialect(ABC):
    """One SQL engine's words. What most engines share stands here; an engine says the rest."""

    narrow = "BIGINT"
    wide: str
    """Exact integers below 2^126 in size, and their sums."""
    text: str
    truth = "BOOLEAN"
    inlined = ""
    """What follows AS in a common table expression that is to be read as if it stood in place."""

    fence = ""
    """What ends a SELECT whose columns are to be computed once, where an engine would put them in place wherever they
    are read."""

    once = ""
    """What ends a SELECT whose columns are long terms, where an engine would put them in place wherever they are read,
    or try to when it plans."""

    changing = False
    """Whether public tables may have other rows now than when they were counted."""

    # ---- names, literals, types

    def quote(self, name: str) -> str:
        """A name of a column or table."""
        return '"' + name.replace('"', '""') + '"'

    @property
    def owner(self) -> str:
        """The quoted name of the unit column."""
        return self.quote(UNIT)

    @abstractmethod
    def text_literal(self, text: str) -> str:
        """A text that is nothing but itself, compared by its bytes."""

    def bracketed(self, sql: str) -> str:
        """A term that can stand beside any operator."""
        return f"({sql})"

    def integer(self, value: int) -> str:
        """A whole number that stands alone; brackets keep a minus sign from meeting another one, which would begin a
        comment."""
        return str(value) if value >= 0 else f"({value})"

    def width(self, *codes: int) -> str:
        """The narrowest integer type that holds all these codes."""
        return self.narrow if max(map(abs, codes)) < NARROW else self.wide

    def type_of(self, domain: Domain) -> str:
        """The type of codes of a domain."""
        if isinstance(domain, Bool):
            return self.truth
        return self.width(domain.lower, domain.upper) if isinstance(domain, Ranged) else self.text

    def cast(self, sql: str, kind: str) -> str:
        """A conversion that cannot fail: to a wider type, or to text."""
        return f"CAST({sql} AS {kind})"

    def fitted(self, sql: str, kind: str) -> str:
        """An integer in another type that holds it by construction."""
        return f"CAST({sql} AS {kind})"

    # ---- integers

    @abstractmethod
    def quotient(self, x: str, y: str, kind: str) -> str:
        """x / y of this type, towards zero; y is never 0, but may be NULL."""

    def remainder(self, x: str, y: str, kind: str) -> str:
        """x - y * quotient(x, y); y is never 0, but may be NULL."""
        return f"{x} % {y}"

    def negated(self, x: str) -> str:
        """Minus an integer."""
        return f"-({x})"

    def absolute(self, x: str) -> str:
        """An integer without its sign."""
        return f"abs({x})"

    def summed(self, column: str) -> str:
        """The exact sum of a column of integers, of the wide type; NULL where there are none."""
        return f"sum({column})"

    # ---- texts

    @abstractmethod
    def identity(self, text: str) -> str:
        """The 120-bit integer that stands for a text: see `hashing`."""

    def as_text(self, column: str) -> str:
        """A column of texts in the form in which functions and comparisons take it: compared by its bytes."""
        return column

    def matches(self, text: str, pattern: str) -> str:
        """Whether a text is LIKE a pattern, both given as SQL: % stands for any code points, _ for one; no escapes."""
        return f"{text} LIKE {pattern}"

    def matches_known(self, text: str, pattern: str) -> str:
        """The same for a known pattern."""
        if {"%", "_"} <= set(pattern):
            return self.matches_parts(text, pattern)
        return self.matches(text, self.text_literal(pattern))

    def matches_parts(self, text: str, pattern: str) -> str:
        """The same for a known pattern that has % as well as _, in time that is linear in the text."""
        return self.matches(text, self.text_literal(pattern))

    def lower(self, text: str) -> str:
        """Small letters for capitals of ASCII; all else stays."""
        return f"translate({text}, '{CAPITALS}', '{SMALLS}')"

    def upper(self, text: str) -> str:
        """Capitals for small letters of ASCII; all else stays."""
        return f"translate({text}, '{SMALLS}', '{CAPITALS}')"

    def trimmed(self, text: str) -> str:
        """Without blanks at both ends."""
        return f"trim(BOTH {self.text_literal(BLANKS)} FROM {text})"

    def length(self, text: str) -> str:
        """The number of code points."""
        return f"length({text})"

    def substring(self, text: str, start: str, length: str) -> str:
        """So many code points from `start`, which is at least 1."""
        return f"substring({text}, {start}, {length})"

    def replaced(self, text: str, old: str, new: str) -> str:
        """All occurrences from the left; an empty `old` occurs nowhere."""
        return f"replace({text}, {old}, {new})"

    @abstractmethod
    def starts_with(self, text: str, piece: str) -> str: ...

    @abstractmethod
    def ends_with(self, text: str, piece: str) -> str: ...

    @abstractmethod
    def contains(self, text: str, piece: str) -> str: ...

    # ---- days and moments: integers of the narrow type, in the years 1 to 9999

    @abstractmethod
    def part_of_day(self, part: str, day: str) -> str:
        """The year, quarter, month, day (of the month) or dayofyear of a day, as a narrow integer."""

    @abstractmethod
    def first_of(self, period: str, day: str) -> str:
        """The first day of a day's month, quarter or year."""

    # ---- conversions

    @abstractmethod
    def read_integer(self, text: str) -> str:
        """A narrow integer written as an optional sign and digits, or NULL."""

    @abstractmethod
    def read_decimal(self, text: str, places: int, most: int) -> str:
        """A plain decimal in units of 10^-places, cut off there, as a wide integer; NULL beyond `most` units."""

    def read_truth(self, text: str) -> str:
        """TRUE or FALSE for a word that stands for it, in small letters or capitals of ASCII, else NULL."""
        answers = [f"WHEN {self.text_literal(word)} THEN {str(value).upper()}" for word, value in TRUTHS.items()]
        return f"CASE {self.lower(text)} {' '.join(answers)} END"

    @abstractmethod
    def read_day(self, text: str) -> str:
        """A day written as `calendar.DATE_PATTERN` says, or NULL."""

    @abstractmethod
    def read_moment(self, text: str) -> str:
        """A moment written as `calendar.MOMENT_PATTERN` says, or NULL."""

    def written(self, sql: str) -> str:
        """An integer or truth value as text."""
        return self.cast(sql, self.text)

    @abstractmethod
    def written_day(self, day: str) -> str:
        """As 2024-01-31."""

    @abstractmethod
    def written_moment(self, moment: str) -> str:
        """As 2024-01-31 12:00:00, with six more digits where there are microseconds."""

    # ---- relations

    @abstractmethod
    def scan(self, relation: Scan) -> SQLRelation:
        """The rows of a table as codes."""

    def first_rows(self, child: SQLRelation, relation: Relation, most: int) -> str | None:
        """At most so many rows of each unit, in a way of the engine's own; None to spell it as for every engine."""
        return None

    def first_pairs(self, join: Join, left: SQLRelation, right: SQLRelation) -> tuple[str, str, str] | None:
        """The rows that a join of units keeps of its sides, in a way of the engine's own: what stands before SELECT,
        and both sides. None to spell it as for every engine."""
        return None

    def unit_size(self, relation: Relation) -> str:
        """The integer type that holds the ids of a relation's units."""
        return self.wide

    def text_number(self, code: str) -> str:
        """The number of a coded text in the public hash."""
        raise TypeError("this engine has no codes for texts")

    def text_rank(self, code: str) -> str:
        """The place of a coded text among those of its column, ordered by their bytes."""
        raise TypeError("this engine has no codes for texts")


def listed(terms: Sequence[str]) -> str:
    """Terms of a SELECT; a relation without columns still has rows."""
    return ", ".join(terms) or "1"
