"""A question with its price: what is charged, what is measured for it, and what it is worth, before data is read.

The price is split among the measurements, equally unless told otherwise, where one that stands for several numbers has
the parts of all of them; each gets the mechanism with the smaller error at its part of the price (see `choosing`).

How large one question may be: looked at when it is priced, before anything is charged, by public facts alone.

Whoever only wants to know a price meets the same limits as whoever pays: what can be explained can be asked and stored.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import chain

from dalenius.accounting.allowance import Allowance
from dalenius.accounting.budget import Budget
from dalenius.accounting.composition import compose
from dalenius.errors import InvalidParameter, QueryRefused, TooManyKeys
from dalenius.measuring import explain
from dalenius.measuring import postprocess as kinds
from dalenius.measuring.choosing import Amounts, Orders, PricedMeasurement, by_own_law, spread, steps
from dalenius.measuring.estimates import LEVEL, Estimates, estimate
from dalenius.measuring.expectations import ExpectedError, expect
from dalenius.measuring.measurements import Measurement, MeasurementPlan, SplitSums, lower
from dalenius.measuring.postprocess import Kind, Shaped, shape
from dalenius.measuring.releasing import Released, release
from dalenius.measuring.robust import robust_expectation
from dalenius.mechanisms.keys.thresholding import CountedKeys, ThresholdedCounts
from dalenius.mechanisms.noise.gaussian import DiscreteGaussian
from dalenius.mechanisms.noise.laplace import DiscreteLaplace
from dalenius.mechanisms.robust.grouped import GroupedStatistic
from dalenius.mechanisms.selection.quantiles import PrivateQuantiles
from dalenius.privacy.losses import Loss
from dalenius.privacy.numbers import Number, positive
from dalenius.query.plan.passes import Pass, RunPass
from dalenius.query.questions import Compute, KeyOf, Post, Question, Statistic, ValueOf
from dalenius.query.types import Choice, Domain
from dalenius.randomness.entropy import Entropy
from dalenius.randomness.laws import NoiseLaw

MOST_COLUMNS = 200
"""How many columns an answer may show, and of how many different statistics they may be made."""
MOST_PASSES = 100
"""How often the data may be read for one question."""
MOST_MEASUREMENTS = 300
"""How many numbers of one group are measured for one question; a correlation takes up to six, and its bar is worked out
from all of them."""
MOST_DERIVATION = 1_000_000
"""The longest derivation, in bytes of UTF-8."""
MOST_ANSWER = 200_000_000
"""The longest answer that a ledger keeps, in bytes."""
_OF_VALUE = 24
"""How long a number becomes as JSON, with a comma."""


def require_columns(question: Question) -> None:
    """Refuse an answer with too many columns, or with columns that are made of too many statistics."""
    shown, statistics = len(question.output.columns), len(question.statistics)
    if max(shown, statistics) > MOST_COLUMNS:
        what = f"{shown} columns" if shown > MOST_COLUMNS else f"columns made of {statistics} statistics"
        raise QueryRefused(
            "the answer",
            rule=f"it has {what}, and at most {MOST_COLUMNS} are allowed in one question",
            instead="Ask for some of them here, and for the others in further questions.",
        )


def require_passes(program: MeasurementPlan) -> None:
    """Refuse a question for which the data would be read too often, or too much measured."""
    if len(program.measurements) > MOST_MEASUREMENTS:
        raise QueryRefused(
            "the question",
            rule=f"its columns are made of {len(program.measurements)} measurements, and at most {MOST_MEASUREMENTS} "
            "are allowed",
            instead="Ask for fewer correlations, covariances, variances or means of different terms in one question.",
        )
    if len(program.passes) > MOST_PASSES:
        raise QueryRefused(
            "the question",
            rule=f"the data would be read {len(program.passes)} times for it, and at most {MOST_PASSES} are allowed",
            instead="Ask for fewer quantiles, modes, histograms or counts of different values in one question: each of "
            "their columns is read by itself.",
        )


def require_rows(question: Question) -> None:
    """Refuse an answer about so many public keys that it would be too long; one of found keys is shortened."""
    rows, columns = question.public_rows, question.output.columns
    most = MOST_ANSWER // sum(_length(question, post) for _, post in columns)
    if rows is not None and rows > most:
        raise TooManyKeys(
            "the answer",
            rule=f"it shows {rows:,} rows of {len(columns)} columns, and at most {most:,} such rows are allowed",
            instead="Use coarser or fewer keys, as with BIN(x, width), DATE_TRUNC or WHERE x IN (...), or fewer "
            "columns.",
        )


def _length(question: Question, post: Post) -> int:
    """How many bytes of an answer one value becomes, with its bar."""
    if not isinstance(post, KeyOf):
        return 2 * _OF_VALUE * question.width(post)
    domain = question.key_domains[post.index]
    texts = domain.values if isinstance(domain, Choice) else ()
    return max([_OF_VALUE, *(len(json.dumps(text, ensure_ascii=False).encode()) + 1 for text in texts)])


def derive(lines: Iterable[str]) -> str:
    """The lines of a derivation as one text; refuses one that becomes too long, as soon as it does."""
    kept, length = [], 0
    for line in lines:
        kept.append(line)
        length += len(line.encode(errors="surrogatepass")) + 1
        if length > MOST_DERIVATION:
            raise QueryRefused(
                "the question",
                rule=f"its derivation, which is stored with the answer, is longer than {MOST_DERIVATION:,} bytes",
                instead="Ask for fewer columns at once, or with shorter terms and conditions.",
            )
    return "\n".join(kept)


@dataclass(frozen=True)
class Priced:
    """A question, its measurements and their mechanisms. All of it is public."""

    program: MeasurementPlan
    steps: tuple[PricedMeasurement, ...]
    level: Fraction
    promise: Budget | None = None
    """What the answer keeps by itself, where that was asked for."""

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
        """What is drawn from each population: the prices of all steps."""
        names = self.question.relation.populations
        return {name: reduce(lambda a, b: a + b, (step.charge[name] for step in self.steps)) for name in names}

    @property
    def loss(self) -> Loss:
        """The composed loss of all steps."""
        return compose([step.loss for step in self.steps])

    def run(self, run_pass: RunPass, allowance: Allowance, entropy: Entropy) -> Released:
        """Measure everything, each measurement drawing on the allowance."""
        return release(self.program, self.steps, [run_pass(step) for step in self.passes], allowance, entropy)

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

    def spread(self, weights: Mapping[str, Number]) -> float:
        """How large the errors are, all in all: their geometric mean by weight, to compare prices of one question."""
        split = _weights(self.program, weights)
        parts = zip(split, self.steps, strict=True)
        return float(math.prod(spread(step, self.level) ** float(weight / sum(split)) for weight, step in parts))

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
            return expect(statistic, [], self._domains(statistic), level=self.level, ranks=ranks)
        if isinstance(first, GroupedStatistic):
            return robust_expectation(first, self._domains(statistic)[0], self.level)
        laws = [law for law in map(_law, mechanisms) if law is not None]
        return expect(statistic, laws, self._domains(statistic), level=self.level)

    def _domains(self, statistic: Statistic) -> list[Domain]:
        return [self.question.relation.schema[name] for name in statistic.columns]

    def explain(self, spelled: Callable[[Pass], str] | None = None) -> str:
        """The derivation, and the engine's SQL where `compile_sql` writes it; refuses one that would be too long."""
        texts = explain.sql(self.program, spelled) if spelled else ()
        return derive(chain(explain.derivation(self.program), explain.measurements(self.program, self.steps), texts))


def _of_size(error: ExpectedError, size: int) -> ExpectedError:
    if error.curve is None:
        return error
    return replace(error, said=f"± {error.at(size):.6g} in a group of {size} rows")


def _law(mechanism: object) -> NoiseLaw | None:
    """The law of the noise that a mechanism adds, if it adds noise."""
    if isinstance(mechanism, ThresholdedCounts | CountedKeys):
        return mechanism.noise.law
    return mechanism.law if isinstance(mechanism, DiscreteLaplace | DiscreteGaussian) else None


def best_priced(
    question: Question, offers: Sequence[Amounts], *, orders: Orders, promise: Budget | None = None,
    level: Fraction = LEVEL, weights: Mapping[str, Number] | None = None,
    fits: Callable[[Amounts, Amounts], bool] = lambda offered, drawn: True,
) -> Priced:  # fmt: skip
    """The question at the offer that gives the smaller errors, all in all; of those that still fit, if any do.

    `promise` is what the answer must keep by itself, where that was asked for: all offers do. `fits` looks at what is
    offered and at what would be drawn of it.
    """
    found, refused = list[tuple[Amounts, Priced]](), None
    for amounts in offers:
        try:
            each = priced(question, amounts=amounts, orders=orders, level=level, weights=weights)
        except (InvalidParameter, QueryRefused) as error:
            refused = error
            continue
        each = replace(each, promise=promise)
        found.append((amounts, each))
        if promise and promise.delta and len(each.steps) == 1:
            found += [(amounts, replace(each, steps=(own,))) for own in by_own_law(each.steps[0], promise, orders)]
    if not found:
        assert refused is not None  # there is an offer, if only of a budget that is spent
        raise refused
    fitting = [each for amounts, each in found if fits(amounts, each.charge)]
    return min(fitting or [each for _, each in found], key=lambda each: each.spread(weights or {}))


def priced(
    question: Question, *, amounts: Amounts, orders: Orders | None = None, level: Fraction = LEVEL,
    weights: Mapping[str, Number] | None = None,
) -> Priced:  # fmt: skip
    """The question with mechanisms that together cost no more than the amounts; refuses one that is too large.

    `weights` gives output columns a larger or smaller part of the price than the 1 of all others; `orders` are those in
    which populations are charged, unless they are those of the amounts.
    """
    require_columns(question)
    require_rows(question)
    program = lower(question)
    require_passes(program)
    split = _weights(program, {} if weights is None else weights)
    charged = orders or {name: amount.order for name, amount in amounts.items()}
    return Priced(program, steps(program, amounts=amounts, orders=charged, level=level, weights=split), level)


def _weights(program: MeasurementPlan, given: Mapping[str, Number]) -> list[Fraction]:
    """The weight of each measurement: the largest weight of an output column that needs it, for each number that would
    be measured by itself if its noise were not shared."""
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
    return [found.get(index, Fraction(1)) * _numbers(part) for index, part in enumerate(program.measurements)]


def _numbers(part: Measurement) -> int:
    """How many numbers of each group share the noise of a measurement that stands for all of them."""
    return len(part.totals) if isinstance(part, SplitSums) else 1


def statistics(post: Post) -> Iterator[int]:
    """The statistics that an output term is made of."""
    if isinstance(post, ValueOf):
        yield post.index
    elif isinstance(post, Compute):
        for argument in post.arguments:
            yield from statistics(argument)
