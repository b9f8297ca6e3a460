"""DuckDB's words: what it does differently, and what is written instead, stands beside each spelling.

How a snapshot is laid out in the curator's DuckDB file.

A table's rows lie in rows."visits@1" (name and version): the column "unit", a column "column.age" for each declared
column, and "key.id" for each column that other tables find their units by. Texts are codes there, whose values lie in
texts."visits@1@3" (name, version, index of the column). A code is 2^32 times the text's number in the public hash,
plus its rank by bytes, so that grouping, hashing and ordering need no texts. It never leaves the engine.
"""

from __future__ import annotations

from dalenius.engines.hashing import DIGITS
from dalenius.engines.sql.dialect import Dialect, SQLRelation, listed
from dalenius.engines.sql.hashes import group_hash
from dalenius.engines.sql.keeping import (
    first_matches,
    first_paired,
    joined,
    on_terms,
    pairs,
    row_hashes,
    side_columns,
)
from dalenius.query.calendar import DATE_PATTERN, MOMENT_PATTERN
from dalenius.query.functions.evaluation import BLANKS
from dalenius.query.plan.relations import UNIT, Join, Relation, Scan
from dalenius.query.tables import Table
from dalenius.query.types import Text

ROWS, TEXTS = "rows", "texts"


def quote(name: str) -> str:
    """A name of a column or table."""
    return '"' + name.replace('"', '""') + '"'


OWNER = quote(UNIT)


def rows_table(table: Table) -> str:
    """The quoted name of a table's rows."""
    return f"{ROWS}.{quote(f'{table.name}@{table.version}')}"


def texts_table(table: Table, index: int) -> str:
    """The quoted name of the texts of a table's column."""
    return f"{TEXTS}.{quote(f'{table.name}@{table.version}@{index}')}"


def stored(column: str) -> str:
    """The quoted name under which a declared column is stored."""
    return quote(f"column.{column}")


def stored_key(column: str) -> str:
    """The quoted name under which a key column is stored."""
    return quote(f"key.{column}")


class DuckDBDialect(Dialect):
    """Snapshots of `names`, whose texts are codes."""

    wide, text = "HUGEINT", "VARCHAR"
    inlined = "NOT MATERIALIZED"
    once = "OFFSET 0"  # else long terms are put into each other, and planning takes long or never ends

    def text_literal(self, text: str) -> str:
        """DuckDB knows no escapes inside single quotes but the doubled quote."""
        return "'" + text.replace("'", "''") + "'"

    def fitted(self, sql: str, kind: str) -> str:
        """DuckDB may compute a constant beforehand that no row needs."""
        return f"TRY_CAST({sql} AS {kind})"

    def quotient(self, x: str, y: str, kind: str) -> str:
        return f"{x} // {y}"

    # ---- texts

    def identity(self, text: str) -> str:
        return f"CAST('0x' || substr(sha256({text}), 1, {DIGITS}) AS HUGEINT)"

    def as_text(self, column: str) -> str:
        """ENUMs would compare by position."""
        return f"CAST({column} AS VARCHAR)"

    def matches_parts(self, text: str, pattern: str) -> str:
        """By RE2, whose time is linear; DuckDB's own matcher would try all ways."""
        parts = {"%": ".*", "_": "."}
        expression = "".join(parts.get(character) or _escaped(character) for character in pattern)
        return f"regexp_full_match({text}, {self.text_literal('(?s)' + expression)})"

    def trimmed(self, text: str) -> str:
        return f"trim({text}, {self.text_literal(BLANKS)})"

    def starts_with(self, text: str, piece: str) -> str:
        return f"starts_with({text}, {piece})"

    def ends_with(self, text: str, piece: str) -> str:
        return f"suffix({text}, {piece})"

    def contains(self, text: str, piece: str) -> str:
        return f"contains({text}, {piece})"

    # ---- days, moments, conversions

    def _date(self, day: str) -> str:
        return f"(DATE '1970-01-01' + TRY_CAST({day} AS INTEGER))"

    def part_of_day(self, part: str, day: str) -> str:
        return f"{part}({self._date(day)})"

    def first_of(self, period: str, day: str) -> str:
        return f"CAST(date_trunc('{period}', {self._date(day)}) AS DATE) - DATE '1970-01-01'"

    def read_integer(self, text: str) -> str:
        """DuckDB would also read blanks, underscores, points and exponents, so only digits are let through."""
        return f"TRY_CAST(regexp_extract({text}, '^[+-]?[0-9]+$') AS BIGINT)"

    def read_decimal(self, text: str, places: int, most: int) -> str:
        """DECIMAL with that many places, without its point."""
        plain = f"^([+-]?(?:[0-9]+|[0-9]*\\.[0-9]{{1,{places}}}))[0-9]*$"
        exact = f"TRY_CAST(regexp_extract({text}, '{plain}', 1) AS DECIMAL(38, {places}))"
        units = f"TRY_CAST(replace(CAST({exact} AS VARCHAR), '.', '') AS HUGEINT)"
        return f"CASE WHEN {units} BETWEEN {-most} AND {most} THEN {units} END"

    def read_truth(self, text: str) -> str:
        """DuckDB would also read yes and no; and it would turn a text into small letters again for each word."""
        return f"TRY_CAST(regexp_extract({text}, '^([01tTfF]|[tT][rR][uU][eE]|[fF][aA][lL][sS][eE])$') AS BOOLEAN)"

    def read_day(self, text: str) -> str:
        """DuckDB would also read other forms and the year 0."""
        return f"(TRY_CAST(regexp_extract({text}, '^{DATE_PATTERN}$') AS DATE) - DATE '1970-01-01')"

    def read_moment(self, text: str) -> str:
        return f"epoch_us(TRY_CAST(regexp_extract({text}, '^{MOMENT_PATTERN}$') AS TIMESTAMP))"

    def written_day(self, day: str) -> str:
        return f"CAST({self._date(day)} AS VARCHAR)"

    def written_moment(self, moment: str) -> str:
        digits = f"strftime(make_timestamp({moment}), '%Y-%m-%d %H:%M:%S.%f')"
        return f"regexp_replace({digits}, '\\.000000$', '')"

    # ---- relations

    def scan(self, relation: Scan) -> SQLRelation:
        table = relation.table
        columns = [f"{stored(name)} AS {self.quote(f'{relation.label}.{name}')}" for name, _ in table.columns]
        coded = {
            f"{relation.label}.{name}": texts_table(table, index)
            for index, (name, domain) in enumerate(table.columns)
            if isinstance(domain, Text)
        }
        # A snapshot has no NULL units; should one ever have, they belong to nobody and must not count.
        unit, condition = ([self.owner], f" WHERE {self.owner} IS NOT NULL") if relation.private else ([], "")
        return SQLRelation(f"SELECT {listed([*unit, *columns])} FROM {rows_table(table)}{condition}", coded)

    def first_rows(self, child: SQLRelation, relation: Relation, most: int) -> str:
        """Few units have more rows than that, if any; only theirs are hashed."""
        # The side is computed three times instead of being stored: what one unit's joins make may not fill the memory.
        names = [self.quote(name) for name in relation.schema]
        columns = listed([self.owner, *names])
        heavy = f"SELECT {self.owner} FROM side GROUP BY {self.owner} HAVING count(*) > {most}"
        light = f"SELECT {columns} FROM side ANTI JOIN heavy USING ({self.owner})"
        rest = f"SELECT {columns} FROM side SEMI JOIN heavy USING ({self.owner})"
        hashed = row_hashes(self, SQLRelation(rest, child.coded), relation, relation)
        # A heap of the smallest rows, not a window: it holds no more rows than it keeps.
        fields = [f"hash := {group_hash('own', 'row_number')}"]
        for place, name in enumerate(relation.schema):
            rank = [f"rank{place} := {self.text_rank(self.quote(name))}"] if name in child.coded else []
            fields += [f"missing{place} := {names[place]} IS NULL", *rank, f"value{place} := {names[place]}"]
        smallest = f"SELECT {self.owner}, unnest(min(struct_pack({listed(fields)}), {most})) AS one"
        values = [f"one.value{place} AS {name}" for place, name in enumerate(names)]
        # Once, or all that is hashed becomes one term, in which DuckDB looks for common parts longer than queries run.
        grouped = f"{smallest} FROM ({hashed} {self.once}) GROUP BY {self.owner}"
        first = f"SELECT {listed([self.owner, *values])} FROM ({grouped})"
        return f"WITH side AS NOT MATERIALIZED ({child.sql}), heavy AS MATERIALIZED ({heavy}) {light} UNION ALL {first}"

    def first_pairs(self, join: Join, left: SQLRelation, right: SQLRelation) -> tuple[str, str, str]:
        """Likewise: only units with too many pairs are hashed, and only rows that match too many."""
        keys = listed([self.owner, *on_terms(join)])
        counted = f"SELECT {keys}, count(*) AS n FROM b GROUP BY {keys}"
        paired, count = f"a {joined(join)} matches USING ({keys})", pairs(join, "n")
        heavy = f"SELECT {self.owner} FROM {paired} GROUP BY {self.owner} HAVING sum({count}) > {join.most}"
        crowded = f"SELECT {keys} FROM matches WHERE n > {join.most}"
        before = f"WITH a AS NOT MATERIALIZED ({left.sql}), b AS NOT MATERIALIZED ({right.sql}), "
        before += f"matches AS MATERIALIZED ({counted}), heavy AS MATERIALIZED ({heavy}) "
        rest = f"SELECT {side_columns(self, join, join.left)}, {count} AS n FROM {paired}"
        first = first_paired(self, join, SQLRelation(f"{rest} SEMI JOIN heavy USING ({self.owner})", left.coded))
        kept = f"SELECT * FROM a ANTI JOIN heavy USING ({self.owner}) UNION ALL {first}"
        if not join.cuts_matches:
            return before, kept, "SELECT * FROM b"
        many = SQLRelation(f"SELECT * FROM b SEMI JOIN ({crowded}) c USING ({keys})", right.coded)
        few = f"SELECT * FROM b ANTI JOIN ({crowded}) c USING ({keys})"
        return before, kept, f"{few} UNION ALL {first_matches(self, join, many)}"

    def text_number(self, code: str) -> str:
        return f"({code} >> 32)"

    def text_rank(self, code: str) -> str:
        return f"({code} & 4294967295)"


def _escaped(character: str) -> str:
    return character if character.isalnum() or not character.isascii() else f"\\x{ord(character):02x}"


DUCKDB = DuckDBDialect()
