"""Conditions that both front ends write out: conjunctions, and the equalities that USING (columns) stands for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dalenius.query.syntax.syntax import Apply, Joined, Name, Source, TableName, Term


def conjuncts(condition: Term | None) -> Iterator[Term]:
    """The parts of a condition that are joined by AND."""
    if isinstance(condition, Apply) and condition.function == "and":
        for part in condition.arguments:
            yield from conjuncts(part)
    elif condition is not None:
        yield condition


def conjunction(parts: Sequence[Term]) -> Term:
    """All parts, joined by AND."""
    whole = parts[0]
    for part in parts[1:]:
        whole = Apply("and", (whole, part))
    return whole


def using(columns: Sequence[str], left: Source, right: Source) -> Term | None:
    """The equality of columns of the same name; None where it is not clear whose columns are meant."""
    there = called(right)
    pairs = [(_owner(left, column), column) for column in columns]
    if there is None or any(here is None for here, _ in pairs):
        return None
    return conjunction([Apply("equal", (Name(column, here), Name(column, there))) for here, column in pairs])


def called(source: Source) -> str | None:
    """The name by which a table or subquery is called."""
    if isinstance(source, Joined):
        return None
    return source.alias or (source.name if isinstance(source, TableName) else None)


def _owner(left: Source, column: str) -> str | None:
    """The left table that has the column: the only one, or that where an earlier join merged it."""
    if not isinstance(left, Joined):
        return called(left)
    merged = (_merged(part, column) for part in conjuncts(left.condition))
    found = next((table for table in merged if table is not None), None)
    return found or (_owner(left.left, column) if isinstance(left.left, Joined) else None)


def _merged(part: Term, column: str) -> str | None:
    """The first table of an equality `table.column = other.column`."""
    if not isinstance(part, Apply) or part.function != "equal":
        return None
    names = [each for each in part.arguments if isinstance(each, Name) and each.name.lower() == column.lower()]
    return names[0].table if len(names) == 2 else None
