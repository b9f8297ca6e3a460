"""The view through which a table is read: its codes, and its ids as they are, under names of our own.

So the names in the source, however odd, stand in no question's SQL but this one, and a table whose columns are called
like ours is read like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from dalenius.engines.spark.codes import Coded, canonical_id, code, is_text
from dalenius.engines.sql.live import SourceColumn
from dalenius.query.tables import Table


def coded_view(table: Table, source: str, columns: Mapping[str, SourceColumn]) -> tuple[str, str, dict[str, Coded]]:
    """The name of the view of a table, the SELECT that makes it, and its columns by their declared names."""
    domains, terms, found = dict(table.columns), [], {}
    for place, (name, column) in enumerate(columns.items()):
        raw, coded = f"c{place}", f"c{place}"
        terms.append(f"{canonical_id(column) if is_text(column) else column.name} AS {raw}")
        if name in domains:
            coded = f"code{place}"
            terms.append(f"{code(domains[name], column)} AS {coded}")
        found[name] = Coded(f"s.{raw}", column.type, f"s.{coded}")
    view = f"dalenius_{sha256(table.name.encode()).hexdigest()[:16]}"
    return view, f"SELECT {', '.join(terms) or '1 AS one'} FROM {source} s", found
