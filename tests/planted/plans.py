"""Bugs in how a question becomes exact numbers: bounds, clamps, joins, prices and the keys that are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any
from unittest.mock import patch

from dalenius.accounting.allowance import Allowance, JointAllowance
from dalenius.checks.commands.planted import Planted
from dalenius.engines.duckdb import snapshots
from dalenius.engines.duckdb.dialect import DUCKDB, OWNER, DuckDBDialect
from dalenius.engines.sql import passes, relations
from dalenius.engines.sql.dialect import Dialect, SQLRelation
from dalenius.engines.sql.hashes import owned_keys
from dalenius.measuring import measurements, pricing, releasing
from dalenius.measuring.pricing import Priced
from dalenius.mechanisms.noise import gaussian, laplace
from dalenius.privacy.exact import unseal
from dalenius.privacy.neighbours import AddRemove, Neighbours
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query import blocks
from dalenius.query.binding import sources
from dalenius.query.keys import KeySpace, ListedKeys, key_tuples
from dalenius.query.plan.passes import DistinctValues, Values
from dalenius.query.plan.relations import Bound, Clamp, Distinct, Group, Join, UnitFilter
from dalenius.query.questions import Question
from dalenius.query.types import Code
from dalenius.randomness.entropy import Entropy

bounded_change = measurements.bounded_change


@contextmanager
def spelling(dispatcher: Any, node: type, wrong: Callable[[Any, Any], Any]) -> Iterator[None]:
    """Another spelling of a node, for a while; it is given the right one too."""
    right = dispatcher.dispatch(node)
    dispatcher.register(node, lambda relation, d: wrong(relation, partial(right, d=d)))
    try:
        yield
    finally:
        dispatcher.register(node, right)


def measured_with(name: str, wrong: Any) -> Any:
    return lambda: patch.object(measurements, name, wrong)


def clamp_ignored(relation: Clamp, right: Any) -> SQLRelation:
    return relations.rows(relation.child, DUCKDB)


def by_position(d: Dialect, steps: passes.CommonTables, bound: Bound, keys: Any, *_: Any, **__: Any) -> None:
    order = ", ".join([f"{OWNER} DESC", *(part.column for part in keys)])
    steps.add("kept", "*", f"QUALIFY row_number() OVER (ORDER BY {order}) <= 10")


keep = passes._keep


def by_the_first_key(d: Dialect, steps: Any, bound: Bound, keys: Any, columns: Any, *, rank: str) -> None:
    """The groups of a unit are bounded by a key that is made finer afterwards."""
    keep(d, steps, bound, keys[:1], columns, rank="dense_rank()")


def small_groups_left_out(*given: Any, having: str = "count(*) > 2", **named: Any) -> str:
    return grouped(*given, having=having, **named)


grouped = passes._grouped


def across_units(relation: Distinct, right: Any) -> SQLRelation:
    found = right(relation)
    names = ", ".join(DUCKDB.quote(name) for name in relation.schema)
    return SQLRelation(
        f"SELECT DISTINCT ON ({names}) {OWNER}, {names} FROM ({found.sql}) ORDER BY {OWNER} DESC", found.coded
    )


def groups_across_units(relation: Group, right: Any) -> SQLRelation:
    found = right(relation)
    keys = ", ".join(DUCKDB.quote(name) for name, _ in relation.keys)
    totals = ", ".join(f"max({DUCKDB.quote(name)}) AS {DUCKDB.quote(name)}" for name, _ in relation.totals)
    select = ", ".join(part for part in (f"max({OWNER}) AS {OWNER}", keys, totals) if part)
    grouping = f"GROUP BY {keys}" if keys else "HAVING count(*) > 0"
    return SQLRelation(f"SELECT {select} FROM ({found.sql}) {grouping}", found.coded)


def loose_join(relation: Join, right: Any) -> SQLRelation:
    found = right(relation)
    return SQLRelation(found.sql.replace(f"l.{OWNER} = r.{OWNER}", "true"), found.coded)


@contextmanager
def joins_cut_by_position() -> Iterator[None]:
    def first(d: Dialect, join: Join, left: SQLRelation, right: SQLRelation) -> tuple[str, str, str]:
        return "", f"SELECT * FROM ({left.sql}) QUALIFY row_number() OVER (ORDER BY {OWNER} DESC) <= 20", right.sql

    with patch.object(sources, "Join", partial(Join, most=3)), patch.object(DuckDBDialect, "first_pairs", first):
        yield


def all_pairs(d: Dialect, join: Join, left: SQLRelation, right: SQLRelation) -> tuple[str, str, str]:
    return "", left.sql, right.sql


def by_other_units(relation: UnitFilter, right: Any) -> SQLRelation:
    child, within = relations.rows(relation.child, DUCKDB), relations.rows(relation.within, DUCKDB)
    compared = f"{OWNER} {'<' if relation.negated else '>='} (SELECT avg({OWNER}::DOUBLE) FROM ({within.sql}))"
    return SQLRelation(f"SELECT * FROM ({child.sql}) WHERE {compared}", child.coded)


def without_rows(step: Any, right: Any) -> Any:
    return right(replace(step, child=replace(step.child, rows=10**9)))


def without_groups(step: Any, right: Any) -> Any:
    return right(replace(step, child=replace(step.child, groups=None)))


def without_spread(neighbours: Neighbours, *, groups: int, lower: int, upper: int) -> Sensitivity:
    """A unit that is replaced moves a group as far as one that comes, and two of them at once."""
    right = bounded_change(neighbours, groups=groups, lower=lower, upper=upper)
    most = max(-lower, upper, 1)
    return right if isinstance(neighbours, AddRemove) else replace(right, l2_squared=2 * groups * most**2, linf=most)


def one_value_each(self: measurements._Lowering, name: str) -> int:
    """A unit is taken to bring one value, though it may bring as many as it may have groups."""
    place = distinct(self, name)
    change = bounded_change(self._neighbours, groups=1, lower=0, upper=1)
    self.measurements[place] = replace(self.measurements[place], sensitivity=change)
    return place


def all_who_state_it(d: Dialect, stated: str, **_: Any) -> str:
    """A row belongs to everybody who states its key."""
    return stated


def nobody_where_several(d: Dialect, stated: str, **_: Any) -> str:
    """A key that several people state belongs to none of them."""
    return f"SELECT * FROM ({stated}) WHERE claim IN (SELECT claim FROM ({stated}) GROUP BY claim HAVING count(*) = 1)"


def all_claims(d: Dialect, stated: str, *, most: int, **sizes: str) -> str:
    """All keys that a unit states count."""
    return owned_keys(d, stated, **sizes, most=10**9)


right_block = blocks.block_of
distinct = measurements._Lowering._distinct


@contextmanager
def not_in_taken_for_in() -> Iterator[None]:
    """Units that are in no row of a subquery are charged as if they were in one."""
    right = blocks.held.dispatch(UnitFilter)
    blocks.held.register(UnitFilter, lambda node, partition: right(replace(node, negated=False), partition))
    try:
        yield
    finally:
        blocks.held.register(UnitFilter, right)


def the_first_block(question: Question, partition: blocks.PartitionedUnits) -> Code:
    """A question about one block is charged to the first one there is."""
    return None if right_block(question, partition) is None else min(partition.values)  # type: ignore[type-var]


# ---- prices, keys and noise, which replay sees


def charged_once(self: Priced) -> Any:
    return self.steps[0].charge


def winners_for_free(self: Priced) -> Any:
    first = self.program.selection
    return right_charge(self) if first is None else self.steps[first].charge


@contextmanager
def charging(wrong: Callable[[Priced], Any]) -> Iterator[None]:
    """Another charge, and nothing that stops a measurement that was not paid for."""
    with ExitStack() as gone:
        for kind, method in product((Allowance, JointAllowance), ("draw", "require")):
            gone.enter_context(patch.object(kind, method, lambda self, loss: None))
        gone.enter_context(patch.object(Priced, "charge", property(wrong)))
        yield


right_charge = Priced.charge.fget  # type: ignore[attr-defined]
right_release = releasing.release


def keys_of_the_data(program: Any, steps: Any, results: Any, allowance: Any, entropy: Entropy) -> Any:
    cells = unseal(results[-1])
    found = ListedKeys(tuple(key_tuples(cells.keys, len(cells.totals[0]))))

    def listed(domains: Any) -> Any:
        return found if len(domains) == len(cells.keys) and domains else KeySpace(domains)

    with patch.object(releasing, "KeySpace", listed):
        return right_release(program, steps, results, allowance, entropy)


class Again(Entropy):
    """Gives every measurement the same random bits."""

    def read(self, count: int) -> bytes:
        return bytes((7 * place + 11) % 251 for place in range(count))


def one_sample(program: Any, steps: Any, results: Any, allowance: Any, entropy: Entropy) -> Any:
    return right_release(program, steps, results, allowance, Again())


@contextmanager
def noise_from_a_cache() -> Iterator[None]:
    """Noise of a scale is drawn once, and kept for the next who needs as much of it."""
    pure = patch.object(laplace, "discrete_laplace", cached(laplace.discrete_laplace))
    with pure, patch.object(gaussian, "discrete_gaussian", cached(gaussian.discrete_gaussian)):
        yield


def cached(right: Any) -> Any:
    kept: dict[Any, Any] = {}

    def noise(*given: Any, **named: Any) -> Any:
        if given not in kept:
            kept[given] = right(*given, **named)
        return kept[given]

    return noise


def exact_as_well(program: Any, steps: Any, results: Any, allowance: Any, entropy: Entropy) -> Any:
    """The answer is rounded by what the exact numbers are."""
    released = right_release(program, steps, results, allowance, entropy)
    largest = max((int(total) for result in results for part in unseal(result).totals for total in part), default=0)
    return replace(released, keys=[*released.keys, ("largest", largest)])


BUGS = (
    Planted("clamp before the expression", ("C1",), "bounding", measured_with("Clamp", lambda child, bounds: child),
            part="narrowed", where=(0, 1)),
    Planted("clamp copy unused", ("C1", "B1"), "bounding", lambda: spelling(relations.rows, Clamp, clamp_ignored),
            part="narrowed", where=(0, 1)),
    Planted("bound per row, not per unit", ("C3",), "bounding",
            measured_with("Bound", lambda child, keys, rows, groups: Bound(child, keys, 10**9, groups))),
    Planted("no bound on groups", ("C3",), "bounding",
            measured_with("Bound", lambda child, keys, rows, groups: Bound(child, keys, rows, None))),
    Planted("bound before the projection", ("C3",), "bounding",
            lambda: patch.object(passes, "_keep", by_the_first_key), where=(0, 1, 2, 3)),
    Planted("replace-one priced as add-remove", ("C5",), "bounding",
            measured_with("bounded_change", lambda neighbours, **facts: bounded_change(AddRemove(), **facts).under(
                neighbours)), where=(4, 0)),
    Planted("replaced units priced without their spread", ("A4", "C5"), "bounding",
            measured_with("bounded_change", without_spread), where=(6,), count=8),
    Planted("sensitivity of one group for several", ("A4", "C3"), "bounding",
            measured_with("bounded_change", lambda neighbours, groups, **facts: bounded_change(
                neighbours, groups=1, **facts))),
    Planted("lower bound taken for zero", ("A4", "C7"), "bounding",
            measured_with("bounded_change", lambda neighbours, lower, **facts: bounded_change(
                neighbours, lower=0, **facts))),
    Planted("counts not cut", ("C3",), "bounding", lambda: patch.object(passes, "at_most", lambda count, most: count)),
    Planted("sums not scaled", ("C3",), "bounding",
            lambda: patch.object(passes, "scaled", lambda d, total, count, most: total)),
    Planted("values not thinned out", ("C3", "F3"), "bounding",
            lambda: spelling(passes.compile_sql, Values, without_rows), part="Values"),
    Planted("different values without a bound", ("C3",), "bounding",
            lambda: spelling(passes.compile_sql, DistinctValues, without_groups), part="DistinctValues"),
    Planted("one value of each unit in COUNT DISTINCT", ("A4", "C3"), "bounding",
            lambda: patch.object(measurements._Lowering, "_distinct", one_value_each), part="statistics"),
    Planted("order-dependent truncation", ("C6",), "bounding",
            lambda: patch.object(passes, "_keep", by_position), where=(1, 2, 3)),
    Planted("rows of joins cut by position", ("C4", "C6"), "bounding", joins_cut_by_position, part="private join"),
    Planted("join without equal units", ("C4",), "bounding",
            lambda: spelling(relations.rows, Join, loose_join), part="private join"),
    Planted("pairs of a join not bounded", ("C4",), "bounding",
            lambda: patch.object(DuckDBDialect, "first_pairs", all_pairs), part="joins"),
    Planted("distinct across units", ("C3", "D2"), "bounding",
            lambda: spelling(relations.rows, Distinct, across_units), part="Distinct", where=(0, 1, 2, 3, 4, 5)),
    Planted("inner groups across units", ("C3", "D2"), "bounding",
            lambda: spelling(relations.rows, Group, groups_across_units), part="Group", where=(0, 1, 2, 3, 4, 5)),
    Planted("condition on other units", ("C3",), "bounding",
            lambda: spelling(relations.rows, UnitFilter, by_other_units), part="UnitFilter"),
    Planted("small groups left out before the noise", ("D1", "D2"), "bounding",
            lambda: patch.object(passes, "_grouped", small_groups_left_out), where=(0, 1, 2)),
    Planted("keys hashed by their place", ("B4", "C6"), "bounding",
            lambda: patch.object(snapshots, "mixed", lambda folded: "(rank * 7919 + 17) % 104729"), anew=True,
            where=(1, 2)),
    Planted("charged to another block", ("G4",), "bounding",
            lambda: patch.object(blocks, "block_of", the_first_block), part="blocks", where=(0, 2)),
    Planted("units outside a block taken for those inside", ("G4",), "bounding", not_in_taken_for_in,
            part="blocks", where=(0, 2)),
    Planted("rows of everybody who states their key", ("C4",), "bounding",
            lambda: patch.object(snapshots, "owned_keys", all_who_state_it), part="shared keys", anew=True),
    Planted("keys of nobody where several state them", ("C4",), "bounding",
            lambda: patch.object(snapshots, "owned_keys", nobody_where_several), part="shared keys", anew=True),
    Planted("all keys of a unit counted", ("C4",), "bounding",
            lambda: patch.object(snapshots, "owned_keys", all_claims), part="shared keys", anew=True),
    Planted("others whose keys a unit states left out of the sensitivity", ("A4", "C4"), "bounding",
            measured_with("over_steps", lambda part, relation, neighbours: part), part="shared keys"),
    Planted("AVG charged once", ("C2", "G1"), "replay",
            lambda: charging(charged_once), count=40),
    Planted("winner's value for free", ("F2", "G1"), "replay",
            lambda: charging(winners_for_free), count=80),
    Planted("key list from the data", ("C7", "D1"), "replay",
            lambda: patch.object(pricing, "release", keys_of_the_data), count=60),
    Planted("one sample counted twice", ("G2", "I1"), "replay",
            lambda: patch.object(pricing, "release", one_sample), count=40),
    Planted("noise from a cache", ("G2", "I1"), "replay", noise_from_a_cache, count=40),
    Planted("an exact number beside the noisy ones", ("C2", "D6"), "replay",
            lambda: patch.object(pricing, "release", exact_as_well), count=40),
)  # fmt: skip
