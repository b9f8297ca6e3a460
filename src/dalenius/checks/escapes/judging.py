"""Whether a text for the engine is one that plans are spelled as, judged by the engine's own parser.

An analyst's words may stand in it as the values of constants and nowhere else: every table, column and name is ours or
the catalog's, every function is on a list, and there is one statement, a SELECT that cuts off no rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import duckdb

from dalenius.query.tables import Table

_STEPS = frozenset(
    [
        "contributions",
        "chosen",
        "per_unit",
        "identified",
        "numbered",
        "mixed",
        "hashed",
        "placed",
        "kept",
        "present",
        "ranked",
        "different",
        "per_group",
        "side",
        "heavy",
    ]
)
_NAMES = frozenset(
    [
        "c",
        "code",
        "d",
        "f",
        "g",
        "hash",
        "i",
        "identity",
        "k",
        "key_number",
        "l",
        "missing",
        "n",
        "number",
        "o",
        "of_unit",
        "on",
        "one",
        "own",
        "p",
        "per_group",
        "place",
        "r",
        "rank",
        "row_number",
        "s",
        "t",
        "u",
        "unit",
        "unit_number",
        "upto",
        "value",
        "w",
        "x",
        "c._",
        "c.__",
        "p._",
        "s._",
        "d.",
        "k.",
        "x.",
    ]
)
"""What steps and columns are called in the texts of plans, without their numbers."""
_AGAIN, _DIGITS = re.compile(r"_\d+$"), re.compile(r"\d+")
_FORBIDDEN = {
    "TABLE_FUNCTION", "PIVOT", "EXPRESSION_LIST", "SHOW_REF", "DELIM_GET", "VALUE_PARAMETER", "LAMBDA",
    "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER",
}  # fmt: skip
"""What reads elsewhere, or cuts rows off by where they lie: a unit more pushes others out, however large the limit."""
FUNCTIONS = frozenset(
    [
        "%",
        "&",
        "*",
        "+",
        "-",
        "//",
        ">>",
        "||",
        "~~",
        "abs",
        "contains",
        "count",
        "count_star",
        "date_part",
        "date_trunc",
        "day",
        "dayofyear",
        "dense_rank",
        "ends_with",
        "epoch_us",
        "greatest",
        "hour",
        "isodow",
        "least",
        "length",
        "make_timestamp",
        "max",
        "min",
        "minute",
        "month",
        "nullif",
        "quarter",
        "regexp_extract",
        "regexp_full_match",
        "regexp_replace",
        "replace",
        "row_number",
        "second",
        "sha256",
        "starts_with",
        "strftime",
        "struct_pack",
        "substr",
        "substring",
        "suffix",
        "sum",
        "translate",
        "trim",
        "unnest",
        "year",
    ]
)
"""What plans are spelled with. None of them reads a file, draws, or depends on settings."""


class Judge:
    """Judges texts for DuckDB over a catalog. It parses them, and runs none."""

    def __init__(self, tables: Iterable[Table]) -> None:
        self._tables = list(tables)
        self._parser = duckdb.connect(":memory:")

    def close(self) -> None:
        self._parser.close()

    def faults(self, sql: str) -> list[str]:
        """What is in a text that no plan is spelled with; nothing, if it may run."""
        try:
            kinds = [statement.type for statement in duckdb.extract_statements(sql)]
        except duckdb.Error:
            return ["it does not parse"]
        if kinds != [duckdb.StatementType.SELECT]:
            return [f"it is {len(kinds)} statements of kinds {', '.join(kind.name for kind in kinds)}"]
        tree = self._tree(sql)
        return list(dict.fromkeys(self._strange(tree))) if tree is not None else ["it is not only a SELECT"]

    def _tree(self, sql: str) -> Any:
        (text,) = self._parser.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchone() or ("{}",)
        tree = json.loads(text)
        return None if tree.get("error", True) else tree["statements"]

    @cached_property
    def _places(self) -> set[tuple[str, str]]:
        """The tables that may be read: rows and texts of what is in the catalog."""
        rows = {("rows", f"{table.name}@{table.version}") for table in self._tables}
        texts = {
            ("texts", f"{table.name}@{table.version}@{place}")
            for table in self._tables
            for place in range(len(table.columns))
        }
        return rows | texts | {("", step) for step in _STEPS}

    @cached_property
    def _columns(self) -> set[str]:
        """The names of columns: as they are imported, and as a question calls them."""
        return {
            f"{place}.{name}"
            for table in self._tables
            for name in (*dict(table.columns), *table.keys)
            for place in ("column", "key", table.name)
        }

    def _strange(self, node: Any) -> Iterator[str]:
        if isinstance(node, list):
            for each in node:
                yield from self._strange(each)
        if not isinstance(node, dict):
            return
        kind = node.get("type")
        if kind in _FORBIDDEN:
            yield f"a {str(kind).lower().replace('_', ' ')}"
        if node.get("sample"):
            yield "a sample"
        if kind == "BASE_TABLE":
            place = (node.get("schema_name", ""), node.get("table_name", ""))
            if place not in self._places or node.get("catalog_name"):
                yield f"the table {'.'.join(place)[:60]!r}"
        if isinstance(node.get("function_name"), str) and node["function_name"] not in FUNCTIONS:
            yield f"the function {node['function_name'][:60]}"
        for name in (*node.get("column_names", ()), node.get("alias", "")):
            if isinstance(name, str) and name and not self._known(name):
                yield f"the name {name[:60]!r}"
        for key, each in node.items():
            if key != "sample" and (key != "value" or isinstance(each, dict)):
                yield from self._strange(each)

    def _known(self, name: str) -> bool:
        """Whether a name is a column of the catalog, or one that plans are spelled with."""
        table, dot, column = name.partition(".")
        again = f"{_AGAIN.sub('', table)}{dot}{column}"
        return _DIGITS.sub("", name) in _NAMES or name in self._columns or again in self._columns
