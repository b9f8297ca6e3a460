"""Families: a table of parents with a table of their children, such as patients and visits, protected by parent.

Two models are fitted for one price: the parents with how many children each has, and the children together with columns
of their parents. New parents are drawn from the first, and for each its children from the second, given the parent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dalenius.curator.asking.asking import Cost
from dalenius.curator.asking.prices import Offer
from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import Number, whole
from dalenius.query.frames.aggregates import count
from dalenius.query.frames.formulas import col
from dalenius.query.frames.frames import Frame
from dalenius.query.plan.relations import JOIN_ROWS
from dalenius.query.questions import Question
from dalenius.query.tables import EachRow, Most, UnitColumn
from dalenius.query.types import normal
from dalenius.randomness.entropy import Entropy, system_entropy
from dalenius.release.carrier import Bins, Carrier
from dalenius.release.grid import Columns
from dalenius.release.inference.sampling import Codes, rows, rows_given
from dalenius.release.measured import as_answer
from dalenius.release.synthetic import saved
from dalenius.release.synthetic.charging import charged
from dalenius.release.synthetic.evaluating import Evaluation, bins_of, compared, require_same_axes, shown_as
from dalenius.release.synthetic.fits import Fit
from dalenius.release.synthetic.journal import Outcomes, keeping
from dalenius.release.synthetic.pairs import CHILD, PARENT, Pair, lines_of, stacked
from dalenius.release.synthetic.synthesizer import Synthesizer
from dalenius.release.synthetic.tables import SyntheticTable

KIND = "dalenius synthetic family"
CHILDREN = "children"
"""The column that says how many children a parent has."""
_ON_PARENTS = Fraction(1, 3)
"""The part of the price that is for the parents: one row of each is counted, of the children several."""


@dataclass(frozen=True)
class SyntheticFamily:
    """Synthetic parents and children, made of noisy marginals alone. `parents` has the number of children as a further
    column, `children` the columns of their parents that were `shared`; both answer questions and have a report.
    `key` is the made-up column that joins sampled rows."""

    parents: SyntheticTable
    children: SyntheticTable
    shared: Columns
    key: str
    made_by: FamilySynthesizer

    def sample(self, parents: int | None = None, *, entropy: Entropy | None = None) -> tuple[pa.Table, pa.Table]:
        """New parents, and their children, as Arrow tables with a made-up key that joins them. A parent who can have
        no children, by what was declared of them, has none."""
        source = system_entropy() if entropy is None else entropy
        wanted = self.parents.size if parents is None else whole(0, parents=parents)
        drawn = rows(self.parents.model.beliefs, wanted, source)
        places = self.parents.grid.columns.index(CHILDREN)
        owners = np.repeat(np.arange(wanted), drawn[:, places])
        born = self._children(drawn[owners], source)
        kept = ~self.children.constraints.broken(born)
        owners, children = owners[kept], self.children.columns(born[kept], source)
        older = self.parents.columns(drawn, source)
        return (
            pa.table({self.key: pa.array(np.arange(wanted)), **_without(older, {CHILDREN})}),
            pa.table({self.key: pa.array(owners), **_without(children, set(self.shared))}),
        )

    def evaluate(
        self,
        parents: Frame,
        children: Frame,
        *,
        epsilon: Number | None = None,
        share: Number | None = None,
        key: str | None = None,
        fresh: bool = False,
    ) -> tuple[Evaluation, Evaluation]:
        """How wrong the models of parents and children are, measured on the private rows with noise; charged once."""
        carriers = self.made_by._carriers(parents, children)
        fits = self.made_by._fits(carriers, Offer(epsilon, share))
        tables = self.parents, self.children
        for table, fit in zip(tables, fits, strict=True):
            require_same_axes(fit.axes, table.axes)
        pair = Pair(*(compared(fit, table.model, table.evaluated()) for table, fit in zip(tables, fits, strict=True)))
        finished = stacked(*(shown_as(table.evaluated(), table.size) for table in tables))
        text = f"EVALUATE {carriers.text}"
        answer = carriers.child.asked.buy(pair, finished, text=text, key=key, fresh=fresh)
        return Evaluation(lines_of(answer, PARENT)), Evaluation(lines_of(answer, CHILD))

    def save(self, path: str | Path) -> None:
        """Write both tables into one file, for anybody; see `SyntheticTable.save`."""
        saved.save(path, KIND, self.facts())

    @classmethod
    def load(cls, path: str | Path) -> SyntheticFamily:
        """What was saved; a file that is damaged or of another kind is refused. Nothing in it is run."""
        return saved.load(path, KIND, cls.from_facts)

    def facts(self) -> dict[str, Any]:
        """It as JSON has it."""
        parents, children = self.parents.facts(), self.children.facts()
        return {"parents": parents, "children": children, "shared": list(self.shared), "key": self.key}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> SyntheticFamily:
        """The family that facts say."""
        parents, children = (SyntheticTable.from_facts(facts[name]) for name in ("parents", "children"))
        shared = tuple(map(normal, facts["shared"]))
        return cls(parents, children, shared, normal(facts["key"]), _asked_again(parents, children, shared))

    def _children(self, owners: Codes, entropy: Entropy) -> Codes:
        """A child for each of these parents, given the columns that are shared. Of parents who have no children by the
        model of the children, any that is possible."""
        columns, beliefs = self.parents.grid.columns, self.children.model.beliefs
        if not len(owners) or not self.shared:
            return rows(beliefs, len(owners), entropy)
        known = {name: owners[:, columns.index(name)] for name in self.shared}
        drawn = rows_given(beliefs, known, entropy)
        constraints = self.children.constraints
        again = constraints.broken(drawn)
        if again.any():
            others = {name: codes[again] for name, codes in known.items()}
            drawn[again] = rows_given(constraints.anything(), others, entropy)
        return drawn


@dataclass(frozen=True)
class FamilySynthesizer:
    """Makes synthetic parents with children, such as patients with their visits; both are private tables of one
    population, and its unit, the parent, is what is protected.

    `parent` and `child` say how each table is made, as for one table by itself; `child.rows` is how many children of
    one parent are counted, as declared for their table if it is not given: no synthetic parent has more. `shared` names
    the parents' columns that children are drawn by, all whose names the children do not have if none are named.
    """

    parent: Synthesizer = field(default_factory=Synthesizer)
    child: Synthesizer = field(default_factory=Synthesizer)
    shared: Sequence[str] | None = None

    def cost(
        self, parents: Frame, children: Frame, *, epsilon: Number | None = None, share: Number | None = None
    ) -> Cost:
        """What a fit would cost; nothing is read or spent."""
        carriers = self._carriers(parents, children)
        pair = Pair(*self._fits(carriers, Offer(epsilon, share)))
        return carriers.child.asked.cost_of(pair, epsilon=epsilon)

    def fit(
        self,
        parents: Frame,
        children: Frame,
        *,
        epsilon: Number | None = None,
        share: Number | None = None,
        key: str | None = None,
        fresh: bool = False,
        progress: Callable[[float], object] | None = None,
    ) -> SyntheticFamily:
        """Charge once, measure both tables, and fit both models; otherwise as `Synthesizer.fit`."""
        carriers = self._carriers(parents, children)
        parent, child = self._fits(carriers, Offer(epsilon, share), progress)

        def work(outcomes: Outcomes) -> Pair:
            return Pair(replace(parent, outcomes=outcomes), replace(child, outcomes=outcomes))

        text, finished, asked = f"SYNTHESIZE {carriers.text}", stacked(as_answer, as_answer), carriers.child.asked
        kept = keeping(asked, key, work)
        answer = asked.buy(Pair(parent, child), finished, text=text, key=key, fresh=fresh, kept=kept)
        return SyntheticFamily(
            SyntheticTable.from_answer(lines_of(answer, PARENT), parent),
            SyntheticTable.from_answer(lines_of(answer, CHILD), child),
            carriers.shared,
            carriers.key,
            self,
        )

    def _carriers(self, parents: Frame, children: Frame) -> _Carriers:
        if self.parent.rows not in (None, 1):
            raise InvalidParameter("rows", self.parent.rows, allowed="1 for parents: each is a unit of its own")
        older = Carrier.of(parents, columns=self.parent.columns, bins=self.parent.bins, most=1)
        younger = Carrier.of(children, columns=self.child.columns, bins=self.child.bins, most=self.child.rows)
        if older.asked._asker != younger.asked._asker:
            raise InvalidParameter("rows", "of two sessions", allowed="parents and children of one session")
        return _Carriers.joined((parents, older), (children, younger), self)

    def _fits(
        self, carriers: _Carriers, offer: Offer, progress: Callable[[float], object] | None = None
    ) -> tuple[Fit, Fit]:
        """The fits of both tables, each for its part of the price; nothing is read or spent."""
        charge = charged(carriers.child, offer)
        first = {name: amount.part(_ON_PARENTS) for name, amount in charge.items()}
        rest = {name: amount - first[name] for name, amount in charge.items()}
        older = replace(self.parent, groups=_with_children(self.parent.groups))
        parent = older.planned(carriers.parent, first, _between(progress, Fraction(0), _ON_PARENTS))
        child = self.child.planned(carriers.child, rest, _between(progress, _ON_PARENTS, Fraction(1)))
        carriers.require_one_block(parent, child)
        return replace(parent, question=_one_row(parent.question)), child


@dataclass(frozen=True)
class _Carriers:
    """The parents with how many children they have, and the children with columns of their parents."""

    parent: Carrier
    child: Carrier
    shared: Columns
    key: str

    @classmethod
    def joined(
        cls, parents: tuple[Frame, Carrier], children: tuple[Frame, Carrier], wanted: FamilySynthesizer
    ) -> _Carriers:
        (older, plain_parent), (younger, plain_child) = parents, children
        key, child_key = _unit(plain_parent, None), _unit(plain_child, _unit(plain_parent, None))
        own, theirs = _names(plain_parent), _names(plain_child)
        shared = _shared(wanted.shared, own, theirs)
        _require_apart(own, theirs, key)
        most = _few(plain_child.question.most.rows)
        same_unit = col(f"{PARENT}.{key}") == col(f"{CHILD}.{child_key}")
        counted = younger.group_by(child_key).agg(**{CHILDREN: count()}).called(CHILD)
        known = older.select(key, *own).called(PARENT)
        number = col(f"{CHILD}.{CHILDREN}").fill_null(0)
        all_parents = known.join(counted, on=same_unit, how="left").select(
            **{name: col(f"{PARENT}.{name}") for name in own}, **{CHILDREN: number}
        )
        all_children = (
            younger.select(child_key, *theirs)
            .called(CHILD)
            .join(known, on=same_unit)
            .select(**{name: col(f"{CHILD}.{name}") for name in theirs}, **{n: col(f"{PARENT}.{n}") for n in shared})
        )
        bins: Bins = {**_only(wanted.child.bins, theirs), **_only(wanted.parent.bins, shared)}
        return cls(
            Carrier.of(all_parents, columns=[*own, CHILDREN], bins={**wanted.parent.bins, CHILDREN: "1"}, most=most),
            Carrier.of(all_children, columns=[*theirs, *shared], bins=bins, most=most),
            shared,
            key,
        )

    @property
    def text(self) -> str:
        return f"{self.parent.text} WITH {self.child.text}"

    def require_one_block(self, parent: Fit, child: Fit) -> None:
        """Refuse parents and children of different blocks of a partitioned population: one charge is for both."""
        pairs = ((self.parent, parent), (self.child, child))
        blocks = [carrier.asked.cost_of(each).blocks for carrier, each in pairs]
        if blocks[0] != blocks[1]:
            raise InvalidParameter("blocks", blocks, allowed="the same for parents and children")


def _asked_again(parents: SyntheticTable, children: SyntheticTable, shared: Columns) -> FamilySynthesizer:
    """What asks for the axes of known tables again."""
    own = [axis for axis in parents.axes if axis.name != CHILDREN]
    theirs = [axis for axis in children.axes if axis.name not in shared]
    known = {axis.name for axis in own}
    if len(own) == len(parents.axes) or not known.issuperset(shared) or len(theirs) + len(shared) != len(children.axes):
        raise ValueError("columns")
    older, younger = (
        Synthesizer(columns=[axis.name for axis in axes], bins=bins_of(axes), order=1) for axes in (own, theirs)
    )
    return FamilySynthesizer(older, replace(younger, rows=children.rows_of_unit), shared)


def _unit(carrier: Carrier, otherwise: str | None) -> str:
    """The column that names the unit; along a path it has the name that it has at the other table."""
    table = carrier.question.relation.tables[0]
    unit = table.protection.unit if table.protection else EachRow()
    if isinstance(unit, UnitColumn):
        return unit.column
    if otherwise is None or isinstance(unit, EachRow):
        raise InvalidParameter("unit", str(unit), allowed="a column that names the parent", hint=f"See {table.name}.")
    return otherwise


def _names(carrier: Carrier) -> Columns:
    return tuple(axis.name for axis in carrier.axes)


def _shared(wanted: Sequence[str] | None, own: Columns, theirs: Columns) -> Columns:
    if wanted is None:
        return tuple(name for name in own if name not in theirs)
    unknown = [name for name in wanted if name not in own or name in theirs]
    if unknown or len(set(wanted)) < len(wanted):
        raise InvalidParameter("shared", list(wanted), allowed="columns of the parents that the children do not have")
    return tuple(wanted)


def _require_apart(own: Columns, theirs: Columns, key: str) -> None:
    taken = {CHILDREN, key} & {*own} or {key} & {*theirs}
    if taken:
        raise InvalidParameter("columns", sorted(taken), allowed="names other than the key's and 'children'")


def _few(most: int) -> int:
    if most > JOIN_ROWS:
        raise InvalidParameter("rows", most, allowed=f"at most {JOIN_ROWS} children of one parent")
    return most


def _one_row(question: Question) -> Question:
    """Of each unit one row is counted; children are still counted up to the declared number."""
    return replace(question, most=Most(rows=1, groups=1))


def _with_children(groups: Sequence[Sequence[str]] | None) -> Sequence[Sequence[str]] | None:
    return None if groups is None else [*groups, [CHILDREN]]


def _between(
    progress: Callable[[float], object] | None, begin: Fraction, end: Fraction
) -> Callable[[float], object] | None:
    if progress is None:
        return None
    return lambda percent: progress(100 * float(begin) + percent * float(end - begin))


def _only(bins: Bins, names: Columns) -> Bins:
    return {name: given for name, given in bins.items() if name in names}


def _without(columns: Mapping[str, pa.Array], names: set[str]) -> dict[str, pa.Array]:
    return {name: array for name, array in columns.items() if name not in names}
