"""From a question as it was asked to what it means: `bind` gives names and types to a syntax tree, or refuses it.

It is a function of the question and the catalog alone: no data is read, so neither a plan nor a refusal says anything
about a row. What it accepts keeps three promises, which the privacy argument of `plan` rests on: every private
relation carries one unit, nothing is computed from the unit, and every statistic has a public range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dalenius.errors import QueryRefused, TooManyKeys
from dalenius.query.binding.inner import inner, output_name, starless
from dalenius.query.binding.limits import groups_limit, require_little_work, require_sum, rows_limit
from dalenius.query.binding.outputs import MOST_KEYS, OutputCollector, Shown
from dalenius.query.binding.scopes import InternalNames, Scope, Setting
from dalenius.query.binding.sources import rows
from dalenius.query.binding.terms import aggregate, aliases, positioned, require_truth, without_aliases
from dalenius.query.expressions import Call, Expression
from dalenius.query.plan.figures import combinations
from dalenius.query.plan.relations import Project, Relation
from dalenius.query.questions import KeyOf, Output, Post, Question, Top, ValueOf
from dalenius.query.rendering import group_text, item_text, query_text, text
from dalenius.query.syntax import Item, Name, Order, QueryTree, Select, Term, UnionAll
from dalenius.query.tables import ContributionBounds, Table
from dalenius.query.types import Number

MOST_CHOSEN = 100
"""The longest list that is chosen key by key; a longer one is made of noisy counts, which takes one round for all."""

_COUNTS = ("count", "present", "units")
_POWERS = {"sum": 1, "mean": 1, "variance": 2, "stddev": 2, "covariance": 2, "correlation": 2}


def bind(query: QueryTree, tables: Mapping[str, Table], *, most: ContributionBounds | None = None) -> Question:
    """The question that a query asks of these tables; `QueryRefused` where it has no private answer.

    `most` overrides what one unit may contribute. Nothing is read or spent.
    Textbook: S18.11.
    """
    named = {name.lower(): table for name, table in tables.items()}
    try:
        return _bound(query, Setting(named, InternalNames(), most, inner))
    except RecursionError:
        raise QueryRefused(
            "the question", rule="it is nested too deeply", instead="Write it with fewer levels."
        ) from None


def _bound(query: QueryTree, setting: Setting) -> Question:
    if isinstance(query, UnionAll):
        raise QueryRefused(
            query_text(query),
            rule="an answer is one SELECT with aggregates",
            instead="Write SELECT ... FROM (... UNION ALL ...), or ask one question for each part.",
        )
    setting = setting.including(query.common)
    scope = rows(query, setting)
    require_private(scope, clause=query_text(query))
    items = _items(query, scope)
    outputs = OutputCollector(scope)
    _bind_keys(query, items, outputs)
    columns = [(output_name(item), outputs.show(item.term)) for item in items]
    having = _having(query, items, outputs)
    order = [(_ordered(each, items, outputs), each.descending) for each in query.order_by]
    shown = _distinct_names([(name, each.post) for name, each in columns])
    output = Output(shown, having, tuple(order), _limit(query))
    return _question(query, outputs, output, setting.most)


def _items(query: Select, scope: Scope) -> list[Item]:
    """The output columns; rows themselves are refused."""
    stars = [item for item in query.items if isinstance(item.term, Name) and item.term.name == "*"]
    if stars:
        raise QueryRefused(
            f"SELECT {item_text(stars[0])}",
            rule="single rows are never shown",
            instead="Ask for aggregates, such as SELECT COUNT(*), or SELECT column, COUNT(*) ... GROUP BY column.",
        )
    return starless(query.items, scope)


# ---- keys


def _bind_keys(query: Select, items: Sequence[Item], outputs: OutputCollector) -> None:
    named = aliases(items)
    for term in query.group_by:
        outputs.key(without_aliases(positioned(term, items, "GROUP BY"), named, outputs.scope))
    if not query.distinct:
        return
    if query.group_by or any(aggregate(item.term) for item in items):
        raise QueryRefused(
            "SELECT DISTINCT " + ", ".join(item_text(item) for item in items),
            rule="the groups of an answer are distinct already",
            instead="Leave DISTINCT out; COUNT(DISTINCT x) counts different values.",
        )
    for item in items:
        outputs.key(item.term)


# ---- after the noise


def _having(query: Select, items: Sequence[Item], outputs: OutputCollector) -> Post | None:
    if query.having is None:
        return None
    term = without_aliases(query.having, aliases(items), outputs.scope)
    shown = _computable(term, outputs)
    assert shown.kind is not None
    require_truth(term, shown.kind)
    return shown.post


def _ordered(order: Order, items: Sequence[Item], outputs: OutputCollector) -> Post:
    """What ORDER BY names: an output column first, by alias or position, then a term."""
    term, named = positioned(order.term, items, "ORDER BY"), aliases(items)
    if isinstance(term, Name) and term.table is None and term.name.lower() in named:
        term = named[term.name.lower()]
    return _computable(without_aliases(term, named, outputs.scope), outputs).post


def _computable(term: Term, outputs: OutputCollector) -> Shown:
    shown = outputs.show(term)
    if shown.kind is None:
        raise QueryRefused(
            text(term), rule="a histogram is a list of counts", instead="Compare or order by COUNT(*) and GROUP BY."
        )
    return shown


def _limit(query: Select) -> int | None:
    if query.limit is not None and query.limit < 0:
        raise QueryRefused(f"LIMIT {query.limit}", rule="a limit is not negative", instead="Write LIMIT 10.")
    return query.limit


def _distinct_names(columns: Sequence[tuple[str, Post]]) -> tuple[tuple[str, Post], ...]:
    """Output columns under different names: a name that comes again gets a number."""
    taken: set[str] = set()
    found = []
    for name, post in columns:
        new = name
        number = 2
        while new.lower() in taken:
            new, number = f"{name}_{number}", number + 1
        taken.add(new.lower())
        found.append((new, post))
    return tuple(found)


# ---- the whole question


def _question(query: Select, outputs: OutputCollector, output: Output, most: ContributionBounds | None) -> Question:
    keys = tuple(f"k.{index}" for index in outputs.keys.values())
    columns: list[tuple[str, Expression]] = [(f"k.{index}", key) for key, index in outputs.keys.items()]
    columns += [(name, argument) for argument, name in outputs.arguments.items()]
    relation = Project(outputs.scope.relation, tuple(columns))
    public = combinations([key.domain for key in outputs.keys])
    require_little_work(relation, len(outputs.statistics), clause=query_text(query))
    _require_few(query, outputs, public)
    _require_statistics(query, outputs, public)
    limits = _limits(query, outputs, relation, most, public)
    _require_sums(outputs, relation, limits)
    _require_cells(outputs, relation, public)
    top = _top(query, outputs, output, public)
    return Question(relation, keys, tuple(outputs.statistics), limits, output, top)


def _limits(
    query: Select, outputs: OutputCollector, relation: Relation, most: ContributionBounds | None, public: int | None
) -> ContributionBounds:
    clause = query_text(query)
    count = rows_limit(relation, most, clause=clause)
    # Different values are chosen by unit among (keys, value), so few keys do not lower their number.
    few = None if any(each.kind == "distinct" for each in outputs.statistics) else public
    return ContributionBounds(rows=count, groups=groups_limit(relation, most, keys=few, clause=clause))


def _top(query: Select, outputs: OutputCollector, output: Output, public: int | None) -> Top | None:
    """ORDER BY one count DESC LIMIT k over groups, k up to `MOST_CHOSEN`, with no other statistic: the k largest."""
    if not (outputs.keys and output.order_by and output.limit and output.having is None):
        return None
    if output.limit > MOST_CHOSEN:
        return None
    (first, descending), *others = output.order_by
    counted = isinstance(first, ValueOf) and outputs.statistics[first.index].kind in _COUNTS
    if not (counted and descending and len(outputs.statistics) == 1):
        return None
    if any(not isinstance(post, KeyOf) for post, _ in others) or (public is not None and output.limit >= public):
        return None
    return Top(output.limit, 0, any(_reads_value(post) for _, post in output.columns))


def _reads_value(post: Post) -> bool:
    return isinstance(post, ValueOf) or any(_reads_value(each) for each in getattr(post, "arguments", ()))


# ---- what is refused


def require_private(scope: Scope, *, clause: str) -> None:
    """Refuse rows of public tables alone, and those of populations with different neighbours."""
    protections = [table.protection for table in scope.relation.tables if table.protection]
    if not protections:
        raise QueryRefused(
            clause,
            rule="it reads public tables alone, for which no budget is needed",
            instead="Ask the owner for the public table, or join it with a private one.",
        )
    if len({protection.neighbours for protection in protections}) > 1:
        listed = ", ".join(sorted({f"{each.population}: {each.neighbours}" for each in protections}))
        raise QueryRefused(
            clause,
            rule=f"its populations have different neighbours ({listed})",
            instead="Ask one question for each population.",
        )


def _require_few(query: Select, outputs: OutputCollector, public: int | None) -> None:
    if public is None or public <= MOST_KEYS:
        return
    divided = any(_divides(key) for key in outputs.keys)
    raise TooManyKeys(
        group_text(query.group_by or tuple(item.term for item in query.items)),
        rule=f"it has {public} public keys, and at most {MOST_KEYS} are allowed",
        instead=(
            "x / y has a billion steps between two whole numbers; write x // y for whole ones. " if divided else ""
        )
        + "Use coarser keys, as with BIN(x, width) or DATE_TRUNC('month', d), or fewer, as with CLAMP(x, lowest, "
        "highest) or WHERE x IN (...); keys declared as Text are found privately.",
    )


def _divides(key: Expression) -> bool:
    """Whether there is a division in a key whose result is not rounded to whole numbers."""
    if not isinstance(key, Call) or (isinstance(key.domain, Number) and key.domain.step.denominator == 1):
        return False
    return key.function == "divide" or any(map(_divides, key.arguments))


def _require_statistics(query: Select, outputs: OutputCollector, public: int | None) -> None:
    if outputs.statistics or (outputs.keys and public is None):
        return
    if outputs.keys:
        raise QueryRefused(
            query_text(query), rule="its keys are public, so it asks nothing", instead="Add COUNT(*) to the columns."
        )
    raise QueryRefused(
        query_text(query), rule="it has no aggregate, and single rows are never shown", instead="Ask for COUNT(*), say."
    )


def _require_sums(outputs: OutputCollector, relation: Relation, most: ContributionBounds) -> None:
    for statistic, clause in zip(outputs.statistics, outputs.clauses, strict=True):
        for name in statistic.columns if statistic.kind in _POWERS else ():
            domain = relation.schema[name]
            assert isinstance(domain, Number)
            require_sum(domain, most.rows, power=_POWERS[statistic.kind], clause=text(clause))


def _require_cells(outputs: OutputCollector, relation: Relation, public: int | None) -> None:
    for statistic, clause in zip(outputs.statistics, outputs.clauses, strict=True):
        listed = statistic.kind in ("histogram", "mode")
        values = relation.schema[statistic.columns[0]].size if listed else None
        if values is not None and values * (public or 1) > MOST_KEYS:
            raise TooManyKeys(
                text(clause),
                rule=f"it has {values * (public or 1)} public counts, and at most {MOST_KEYS} are allowed",
                instead="Use fewer keys or coarser values, as with BIN(x, width).",
            )
