"""From a question to what is measured: engine passes, and the noisy measurements that are taken of them.

Each statistic is a recipe over measurements; measurements that several statistics need are taken once. Every column
that is summed is clamped to its public range just before it is bounded and summed, whatever was computed before, so a
measurement's sensitivity follows from `rows`, `groups` and that range alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NoReturn

from dalenius.errors import QueryRefused
from dalenius.measuring.estimates import ROBUST
from dalenius.measuring.moments import DEGREES, Split
from dalenius.privacy.neighbours import AddRemove, Neighbours
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.expressions import Column, Expression, Literal
from dalenius.query.functions.functions import call, literal
from dalenius.query.plan.figures import least_known
from dalenius.query.plan.passes import Aggregate, DistinctValues, Pass, Total, Values
from dalenius.query.plan.relations import Bound, Clamp, Project, Relation
from dalenius.query.questions import Question, Statistic
from dalenius.query.types import Domain, Number, Ranged

SUMS = -1
"""The place of the pass that holds all counts and sums: the last one."""
_WIDEST_SPLIT = 2**85
"""What the parts of one unit may add up to, so that their sums fit into 126 bits for 2^40 units."""
_COUNTING = ("count", "present", "mean", "variance", "stddev", "covariance", "correlation")
"""Statistics that need a count of complete rows."""
_SPLIT_TITLES = {
    1: "sum of {of} above its lower bound, and below its upper bound, together",
    2: "sum of squares of {of} above its lower bound, of squares below its upper bound, and of twice the products of "
    "both, together",
}
_ROBUST_TITLES = {
    "robust_quantile": "quantile {p} of {of}, with noise that fits the values",
    "trimmed_mean": "mean of {of} without {p} at each end, with noise that fits the values",
    "robust_scale": "interquartile range of {of} to within a factor, where it is stable",
    "stable_quantile": "quantile {p} of {of}, where it is stable",
    "proposed_quantile": "quantile {p} of {of}, where no unit moves it by more than {bound}",
    "stable_mode": "most frequent value of {of}, where it is stable",
}


@dataclass(frozen=True)
class Measurement:
    """Something that noise is added to: a column of a pass, for all keys.

    `sensitivity` bounds the change of the whole vector over keys when one unit comes, goes or is replaced, with all
    others that change with it (`Relation.steps`); these touch at most `groups` keys (None: any number), and each of
    them adds at most `rows` rows to each.
    """

    title: str
    source: int
    """The index of its pass in the program; -1 is the last one, which holds all counts and sums."""
    total: int
    """The index of its total in that pass."""
    sensitivity: Sensitivity
    groups: int | None
    rows: int


@dataclass(frozen=True)
class Numbers(Measurement):
    """One integer for each key: counts and sums."""


@dataclass(frozen=True)
class Counts(Measurement):
    """The count of every public value of a column, for each key."""

    domain: Domain


@dataclass(frozen=True)
class SplitSums(Measurement):
    """The sums of the parts of a split, for each key: they add up to `whole` for each row, and share one noise.

    `total` is the place of the count of rows; `products` are those of what all parts but the last are multiples of.
    """

    products: tuple[int, ...]
    factors: tuple[int, ...]
    whole: int

    @property
    def totals(self) -> tuple[int, ...]:
        """The places of all its totals."""
        return (self.total, *self.products)


@dataclass(frozen=True)
class Quantiles(Measurement):
    """Quantiles of a column with a public grid, for each key."""

    domain: Ranged
    targets: tuple[Fraction, ...]


@dataclass(frozen=True)
class Mode(Measurement):
    """The most frequent public value of a column, for each key."""

    domain: Domain


@dataclass(frozen=True)
class Robust(Measurement):
    """A robust statistic of a column, for each key: its kind, and its share and bound where it has them."""

    kind: str
    domain: Domain
    p: Fraction | None
    bound: Fraction | None


@dataclass(frozen=True)
class FoundKeys(Measurement):
    """The keys that enough units have; their numbers of units too, where `shown`."""

    shown: bool


@dataclass(frozen=True)
class TopKeys(Measurement):
    """The k keys with the largest counts."""

    k: int


@dataclass(frozen=True)
class Recipe:
    """Which measurements a statistic is computed from, in the order that `estimates.estimate` expects."""

    inputs: tuple[int, ...]
    part: int = 0
    """Which of several quantiles."""


@dataclass(frozen=True)
class MeasurementPlan:
    """All that is done for a question, before prices are known."""

    question: Question
    neighbours: Neighbours
    passes: tuple[Pass, ...]
    measurements: tuple[Measurement, ...]
    recipes: tuple[Recipe, ...]

    @property
    def selection(self) -> int | None:
        """The index of the measurement that decides which keys are shown; None where all keys are public and shown."""
        kinds = (FoundKeys, TopKeys)
        return next((i for i, part in enumerate(self.measurements) if isinstance(part, kinds)), None)


def lower(question: Question) -> MeasurementPlan:
    """The passes and measurements of a question."""
    return _Lowering(question).program()


def bounded_change(neighbours: Neighbours, *, groups: int, lower: int, upper: int) -> Sensitivity:
    """The sensitivity of a vector over keys, where one unit gives an integer in [lower, upper] to at most `groups` keys
    and 0 to the others.

    Proof: adding or removing a unit changes `groups` entries by at most M = max(|lower|, |upper|). Replacing one by
    another changes t shared keys by at most upper - lower (with 0 in the range) and 2 (groups - t) keys by at most M;
    both norms are largest at t = 0 or t = groups, and upper - lower is at most 2 M.
    """
    low, high = min(lower, 0), max(upper, 0)
    high = high or int(low == 0)  # what cannot change at all gets noise as if it could, by one
    most, spread = max(-low, high), high - low
    if isinstance(neighbours, AddRemove):
        alike = low == 0 or high == 0
        return Sensitivity.sparse(coordinates=groups, each=most, monotone=alike, neighbours=neighbours)
    return Sensitivity(
        l1=2 * groups * most,
        l2_squared=max(2 * groups * most**2, groups * spread**2),
        linf=spread,
        neighbours=neighbours,
    )


def listed_change(neighbours: Neighbours, *, groups: int, rows: int) -> Sensitivity:
    """The sensitivity of counts over (key, value), where one unit counts at most `rows` values in each of at most
    `groups` keys; and of the sums of a split, where the parts of one unit add up to at most `rows` in each key.

    Proof: within a key the counts of one unit are not negative and sum up to at most `rows`, so their l2 norm is at
    most `rows`, attained when all are equal; two units differ there by at most 2 rows in l1 and 2 rows^2 in squared l2.
    """
    steps = neighbours.add_remove_steps
    return Sensitivity(
        l1=steps * groups * rows,
        l2_squared=steps * groups * rows**2,
        linf=rows,
        monotone=isinstance(neighbours, AddRemove),
        neighbours=neighbours,
    )


def over_steps(part: Measurement, relation: Relation, neighbours: Neighbours) -> Measurement:
    """A measurement whose bounds hold for all units that come and go in effect when one does.

    Proof: counts and sums are sums over units, and different values are the union over units. So what `steps` units
    change in turn adds up to at most `steps` times what one changes, in every norm and in the number of keys. What is
    chosen or tested is no such sum, and is refused.
    """
    steps = relation.steps
    if steps == 1:
        return part
    if not isinstance(part, Numbers | Counts | SplitSums):
        refuse_shared_keys(part.title, relation)
    groups = None if part.groups is None else steps * part.groups
    return replace(part, sensitivity=(part.sensitivity * steps).under(neighbours), groups=groups)


def refuse_shared_keys(what: str, relation: Relation) -> NoReturn:
    """Refuse what is private for one unit at a time, where one changes what others own."""
    raise QueryRefused(
        what,
        rule=f"units find their rows by keys that several may state, so that one unit changes what up to "
        f"{(relation.steps - 1) // 2} others have, and only counts, sums, averages and the like of public groups are "
        "made private for so many at once",
        instead="Ask for these, as with WHERE key IN ('a', 'b') or a Category to group by; or ask the owner to declare "
        "the key unique, or to give the table a unit column of its own.",
    )


@dataclass
class _Lowering:
    """Collects passes and measurements, each once."""

    question: Question
    measurements: list[Measurement] = field(default_factory=list)
    passes: list[Pass] = field(default_factory=list)
    totals: dict[Total, int] = field(default_factory=dict)
    summed: dict[str, Expression] = field(default_factory=dict)

    def program(self) -> MeasurementPlan:
        recipes = self._selected() if self.question.top else self._all()
        if self.totals:
            self.passes.append(Aggregate(self._bound(self.summed, self._groups), tuple(self.totals)))
        return MeasurementPlan(self.question, self._neighbours, tuple(self.passes), tuple(self.measurements), recipes)

    def _all(self) -> tuple[Recipe, ...]:
        if self.question.public_keys is None:
            self._found()
        return tuple(self._recipe(statistic) for statistic in self.question.statistics)

    # ---- keys

    def _found(self) -> None:
        shown = any(statistic.kind == "units" for statistic in self.question.statistics)
        total = self._total(Total("units"))
        change = bounded_change(self._neighbours, groups=self._groups, lower=0, upper=1)
        self._measured(FoundKeys("keys that enough units have", SUMS, total, change, self._groups, 1, shown))

    def _selected(self) -> tuple[Recipe, ...]:
        """Top-k: the choice needs only the bound for each key; the counts of what was chosen are measured after it."""
        question, top = self.question, self.question.top
        assert top is not None
        statistic = question.statistics[top.statistic]
        total, rows = self._count(statistic)
        alike = isinstance(self._neighbours, AddRemove)
        score = Sensitivity(linf=rows, monotone=alike, neighbours=self._neighbours)
        counted = {name: self._column(name) for name in statistic.columns}
        source = self._pass(Aggregate(self._bound(counted, None), (total,)))
        k = least_known(top.k, question.public_keys) or top.k
        self._measured(TopKeys(f"the {k} largest groups by {self._named(statistic)}", source, 0, score, None, rows, k))
        if not top.shown:
            return tuple(Recipe(()) for _ in question.statistics)
        if k > self._groups:
            return tuple(self._recipe(each) for each in question.statistics)
        change = bounded_change(self._neighbours, groups=k, lower=0, upper=rows)
        index = self._measured(Numbers(self._named(statistic), source, 0, change, k, rows))
        return tuple(Recipe((index,)) for _ in question.statistics)

    # ---- statistics

    def _recipe(self, statistic: Statistic) -> Recipe:
        kind, names = statistic.kind, statistic.columns
        if kind == "units" and self.question.public_keys is None and not self.question.top:
            return Recipe((0,))  # the keys are found by their numbers of units, which are shown
        if kind in ("count", "present", "units"):
            return Recipe((self._numbers(statistic),))
        if kind == "distinct":
            return Recipe((self._distinct(names[0]),))
        if kind == "sum":
            return Recipe((self._sum(f"sum of {self._told(names[0])}", names[0], self._column(names[0])),))
        if kind == "quantile":
            return self._quantile(statistic)
        if kind in ("mode", "histogram", *ROBUST):
            return Recipe((self._values(statistic),))
        split = self._split_of(statistic)
        return Recipe((self._split(statistic.columns[0], split),) if split else tuple(self._moments(statistic)))

    def _split_of(self, statistic: Statistic) -> Split | None:
        """What a statistic is measured from, if it is a mean or variance whose count of rows no other statistic needs:
        a count that is shared is worth more than a noise that is shared."""
        if statistic.kind not in DEGREES or self._sharing(statistic):
            return None
        domain, rows = self._domain(statistic.columns[0]), self.question.most.rows
        assert isinstance(domain, Number)
        split = Split.of(domain, statistic.kind)
        return split if 0 < split.whole * rows < _WIDEST_SPLIT else None

    def _sharing(self, statistic: Statistic) -> bool:
        """Whether another statistic needs the count of the same complete rows."""
        others = (each for each in self.question.statistics if each != statistic and each.kind in _COUNTING)
        return self._missing(statistic) in map(self._missing, others)

    def _missing(self, statistic: Statistic) -> frozenset[str]:
        """The columns that may be NULL in rows that do not count."""
        return frozenset(name for name in statistic.columns if self._domain(name).nullable)

    def _split(self, name: str, split: Split) -> int:
        """The sums of all parts: the last one is what the others leave of the whole."""
        value = self._column(name)
        above = call("subtract", value, self._point(name, split.lower))
        below = call("subtract", self._point(name, split.upper), value)
        products = [above] if split.degree == 1 else [call("multiply", above, above), call("multiply", above, below)]
        columns = [f"s.{place}_{_joined(name)}" for place in range(len(products))]
        self.summed.update(zip(columns, products, strict=True))
        counted, _ = self._count(Statistic("present", (name,)))
        if counted.column:
            self.summed[counted.column] = value
        count, *sums = (self._total(total) for total in (counted, *(Total("sum", column) for column in columns)))
        rows, title = self.question.most.rows, _SPLIT_TITLES[split.degree].format(of=self._told(name))
        change = listed_change(self._neighbours, groups=self._groups, rows=rows * split.whole)
        return self._measured(
            SplitSums(title, SUMS, count, change, self._groups, rows, tuple(sums), split.factors, split.whole)
        )

    def _moments(self, statistic: Statistic) -> Iterator[int]:
        """The count of complete rows, then the sums of first and second powers that the statistic needs."""
        names, pairs = statistic.columns, []
        if statistic.kind in ("variance", "stddev", "correlation"):
            pairs = [(name, name) for name in names]
        if statistic.kind in ("covariance", "correlation"):
            pairs.append((names[0], names[1]))
        centred = {name: self._centred(name, names) for name in names}
        yield self._complete(names, centred)
        for name in names:
            yield self._sum(f"sum of {self._told(name)} less its midpoint", f"c.{_joined(name, *names)}", centred[name])
        for first, second in pairs:
            product = call("multiply", centred[first], centred[second])
            yield self._sum(
                f"sum of {self._told(first)} times {self._told(second)}, less midpoints",
                f"p.{_joined(first, second)}",
                product,
            )

    def _complete(self, names: tuple[str, ...], centred: dict[str, Expression]) -> int:
        """The number of rows where no column is NULL."""
        if not any(self._domain(name).nullable for name in names):
            return self._numbers(Statistic("count"))
        if len(names) == 1:
            return self._numbers(Statistic("present", names))
        column = f"c.{_joined(names[0], *names)}"
        self.summed[column] = centred[names[0]]
        return self._number(
            f"rows with {' and '.join(map(self._told, names))}", Total("present", column), 0, self.question.most.rows
        )

    def _centred(self, name: str, names: tuple[str, ...]) -> Expression:
        """The column less its midpoint; NULL where another of the columns is NULL."""
        domain = self._domain(name)
        assert isinstance(domain, Number)
        centred = call("subtract", self._column(name), self._point(name, (domain.lower + domain.upper) // 2))
        for other in names:
            if other != name and self._domain(other).nullable:
                centred = call("case", call("is_null", self._column(other)), literal(None), centred)
        return centred

    def _point(self, name: str, code: int) -> Literal:
        """A constant on the grid of a column."""
        domain = self._domain(name)
        assert isinstance(domain, Number)
        return Literal(Number(False, code, code, domain.step), code)

    def _numbers(self, statistic: Statistic) -> int:
        total, most = self._count(statistic)
        for name in statistic.columns:
            self.summed[name] = self._column(name)
        return self._number(self._named(statistic), total, 0, most)

    def _count(self, statistic: Statistic) -> tuple[Total, int]:
        """The total of a count, and the most that one unit adds to it."""
        if statistic.kind == "units":
            return Total("units"), 1
        if statistic.kind == "present" and self._domain(statistic.columns[0]).nullable:
            return Total("present", statistic.columns[0]), self.question.most.rows
        return Total("rows"), self.question.most.rows

    def _sum(self, title: str, column: str, value: Expression) -> int:
        self.summed[column] = value
        domain, rows = value.domain, self.question.most.rows
        assert isinstance(domain, Number)
        return self._number(title, Total("sum", column), rows * domain.lower, rows * domain.upper)

    def _number(self, title: str, total: Total, lower: int, upper: int) -> int:
        change = bounded_change(self._neighbours, groups=self._groups, lower=lower, upper=upper)
        place = self._total(total)
        return self._measured(Numbers(title, SUMS, place, change, self._groups, self.question.most.rows))

    def _distinct(self, name: str) -> int:
        groups = self.question.most.groups
        change = Sensitivity(
            l1=self._neighbours.add_remove_steps * groups,
            linf=groups,
            monotone=isinstance(self._neighbours, AddRemove),
            neighbours=self._neighbours,
        )
        step = DistinctValues(self._bound({name: self._column(name)}, groups), name)
        return self._measured(
            Numbers(f"different values of {self._told(name)}", self._pass(step), 0, change, groups, groups)
        )

    def _quantile(self, statistic: Statistic) -> Recipe:
        (name,) = statistic.columns
        alike = [each for each in self.question.statistics if (each.kind, each.columns) == ("quantile", (name,))]
        targets = tuple(sorted({each.p for each in alike if each.p is not None}))
        domain, rows = self._domain(name), self.question.most.rows
        assert isinstance(domain, Ranged)
        assert statistic.p is not None
        change = listed_change(self._neighbours, groups=self._groups, rows=rows)
        source = self._pass(Values(self._bound({name: self._column(name)}, self._groups), name))
        part = Quantiles(f"quantiles of {self._told(name)}", source, 0, change, self._groups, rows, domain, targets)
        return Recipe((self._measured(part),), targets.index(statistic.p))

    def _values(self, statistic: Statistic) -> int:
        (name,) = statistic.columns
        rows = self.question.most.rows
        source = self._pass(Values(self._bound({name: self._column(name)}, self._groups), name))
        change = listed_change(self._neighbours, groups=self._groups, rows=rows)
        domain, title = self._domain(name), self._named(statistic)
        if statistic.kind in ROBUST:
            kind, p, bound = statistic.kind, statistic.p, statistic.bound
            title = _ROBUST_TITLES[kind].format(p=p, of=self._told(name), bound=bound)
            return self._measured(Robust(title, source, 0, change, self._groups, rows, kind, domain, p, bound))
        made = Mode if statistic.kind == "mode" else Counts
        return self._measured(made(title, source, 0, change, self._groups, rows, domain))

    # ---- collecting

    @property
    def _neighbours(self) -> Neighbours:
        return self.question.relation.neighbours

    @property
    def _groups(self) -> int:
        """How many keys one unit touches at most; there may be fewer keys than it may touch."""
        return min(self.question.most.groups, self.question.public_keys or self.question.most.groups)

    def _named(self, statistic: Statistic) -> str:
        names = {"count": "count of rows", "units": "count of units"}
        return names.get(statistic.kind, f"{statistic.kind} of {', '.join(map(self._told, statistic.columns))}")

    def _told(self, name: str) -> str:
        """A column as people know it: by its name in its table, where it has one."""
        relation = self.question.relation
        computed = dict(relation.columns).get(name) if isinstance(relation, Project) else None
        return computed.name.rsplit(".", 1)[-1] if isinstance(computed, Column) else name

    def _domain(self, name: str) -> Domain:
        return self.question.relation.schema[name]

    def _column(self, name: str) -> Column:
        return Column(self._domain(name), name)

    def _bound(self, computed: Mapping[str, Expression], groups: int | None) -> Bound:
        """The relation with the keys and computed columns, the latter clamped to their ranges, and bounded."""
        question = self.question
        kept: list[tuple[str, Expression]] = [(name, self._column(name)) for name in question.keys]
        columns = (*kept, *computed.items())
        relation: Relation = Project(_with_columns(question.relation, [term for _, term in columns]), columns)
        ranges = [(name, value.domain) for name, value in computed.items()]
        bounds = tuple((name, domain.lower, domain.upper) for name, domain in ranges if isinstance(domain, Ranged))
        if bounds:
            relation = Clamp(relation, bounds)
        return Bound(relation, question.keys, question.most.rows, groups)

    def _total(self, total: Total) -> int:
        return self.totals.setdefault(total, len(self.totals))

    def _pass(self, step: Pass) -> int:
        if step not in self.passes:
            self.passes.append(step)
        return self.passes.index(step)

    def _measured(self, part: Measurement) -> int:
        part = over_steps(part, self.question.relation, self._neighbours)
        if part not in self.measurements:
            self.measurements.append(part)
        return self.measurements.index(part)


def _with_columns(relation: Relation, read: Sequence[Expression]) -> Relation:
    """The relation without the computed columns that one pass does not read: others would be computed for it in vain,
    and told of in every pass again."""
    if not isinstance(relation, Project):
        return relation
    names = {name for term in read for name in term.columns()}
    return replace(relation, columns=tuple(each for each in relation.columns if each[0] in names))


def _joined(*names: str) -> str:
    return "_".join(name.removeprefix("x.") for name in names)
