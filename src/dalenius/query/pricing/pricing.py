"""A question with its price: what is charged, what is measured for it, and what it is worth, before data is read.

The price is split among the measurements, equally unless told otherwise; each gets the mechanism with the smaller error
at its part of the price (see `choosing`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import chain

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.composition import compose
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.counted_keys import CountedKeys
from dalenius.mechanisms.gaussian import DiscreteGaussian
from dalenius.mechanisms.laplace import DiscreteLaplace
from dalenius.mechanisms.quantiles import PrivateQuantiles
from dalenius.mechanisms.robust.grouped import GroupedStatistic
from dalenius.mechanisms.thresholding import ThresholdedCounts
from dalenius.privacy.losses import Loss
from dalenius.privacy.numbers import Number, positive
from dalenius.query.cells import Look
from dalenius.query.estimates import kinds
from dalenius.query.estimates.estimates import LEVEL, Estimates, estimate
from dalenius.query.estimates.expectations import ExpectedError, expected
from dalenius.query.estimates.kinds import Kind
from dalenius.query.estimates.postprocess import Shaped, shape
from dalenius.query.plan.passes import Pass
from dalenius.query.pricing import explain
from dalenius.query.pricing.choosing import Amounts, Step, steps
from dalenius.query.pricing.measurements import Program, lower
from dalenius.query.pricing.releasing import Released, release
from dalenius.query.pricing.robust import robust_expectation
from dalenius.query.pricing.sizes import derived, require_columns, require_passes, require_rows
from dalenius.query.questions import Compute, Post, Question, Statistic, ValueOf
from dalenius.query.types import Domain
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.laws import NoiseLaw


@dataclass(frozen=True)
class Priced:
    """A question, its measurements and their mechanisms. All of it is public."""

    program: Program
    steps: tuple[Step, ...]
    level: Fraction

    @property
    def question(self) -> Question:
        return self.program.question

    @property
    def passes(self) -> tuple[Pass, ...]:
        """What the engine runs."""
        return self.program.passes

    @property
    def terms(self) -> tuple[object, ...]:
        """What decides the answer besides the question: the mechanisms that the price buys, and the level of bars."""
        return self.steps, self.level

    @property
    def charge(self) -> Amounts:
        """What each population is charged: the prices of all steps."""
        names = self.question.relation.populations
        return {name: reduce(lambda a, b: a + b, (step.charge[name] for step in self.steps)) for name in names}

    @property
    def loss(self) -> Loss:
        """The composed loss of all steps."""
        return compose([step.loss for step in self.steps])

    def run(self, look: Look, allowance: Allowance, entropy: Entropy) -> Released:
        """Measure everything, each measurement drawing on the allowance."""
        return release(self.program, self.steps, [look(step) for step in self.passes], allowance, entropy)

    def answer(self, released: Released, *, nonnegative: bool = False, digits: int | None = None) -> Shaped:
        """The table that is shown, made of released values alone."""
        question = self.question
        estimates = [self._estimate(place, released) for place in range(len(question.statistics))]
        shaped = shape(
            question.output,
            released.keys,
            question.key_domains,
            estimates,
            level=self.level,
            nonnegative=nonnegative,
            digits=digits,
        )
        return replace(shaped, kinds=self.kinds)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What kind of value each output column holds: it follows from the question."""
        question = self.question
        keys = [kinds.of_domain(domain) for domain in question.key_domains]
        found = [kinds.of_statistic(each, self._domains(each)) for each in question.statistics]
        return tuple(kinds.of_term(post, keys, found) for _, post in question.output.columns)

    def _estimate(self, place: int, released: Released) -> Estimates | None:
        statistic, recipe = self.question.statistics[place], self.program.recipes[place]
        if not recipe.inputs:
            return None  # a count that only decides an order
        inputs = [released.noisy[index][recipe.part] for index in recipe.inputs]
        return estimate(statistic, inputs, self._domains(statistic), level=self.level)

    def expected_error(self, size: int | None = None) -> dict[str, ExpectedError]:
        """The error to expect of each output column that is a statistic, by its name, at the level of the bars.

        Where it depends on a group's size, `at(size)` says how; `size` is used in its text where it is given.
        """
        columns = self.question.output.columns
        found = {name: self._expected(post.index) for name, post in columns if isinstance(post, ValueOf)}
        return found if size is None else {name: _of_size(error, size) for name, error in found.items()}

    def _expected(self, place: int) -> ExpectedError:
        statistic, recipe = self.question.statistics[place], self.program.recipes[place]
        mechanisms = [self.steps[index].mechanism for index in recipe.inputs]
        first = mechanisms[0]
        if isinstance(first, PrivateQuantiles):
            ranks = first.typical_rank_error(first.targets[recipe.part], 1 - self.level)
            return expected(statistic, [], self._domains(statistic), level=self.level, ranks=ranks)
        if isinstance(first, GroupedStatistic):
            return robust_expectation(first, self._domains(statistic)[0], self.level)
        laws = [law for law in map(_law, mechanisms) if law is not None]
        return expected(statistic, laws, self._domains(statistic), level=self.level)

    def _domains(self, statistic: Statistic) -> list[Domain]:
        return [self.question.relation.schema[name] for name in statistic.columns]

    def explain(self, spelled: Callable[[Pass], str] | None = None) -> str:
        """The derivation, and the engine's SQL where `spelled` writes it; refuses one that would be too long."""
        texts = explain.sql(self.program, spelled) if spelled else ()
        return derived(chain(explain.derivation(self.program), explain.measurements(self.program, self.steps), texts))


def _of_size(error: ExpectedError, size: int) -> ExpectedError:
    if error.curve is None:
        return error
    return replace(error, said=f"± {error.at(size):.6g} in a group of {size} rows")


def _law(mechanism: object) -> NoiseLaw | None:
    """The law of the noise that a mechanism adds, if it adds noise."""
    if isinstance(mechanism, ThresholdedCounts | CountedKeys):
        return mechanism.noise.law
    return mechanism.law if isinstance(mechanism, DiscreteLaplace | DiscreteGaussian) else None


def priced(
    question: Question, *, amounts: Amounts, level: Fraction = LEVEL, weights: Mapping[str, Number] | None = None
) -> Priced:
    """The question with mechanisms that together cost no more than the amounts; refuses one that is too large.

    `weights` gives output columns a larger or smaller part of the price than the 1 of all others.
    """
    require_columns(question)
    require_rows(question)
    program = lower(question)
    require_passes(program)
    split = _weights(program, {} if weights is None else weights)
    return Priced(program, steps(program, amounts=amounts, level=level, weights=split), level)


def _weights(program: Program, given: Mapping[str, Number]) -> list[Fraction]:
    """The weight of each measurement: the largest weight of an output column that needs it."""
    columns = dict(program.question.output.columns)
    unknown = [name for name in given if name not in columns]
    if unknown:
        raise InvalidParameter("weights", unknown[0], allowed=f"for output columns: {', '.join(columns)}")
    found: dict[int, Fraction] = {}
    for name, post in columns.items():
        weight = positive(weight=given.get(name, 1))
        for statistic in statistics(post):
            for index in program.recipes[statistic].inputs:
                found[index] = max(weight, found.get(index, Fraction(0)))
    return [found.get(index, Fraction(1)) for index in range(len(program.measurements))]


def statistics(post: Post) -> Iterator[int]:
    """The statistics that an output term is made of."""
    if isinstance(post, ValueOf):
        yield post.index
    elif isinstance(post, Compute):
        for argument in post.arguments:
            yield from statistics(argument)
