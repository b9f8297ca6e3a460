"""Families: a table of parents with a table of their children, such as patients and visits, protected by parent.

Two models are fitted for one price: the parents with how many children each has, and the children together with columns
of their parents. New parents are drawn from the first, and for each its children from the second, given the parent.

Two pieces of work that are paid for at once: parents and children, each with a part of one price.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dalenius.accounting.allowance import Allowance, PartOfAllowance
from dalenius.accounting.amounts import Charge
from dalenius.accounting.composition import compose
from dalenius.errors import InvalidParameter
from dalenius.measuring.postprocess import TEXT
from dalenius.privacy.losses import Loss
from dalenius.privacy.numbers import Number, whole
from dalenius.query.frames.aggregates import count
from dalenius.query.frames.formulas import col
from dalenius.query.frames.frames import Frame
from dalenius.query.plan.passes import Pass, RunPass
from dalenius.query.plan.relations import JOIN_ROWS
from dalenius.query.questions import Question
from dalenius.query.rows import RowSource
from dalenius.query.tables import ContributionBounds, EachRow, UnitColumn
from dalenius.query.types import normal
from dalenius.randomness.entropy import Entropy, system_entropy
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.columns import AnswerColumn
from dalenius.session.answers.contents import NoisyMarginals
from dalenius.session.executor import Purchase
from dalenius.session.offers import Offer
from dalenius.session.purchases import Cost
from dalenius.synth.inference.sampling import Codes, rows, rows_given
from dalenius.synth.tables import saved
from dalenius.synth.tables.evaluating import Evaluation, bins_of, compared, require_same_axes
from dalenius.synth.tables.fits import Fit
from dalenius.synth.tables.journal import Outcomes, keeping
from dalenius.synth.tables.synthesizer import Synthesizer
from dalenius.synth.tables.tables import SyntheticTable
from dalenius.tabular.binned_rows import BinnedRows, Bins
from dalenius.tabular.domains import Columns

PARENT, CHILD = "parent", "child"


@dataclass(frozen=True)
class FamilyWork:
    """Work on parents and work on children that are paid for at once. All of it is public.

    Guarantee: what both draw together is covered by the one charge, which is the sum of theirs.
    """

    parent: Purchase
    child: Purchase

    @property
    def question(self) -> Question | RowSource:
        return self.child.question

    @property
    def terms(self) -> tuple[object, ...]:
        return "pair", self.parent.question, self.parent.terms, self.child.terms

    @property
    def charge(self) -> Mapping[str, Charge]:
        return {name: amount + self.child.charge[name] for name, amount in self.parent.charge.items()}

    @property
    def loss(self) -> Loss:
        return compose([self.parent.loss, self.child.loss])

    @property
    def steps(self) -> tuple[Any, ...]:
        return (*self.parent.steps, *self.child.steps)

    @property
    def passes(self) -> tuple[Pass, ...]:
        return (*self.parent.passes, *self.child.passes)

    def run(self, run_pass: RunPass, allowance: Allowance, entropy: Entropy) -> tuple[Any, Any]:
        """What the parents' part gives, and the children's with all that is left."""
        (amount,) = self.parent.charge.values()
        with PartOfAllowance(allowance, amount) as part:
            parents = self.parent.run(run_pass, part, entropy)
        return parents, self.child.run(run_pass, allowance, entropy)

    def encode(self, released: tuple[Any, Any]) -> Answer:
        """What both released: marginals that say of which table, or one table below the other."""
        one, other = self.parent.encode(released[0]), self.child.encode(released[1])
        if isinstance(one.content, NoisyMarginals) and isinstance(other.content, NoisyMarginals):
            named = ((PARENT, one.content.parts), (CHILD, other.content.parts))
            return Answer.of(
                NoisyMarginals(tuple(replace(part, table=name) for name, parts in named for part in parts))
            )
        tables = AnswerColumn("table", (PARENT,) * len(one) + (CHILD,) * len(other), kind=TEXT, is_key=True)
        return Answer((tables, *(_below(*pair) for pair in zip(one.columns, other.columns, strict=True))))

    def decode(self, answer: Answer) -> tuple[Any, Any]:
        """What each of both released."""
        return self.parent.decode(lines_of(answer, PARENT)), self.child.decode(lines_of(answer, CHILD))


def lines_of(answer: Answer, table: str) -> Answer:
    """What an answer holds of one of both tables."""
    if isinstance(answer.content, NoisyMarginals):
        content = NoisyMarginals(tuple(replace(part, table="") for part in answer.content.parts if part.table == table))
        return replace(answer, columns=content.columns, content=content)
    here = [place for place, name in enumerate(answer["table"]) if name == table]
    return replace(answer, columns=tuple(_chosen(column, here) for column in answer.columns if column.name != "table"))


def _below(one: AnswerColumn, other: AnswerColumn) -> AnswerColumn:
    bars = None if one.errors is None else (*one.errors, *(other.errors or ()))
    return replace(one, values=(*one.values, *other.values), errors=bars)


def _chosen(column: AnswerColumn, places: Sequence[int]) -> AnswerColumn:
    bars = None if column.errors is None else tuple(column.errors[place] for place in places)
    return replace(column, values=tuple(column.values[place] for place in places), errors=bars)


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
        both = self.made_by._binned(parents, children)
        fits = self.made_by._fits(both, Offer(epsilon, share))
        tables = self.parents, self.children
        for table, fit in zip(tables, fits, strict=True):
            require_same_axes(fit.axes, table.axes)
        pair = FamilyWork(
            *(
                compared(fit, table.model, table.evaluated(), rows=table.size)
                for table, fit in zip(tables, fits, strict=True)
            )
        )
        answer = both.child.session.buy(pair, text=f"EVALUATE {both.text}", key=key, fresh=fresh)
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
        both = self._binned(parents, children)
        pair = FamilyWork(*self._fits(both, Offer(epsilon, share)))
        return both.child.session.cost_of(pair, epsilon=epsilon)

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
        both = self._binned(parents, children)
        parent, child = self._fits(both, Offer(epsilon, share), progress)

        def work(outcomes: Outcomes) -> FamilyWork:
            return FamilyWork(replace(parent, outcomes=outcomes), replace(child, outcomes=outcomes))

        session, text = both.child.session, f"SYNTHESIZE {both.text}"
        kept = keeping(session, key, work)
        answer = session.buy(FamilyWork(parent, child), text=text, key=key, fresh=fresh, kept=kept)
        return SyntheticFamily(
            SyntheticTable.from_answer(lines_of(answer, PARENT), parent),
            SyntheticTable.from_answer(lines_of(answer, CHILD), child),
            both.shared,
            both.key,
            self,
        )

    def _binned(self, parents: Frame, children: Frame) -> _FamilyRows:
        if self.parent.rows not in (None, 1):
            raise InvalidParameter("rows", self.parent.rows, allowed="1 for parents: each is a unit of its own")
        older = BinnedRows.of(parents, columns=self.parent.columns, bins=self.parent.bins, most=1)
        younger = BinnedRows.of(children, columns=self.child.columns, bins=self.child.bins, most=self.child.rows)
        if older.session._principal != younger.session._principal:
            raise InvalidParameter("rows", "of two sessions", allowed="parents and children of one session")
        return _FamilyRows.joined((parents, older), (children, younger), self)

    def _fits(
        self, both: _FamilyRows, offer: Offer, progress: Callable[[float], object] | None = None
    ) -> tuple[Fit, Fit]:
        """The fits of both tables, each for its part of the price; nothing is read or spent."""
        charge = both.child.charge(offer)
        first = {name: amount.part(_ON_PARENTS) for name, amount in charge.items()}
        rest = {name: amount - first[name] for name, amount in charge.items()}
        older = replace(self.parent, groups=_with_children(self.parent.groups))
        parent = older.planned(both.parent, first, _between(progress, Fraction(0), _ON_PARENTS))
        child = self.child.planned(both.child, rest, _between(progress, _ON_PARENTS, Fraction(1)))
        both.require_one_block(parent, child)
        return replace(parent, question=_one_row(parent.question)), child


@dataclass(frozen=True)
class _FamilyRows:
    """The parents with how many children they have, and the children with columns of their parents."""

    parent: BinnedRows
    child: BinnedRows
    shared: Columns
    key: str

    @classmethod
    def joined(
        cls, parents: tuple[Frame, BinnedRows], children: tuple[Frame, BinnedRows], wanted: FamilySynthesizer
    ) -> _FamilyRows:
        (older, plain_parent), (younger, plain_child) = parents, children
        key, child_key = _unit(plain_parent, None), _unit(plain_child, _unit(plain_parent, None))
        own, theirs = _names(plain_parent), _names(plain_child)
        shared = _shared(wanted.shared, own, theirs)
        _require_apart(own, theirs, key)
        most = _few(plain_child.source.most.rows)
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
            BinnedRows.of(all_parents, columns=[*own, CHILDREN], bins={**wanted.parent.bins, CHILDREN: "1"}, most=most),
            BinnedRows.of(all_children, columns=[*theirs, *shared], bins=bins, most=most),
            shared,
            key,
        )

    @property
    def text(self) -> str:
        return f"{self.parent.text} WITH {self.child.text}"

    def require_one_block(self, parent: Fit, child: Fit) -> None:
        """Refuse parents and children of different blocks of a partitioned population: one charge is for both."""
        pairs = ((self.parent, parent), (self.child, child))
        blocks = [binned.session.cost_of(each).blocks for binned, each in pairs]
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


def _unit(binned: BinnedRows, otherwise: str | None) -> str:
    """The column that names the unit; along a path it has the name that it has at the other table."""
    table = binned.source.relation.tables[0]
    unit = table.protection.unit if table.protection else EachRow()
    if isinstance(unit, UnitColumn):
        return unit.column
    if otherwise is None or isinstance(unit, EachRow):
        raise InvalidParameter("unit", str(unit), allowed="a column that names the parent", hint=f"See {table.name}.")
    return otherwise


def _names(binned: BinnedRows) -> Columns:
    return tuple(axis.name for axis in binned.axes)


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


def _one_row(question: RowSource) -> RowSource:
    """Of each unit one row is counted; children are still counted up to the declared number."""
    return replace(question, most=ContributionBounds(rows=1, groups=1))


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
