"""PostgreSQL's words: what it does differently, and what is written instead, stands beside each spelling.

PostgreSQL has no TRY_CAST, so a text is cast only after a pattern has let through nothing that could fail, and integers
are brought below 2^63 by a remainder that changes none that fits. Arguments are written once, or as often as
`query.expressions.REPEATED` says.
"""

from __future__ import annotations

import re
from hashlib import sha256

from dalenius.engines.hashing import DIGITS
from dalenius.engines.postgres import codes
from dalenius.engines.sql.live import Kind, LiveDialect, SourceColumn
from dalenius.errors import QueryRefused
from dalenius.query.calendar import DAY, FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT
from dalenius.query.types import Domain

MOST_BYTES = 63
"""PostgreSQL cuts longer names off without a word."""
_MARK, _HASH = "~", 40
_STANDS_FOR_ANOTHER = re.compile(f"{_MARK}[0-9a-f]{{{_HASH}}}$")
_BARE_COLUMN = re.compile(r'"(?:[^"]|"")*"')
_HALF = DIGITS // 2
_YEAR = "(?!0000)[0-9]{4}"
_LEAP_YEAR = "(?!0000)(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DAY = (
    f"(?:{_YEAR}-(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|{_YEAR}-(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|"
    f"{_YEAR}-02-(?:0[1-9]|1[0-9]|2[0-8])|{_LEAP_YEAR}-02-29)"
)
_TIME = r"(?:[ T](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?)?"


class PostgresDialect(LiveDialect):
    """Tables of a PostgreSQL database, whose encoding is UTF8; only pg_catalog is looked into for functions."""

    wide, text = "NUMERIC", "TEXT"
    fence = once = "OFFSET 0"

    # ---- names, literals, types

    def quote(self, name: str) -> str:
        """A name that PostgreSQL would cut off or refuse is replaced by one of its hash, and so is a name that looks
        like such a one: different names stay different."""
        if not _is_kept(name):
            readable = re.sub("[^A-Za-z0-9_.]", "", name)[: MOST_BYTES - _HASH - 1]
            name = f"{readable}{_MARK}{sha256(name.encode(errors='surrogatepass')).hexdigest()[:_HASH]}"
        return super().quote(name)

    def text_literal(self, text: str) -> str:
        """There are no escapes but the doubled quote while standard_conforming_strings is on."""
        if "\0" in text:
            raise QueryRefused("a text with NUL", rule="no column holds such a text", instead="Leave NUL out.")
        return "(CAST('" + text.replace("'", "''") + '\' AS TEXT) COLLATE "C")'

    def fitted(self, sql: str, kind: str) -> str:
        """A remainder instead of an error, should PostgreSQL compute what no row needs; columns hold what they say."""
        total = kind == self.wide or _BARE_COLUMN.fullmatch(sql)
        return f"CAST({sql} AS {kind})" if total else f"CAST(({sql}) % {2**63} AS {kind})"

    # ---- integers

    def quotient(self, x: str, y: str, kind: str) -> str:
        return f"{x} / {y}" if kind == self.narrow else f"div({x}, {y})"

    # ---- texts

    def identity(self, text: str) -> str:
        """Two halves of 60 bits: PostgreSQL reads no larger bits as an integer."""
        digits = f"encode(sha256(convert_to({text}, 'UTF8')), 'hex')"
        high, low = (
            f"CAST(CAST('x' || substr({digits}, {start}, {_HALF}) AS BIT({4 * _HALF})) AS BIGINT)"
            for start in (1, _HALF + 1)
        )
        return f"(CAST({high} AS NUMERIC) * {16**_HALF} + {low})"

    def as_text(self, column: str) -> str:
        return f'({column} COLLATE "C")'

    def written(self, sql: str) -> str:
        """What was no text would be compared in the database's own order."""
        return f'(CAST({sql} AS TEXT) COLLATE "C")'

    def matches(self, text: str, pattern: str) -> str:
        """A backslash would be an escape. The time is linear in the text: a part that was found is not looked for
        again."""
        return f"{text} LIKE {pattern} ESCAPE ''"

    def substring(self, text: str, start: str, length: str) -> str:
        return f"substring({text}, CAST({start} AS INTEGER), CAST({length} AS INTEGER))"

    def starts_with(self, text: str, piece: str) -> str:
        return f"starts_with({text}, {piece})"

    def ends_with(self, text: str, piece: str) -> str:
        return f"starts_with(reverse({text}), reverse({piece}))"

    def contains(self, text: str, piece: str) -> str:
        return f"strpos({text}, {piece}) > 0"

    # ---- days, moments, conversions

    def _date(self, day: str) -> str:
        """A date; no integer is outside the calendar."""
        return f"(DATE '0001-01-01' + CAST(abs(({day} - ({FIRST_DAY})) % {LAST_DAY - FIRST_DAY + 1}) AS INTEGER))"

    def part_of_day(self, part: str, day: str) -> str:
        field = "doy" if part == "dayofyear" else part
        return f"CAST(EXTRACT({field} FROM {self._date(day)}) AS BIGINT)"

    def first_of(self, period: str, day: str) -> str:
        first = f"CAST(date_trunc('{period}', CAST({self._date(day)} AS TIMESTAMP)) AS DATE)"
        return f"CAST({first} - DATE '1970-01-01' AS BIGINT)"

    def read_integer(self, text: str) -> str:
        """The pattern lets through no more than 64 bits hold."""
        small = f"[+-]?0*(?:{_up_to(2**63 - 1)})|-0*{2**63}"
        return f"CAST(substring({text} FROM '^(?:{small})$') AS BIGINT)"

    def read_decimal(self, text: str, places: int, most: int) -> str:
        """What is cut off is dropped by the pattern, and so are texts with more digits than `most` has."""
        whole = f"[+-]?0*[0-9]{{0,{len(str(most // 10**places))}}}"
        plain = rf"^(?={whole}\.[0-9]+$|(?![+-]?$){whole}$)([+-]?[0-9]*(?:\.[0-9]{{1,{places}}})?)"
        units = f"trunc(CAST(substring({text} FROM '{plain}') AS NUMERIC) * {10**places})"
        return f"CASE WHEN {units} BETWEEN {-most} AND {most} THEN {units} END"

    def read_day(self, text: str) -> str:
        """The pattern lets through days that there are, and no others."""
        return f"CAST(CAST(substring({text} FROM '^{_DAY}$') AS DATE) - DATE '1970-01-01' AS BIGINT)"

    def read_moment(self, text: str) -> str:
        return codes.epoch_micros(f"CAST(substring({text} FROM '^{_DAY}{_TIME}$') AS TIMESTAMP)")

    def written_day(self, day: str) -> str:
        return f"(to_char(CAST({self._date(day)} AS TIMESTAMP), 'YYYY-MM-DD') COLLATE \"C\")"

    def written_moment(self, moment: str) -> str:
        """Days and the microseconds of the day apart: together they would pass through a float."""
        since = f"abs(({moment} - ({FIRST_MOMENT})) % {LAST_MOMENT - FIRST_MOMENT + 1})"
        day = f"CAST(DATE '0001-01-01' + CAST(v / {DAY} AS INTEGER) AS TIMESTAMP)"
        digits = f"to_char({day} + v % {DAY} * INTERVAL '1 microsecond', 'YYYY-MM-DD HH24:MI:SS.US')"
        # Without OFFSET the inner SELECT would be dissolved, and the argument computed twice.
        return (
            f"(SELECT regexp_replace({digits}, '\\.000000$', '') COLLATE \"C\" FROM (SELECT {since} AS v OFFSET 0) z)"
        )

    # ---- tables that stay

    def code(self, domain: Domain, column: SourceColumn) -> str | None:
        return codes.code(domain, column.name, column.type, self.narrow, self.wide)

    def id_kind(self, column: SourceColumn) -> Kind | None:
        return "integer" if column.type in codes.INTEGERS else "text" if column.type in codes.TEXTS else None

    def integer_id(self, column: SourceColumn) -> str:
        return f"CAST({column.name} AS BIGINT)"

    def text_id(self, column: SourceColumn) -> str:
        return codes.text_id(column.name)

    def is_normal(self, column: SourceColumn) -> str:
        return codes.is_normal(column.name)


def _is_kept(name: str) -> bool:
    """Whether PostgreSQL keeps a quoted name as it is, and no other name is replaced by it."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return False
    return 0 < size <= MOST_BYTES and "\0" not in name and not _STANDS_FOR_ANOTHER.search(name)


def _up_to(most: int) -> str:
    """A pattern for the decimals from 0 to `most`, without zeros before them or with as many digits as it has."""
    digits = str(most)
    found = [f"[0-9]{{1,{len(digits) - 1}}}"]
    for place, digit in enumerate(digits):
        if digit != "0":
            rest = len(digits) - place - 1
            found.append(f"{digits[:place]}[0-{int(digit) - 1}][0-9]{{{rest}}}")
    return "|".join([*found, digits])
