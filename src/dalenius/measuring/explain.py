"""The derivation of a price, in plain text: whose rows, each step's stability, clamps, mechanism, theorem and loss."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from fractions import Fraction
from functools import singledispatch

from dalenius.measuring.choosing import PricedMeasurement
from dalenius.measuring.measurements import MeasurementPlan
from dalenius.privacy.numbers import format_number
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.expressions import Call, Column, Expression, Literal
from dalenius.query.plan.passes import Pass
from dalenius.query.plan.relations import (
    Bound,
    Clamp,
    Distinct,
    Filter,
    Group,
    Join,
    LimitPerUnit,
    Project,
    Relation,
    Scan,
    Union,
    UnitFilter,
)
from dalenius.query.tables import ForeignKey, Protection

_INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "modulo": "%", "equal": "=",
    "not_equal": "<>", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "and": "and", "or": "or",
}  # fmt: skip
_REFERENCE = re.compile(r"Reference:\s*(.+?)(?=\n\s*Textbook:|\n\s*\n|$)", re.DOTALL)

_LONG = 200
"""How many characters are repeated rather than looked up elsewhere."""

TRUST = "Trust: whoever runs this database holds the rows; what it releases protects them from everyone else."


def derivation(program: MeasurementPlan) -> Iterator[str]:
    """Why the sensitivity is what it is: the unit, and every step from the tables to what is summed.

    Textbook: S18.13.
    """
    yield TRUST
    yield f"Protected: {', '.join(_protected(program))}; neighbours differ by {program.neighbours}."
    yield from shared_keys(program.question.relation)
    steps = [list(_steps(step)) for step in program.passes]
    for number, lines in enumerate(_said_once(program.passes, steps), start=1):
        yield f"Pass {number}:"
        yield from (f"  {line}" for line in lines)


def sql(program: MeasurementPlan, spelled: Callable[[Pass], str]) -> Iterator[str]:
    """The engine's text of each pass; lines that stand in an earlier one are not repeated."""
    texts = (spelled(step).split("\n") for step in program.passes)
    for number, lines in enumerate(_said_once(program.passes, texts), start=1):
        yield f"SQL of pass {number}:"
        yield from lines


def _said_once(passes: Sequence[Pass], texts: Iterable[list[str]]) -> Iterator[list[str]]:
    """The lines of each pass. Of long runs that stand in the first pass of its kind too, only that is said: what is
    common to all passes would make a derivation grow with the square of the columns."""
    firsts: dict[type, tuple[int, list[str]]] = {}
    for number, (step, lines) in enumerate(zip(passes, texts, strict=True), start=1):
        known, first = firsts.setdefault(type(step), (number, lines))
        yield lines if known == number else list(_differing(lines, first, known))


def _differing(lines: list[str], first: list[str], known: int) -> Iterator[str]:
    done = 0
    for run in SequenceMatcher(None, first, lines, autojunk=False).get_matching_blocks():
        yield from lines[done : run.b]
        done = run.b + run.size
        placed = f"line {run.a + 1}" if run.size == 1 else f"lines {run.a + 1} to {run.a + run.size}"
        alike = lines[run.b : done]
        yield from [f"-- as {placed} of pass {known}"] if sum(map(len, alike)) > _LONG else alike


def measurements(program: MeasurementPlan, steps: Sequence[PricedMeasurement]) -> Iterator[str]:
    """Each measurement with its sensitivity, mechanism, theorem, loss and price."""
    for number, step in enumerate(steps, start=1):
        part = step.measurement
        yield f"Measurement {number}: {part.title} (pass {part.source % len(program.passes) + 1})"
        yield f"  changes by at most {norms(part.sensitivity)} when one unit does"
        yield f"  {mechanism_text(step.mechanism)}; {theorem(step.mechanism)}"
        charges = "; ".join(f"{name}: {amount}" for name, amount in step.charge.items())
        yield f"  loss: {step.loss}; charged to {charges}"


def _protected(program: MeasurementPlan) -> Iterator[str]:
    for table in program.question.relation.tables:
        if table.protection:
            yield f"{table.protection.population} ({_unit(table.protection)} in {table.name})"


def shared_keys(relation: Relation) -> Iterator[str]:
    """How many units one unit can touch, and why, where several may state the keys by which rows find their units."""
    for table in relation.tables:
        claims = table.protection.claims if table.protection else ()
        if claims:
            counts = ", then ".join(f"{each.most:,}" for each in claims)
            yield (
                f"Keys: rows of {table.name} find their unit by keys that several units may state. Of each unit the "
                f"first {counts} count, and of the units that state a key the first owns it, by a public hash."
            )
    if relation.steps > 1:
        yield (
            f"So one unit changes what it and at most {relation.steps // 2:,} others own, which is as if "
            f"{relation.steps:,} units came or went: sensitivities are {relation.steps:,} times those of one unit."
        )


def _unit(protection: Protection) -> str:
    """The unit; a path's table is not named, since not everybody may know it."""
    return protection.unit.describe() if isinstance(protection.unit, ForeignKey) else str(protection.unit)


def _steps(step: Pass) -> Iterator[str]:
    lines: list[str] = []
    _walk(step.child, lines)
    yield from (f"{place}. {line}" for place, line in enumerate(lines, start=1))


def _walk(relation: Relation, lines: list[str]) -> None:
    for child in relation.children:
        _walk(child, lines)
    lines.append(describe(relation))


@singledispatch
def describe(relation: Relation) -> str:
    """One line about a node: what it does, and its stability."""
    return f"{type(relation).__name__.lower()}: stability 1"


@describe.register
def _(node: Scan) -> str:
    protection = node.table.protection
    if protection is None:
        return f"scan {node.table.name}: public"
    unit, stability = _unit(protection), protection.steps
    return f"scan {node.table.name}: unit {unit}, stability {stability:,}; rows without a unit are dropped"


@describe.register
def _(node: Filter) -> str:
    return f"keep rows where {written(node.condition)}: stability 1"


@describe.register
def _(node: Project) -> str:
    computed = [f"{name} = {written(value)}" for name, value in node.columns]
    return f"compute {', '.join(computed) or 'nothing'}: stability 1"


@describe.register
def _(node: Join) -> str:
    pairs = " and ".join(f"{written(left)} = {written(right)}" for left, right in node.on)
    both = "the same unit" if node.of_units else ""
    bounds = f"with at most {node.most} rows of a unit" if node.of_units else _matches(node)
    return f"{node.kind} join on {' and '.join(filter(None, [both, pairs]))}, {bounds}: stability 1"


def _matches(node: Join) -> str:
    """How many public rows one row meets."""
    found = node.fan_out
    below = (node.right if node.right.private else node.left).fan_out
    return "one row becomes any number" if not found or not below else f"one row becomes at most {found // below}"


@describe.register
def _(node: UnitFilter) -> str:
    return f"keep rows whose unit is {'not ' if node.negated else ''}among those above: stability 1"


@describe.register
def _(node: Union) -> str:
    return f"put {len(node.parts)} relations together: stability 1 for each population"


@describe.register
def _(node: Distinct) -> str:
    return "each combination of values once per unit: stability 1"


@describe.register
def _(node: LimitPerUnit) -> str:
    return f"keep at most {node.most} row{'s' * (node.most > 1)} of a unit: stability 1"


@describe.register
def _(node: Group) -> str:
    keys = ", ".join(written(value) for _, value in node.keys)
    totals = ", ".join(f"{name} in {total.domain}" for name, total in node.totals)
    return f"summarise each unit{f' and {keys}' if keys else ''}: {totals}; stability 1"


@describe.register
def _(node: Clamp) -> str:
    return "clamp " + ", ".join(f"{name} to {lower}..{upper}" for name, lower, upper in node.bounds)


@describe.register
def _(node: Bound) -> str:
    rows = f"at most {node.rows} row{'s' * (node.rows > 1)} of a unit in a group"
    if node.groups is None:
        return f"bound: {rows}, any number of groups"
    return f"bound: {rows}, in at most {node.groups} group{'s' * (node.groups > 1)}"


@singledispatch
def written(expression: Expression) -> str:
    """An expression as people write it."""
    return str(expression)


@written.register
def _(node: Column) -> str:
    return node.name


@written.register
def _(node: Literal) -> str:
    value = node.domain.decode(node.value)
    return "NULL" if value is None else repr(value) if isinstance(value, str) else str(value)


@written.register
def _(node: Call) -> str:
    parts = [written(argument) for argument in node.arguments]
    if node.function in _INFIX and len(parts) == 2:
        return f"({parts[0]} {_INFIX[node.function]} {parts[1]})"
    return f"{node.function}({', '.join(parts)})"


def norms(sensitivity: Sensitivity) -> str:
    """The norms that are known."""
    known = {"l1": sensitivity.l1, "l2 squared": sensitivity.l2_squared, "l_inf": sensitivity.linf}
    return ", ".join(f"{norm} {format_number(value)}" for norm, value in known.items() if value is not None)


def mechanism_text(mechanism: object) -> str:
    """A mechanism with its parameters."""
    names = [name for name in getattr(type(mechanism), "__dataclass_fields__", {}) if name != "neighbours"]
    values = {name: getattr(mechanism, name) for name in names}
    listed = ", ".join(f"{name} {_figure(value)}" for name, value in values.items())
    return f"{type(mechanism).__name__} with {listed}"


def theorem(mechanism: object) -> str:
    """Where the guarantee is proved, from the docstring of a mechanism or of its kind."""
    text = inspect.getdoc(mechanism if isinstance(mechanism, type) else type(mechanism)) or ""
    found = _REFERENCE.search(text)
    return " ".join(found[1].split()).rstrip(".") if found else "see its docstring"


def _figure(value: object) -> str:
    if isinstance(value, Fraction):
        return format_number(value)
    if isinstance(value, tuple):
        return "(" + ", ".join(_figure(item) for item in value) + ")"
    return mechanism_text(value) if hasattr(value, "__dataclass_fields__") else str(value)
