"""A question that was asked and not yet paid for: what it means, costs and is worth, and how to run it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

from dalenius.accounting.amounts import Amount
from dalenius.accounting.shares import affordable, epsilon_of
from dalenius.curator.answers.answers import Answer
from dalenius.curator.answers.encoding import fitting
from dalenius.curator.answers.notes import notes
from dalenius.curator.asking.prices import Offer, bought, warning
from dalenius.curator.asking.progress import Progress, ticking
from dalenius.curator.asking.rehearsals import rehearsed
from dalenius.curator.asking.targets import least_share
from dalenius.curator.blocks import told
from dalenius.curator.cards.making import card
from dalenius.curator.catalog import Population
from dalenius.curator.curator import Asker, balance
from dalenius.curator.door import Keeping, Payable, require_covered
from dalenius.curator.ledger.accounts import Receipt
from dalenius.curator.names import percent
from dalenius.curator.replays import replays, require_due
from dalenius.engines.several import told as shown_text
from dalenius.errors import AccessDenied, BudgetExceeded, QueryRefused
from dalenius.privacy.numbers import Number, positive, shown, whole
from dalenius.query.estimates.expectations import ExpectedError
from dalenius.query.pricing.pricing import Priced, priced
from dalenius.query.pricing.releasing import Released
from dalenius.query.pricing.sizes import MOST_ANSWER
from dalenius.query.questions import Question

Errors: TypeAlias = Number | Mapping[str, Number]
"""The largest error: one for all columns, or one for each by name."""
Weights: TypeAlias = Mapping[str, Number]
"""How much of the price goes to a column, relative to 1 for the others."""

_LONGEST = 100
_OF_CARD = 10_000_000
"""How many bytes are left for a card, which is far shorter."""


@dataclass(frozen=True)
class Cost:
    """What an answer would cost. Nothing was read or spent to say so.

    `amounts` is what would be charged, `shares` the part of each population's whole budget that this is, `left` the
    part that whoever asks could still use afterwards; None where it is more than there is left. `blocks` names the only
    block of a partitioned population that is asked about: amount and rest are this block's. `now` is the part that is
    left as long as nothing is asked, where that is known.
    """

    loss: object
    amounts: Mapping[str, Amount]
    shares: Mapping[str, Fraction]
    left: Mapping[str, Fraction | None]
    epsilons: Mapping[str, Fraction]
    note: str | None = None
    blocks: Mapping[str, str] = field(default_factory=dict)
    now: Mapping[str, Fraction] = field(default_factory=dict)

    @property
    def affordable(self) -> bool:
        """Whether every account still holds enough."""
        return None not in self.left.values()

    def __str__(self) -> str:
        lines = [f"loss: {self.loss}", *map(self._line, self.shares), *([f"note: {self.note}"] if self.note else [])]
        return "\n".join([*lines, "nothing was read or spent"])

    def _line(self, name: str) -> str:
        rest, epsilon = self.left[name], shown(self.epsilons[name])
        known = f", which is {percent(self.now[name])}" if name in self.now else ""
        after = f"more than is left{known}" if rest is None else f"{percent(rest)} would be left"
        inside = f" inside the block {self.blocks[name]}" if name in self.blocks else ""
        return f"{name}: {percent(self.shares[name])} of the budget (what epsilon = {epsilon} buys){inside}; {after}"

    __repr__ = __str__


class ExpectedErrors(dict[str, ExpectedError]):
    """The expected error of each output column, by its name; printed a line each."""

    def __str__(self) -> str:
        return "\n".join(f"{name}: {error}" for name, error in self.items())

    __repr__ = __str__


class Derivation(str):
    """A derivation, printed as it is also where a notebook or prompt shows it."""

    __slots__ = ()
    __repr__ = str.__str__


class Asked:
    """A question, bound and checked, that nobody has paid for yet.

    `explain`, `cost`, `expected_error` and `rehearse` read no data and spend nothing; what they say depends on the
    question, the catalog and the ledger alone. `run` charges before it reads.
    Textbook: S18.9.
    """

    def __init__(self, question: Question, asker: Asker, text: str = "") -> None:
        self.question, self._asker, self.text = question, asker, _storable(text)

    def __repr__(self) -> str:
        return unpaid(self.text)

    def cost(
        self,
        *,
        epsilon: Number | None = None,
        share: Number | None = None,
        error: Errors | None = None,
        size: int | None = None,
        level: Number | None = None,
        weights: Weights | None = None,
    ) -> Cost:
        """What it would cost, as a loss and as a share of each population's budget."""
        return self.cost_of(self._priced(Offer(epsilon, share, error, size, level), weights), epsilon=epsilon)

    def cost_of(self, price: Payable, *, epsilon: Number | None = None) -> Cost:
        """What something made of this question's rows would cost; `epsilon` is what was offered, if it was."""
        require_covered(price)
        people, given = self._people(), None if epsilon is None else positive(epsilon=epsilon)
        shares = {name: people[name].rectangle.share(amount) for name, amount in price.charge.items()}
        epsilons = {name: given or epsilon_of(people[name].rectangle, part) for name, part in shares.items()}
        left = {name: self._left_after(people[name], amount) for name, amount in price.charge.items()}
        blocks = self._asker.blocks(self.question)
        now = {name: balance(people[name], self._left(people[name]), left=True).share for name in price.charge}
        return Cost(price.loss, price.charge, shares, left, epsilons, warning(people, epsilons), blocks, now)

    @property
    def most_seconds(self) -> float:
        """How long one question may take."""
        return self._asker.curator.door.seconds

    @property
    def delta(self) -> Fraction:
        """The largest delta of the populations that it is about."""
        return max(each.budget.delta for each in self._people().values())

    def expected_error(
        self,
        *,
        epsilon: Number | None = None,
        share: Number | None = None,
        size: int | None = None,
        level: Number | None = None,
        weights: Weights | None = None,
    ) -> ExpectedErrors:
        """The error bar that each output column is expected to have; `size` is the number of rows of a group."""
        offer = Offer(epsilon, share, None, size, level)
        return ExpectedErrors(self._priced(offer, weights).expected_error(self._size(size)))

    def explain(
        self, *, epsilon: Number | None = None, share: Number | None = None, weights: Weights | None = None
    ) -> Derivation:
        """The derivation: unit, stability of each step, clamps, mechanism, theorem, loss and the engine's SQL.

        Without a price it is shown for one percent of the budget.
        """
        price = self._priced(Offer(epsilon, share).or_default(), weights)
        return Derivation(self._derived(price, as_run=self._asker.analyst is None))

    def rehearse(
        self, *, epsilon: Number | None = None, share: Number | None = None, level: Number | None = None
    ) -> Answer:
        """The answer on made-up tables with the public schema, for one percent of the budget unless told otherwise.

        Nothing is read or charged, and its numbers mean nothing.
        """
        price = self._priced(Offer(epsilon, share, level=level).or_default(), None)
        return rehearsed(price, self._asker.curator.catalog)

    def run(
        self,
        *,
        epsilon: Number | None = None,
        share: Number | None = None,
        error: Errors | None = None,
        size: int | None = None,
        level: Number | None = None,
        weights: Weights | None = None,
        nonnegative: bool = False,
        digits: int | None = None,
        key: str | None = None,
        fresh: bool = False,
        progress: Callable[[Progress], object] | None = None,
    ) -> Answer:
        """Charge, and answer. A refusal charges nothing; work that fails afterwards stays charged.

        An equal question at an equal price that was answered before is answered from the ledger, free of charge;
        `fresh` pays for a new draw instead. `key` is your own name for this attempt: a retry with the same key is not
        charged again. It waits while the first attempt still runs in this process; where that runs elsewhere, or died
        after the charge, it is told `WorkStopped`, and nothing is drawn a second time.

        Say what you pay by exactly one of `epsilon`, `share` ('1%') and `error` ('± 50 at 95%', or '2%' of `size`).
        `nonnegative` shows negative counts as 0, and `digits` rounds; both work on what was released. `progress` is
        called twice a second while the engine works; only the owner is told how many rows are done.
        """
        places = None if digits is None else whole(0, digits=digits)
        price = self._priced(Offer(epsilon, share, error, size, level), weights)
        derivation = self._derived(price)

        def finished(released: Released) -> Answer:
            shaped = price.answer(released, nonnegative=nonnegative, digits=places)
            answer = Answer.from_shaped(shaped, level=price.level, derivation=derivation, notes=notes(price, shaped))
            return fitting(answer, MOST_ANSWER - _OF_CARD)

        form = bool(nonnegative), places
        return self.buy(price, finished, text=self.text, form=form, key=key, fresh=fresh, progress=progress)

    def buy(
        self,
        price: Payable,
        finished: Callable[[Any], Answer],
        *,
        text: str,
        form: object = (),
        key: str | None = None,
        fresh: bool = False,
        progress: Callable[[Progress], object] | None = None,
        kept: Keeping | None = None,
    ) -> Answer:
        """Charge, and release something that is made of this question's rows; `finished` shows it as an answer, and
        `text` says in the ledger what it is; `kept` lets a retry with the same key go on. Otherwise as `run`."""
        self._asker.curator.require_open()
        require_due(self._asker)
        self._require_within_grant(price)
        payer = self._asker.payer(self.question)
        draft = card(price, text, self._people(), payer)

        def received(released: Any, receipt: Receipt) -> Answer:
            charge = self._listed(lambda each: each.rectangle.share(price.charge[each.name]))
            return replace(finished(released), charge=charge, receipt=receipt.id, card=draft.of(receipt))

        tick = progress and ticking(progress, owner=self._asker.analyst is None)
        with self._asker.curator.working():
            try:
                door = self._asker.curator.door
                answer = door.answer(price, payer, received, form=form, key=key, fresh=fresh, tick=tick, kept=kept)
                left = self._listed(lambda each: balance(each, self._left(each), left=True).share)
                return replace(answer, left=left)
            except BudgetExceeded as error:
                raise error.advised(f"{self._fitting()}{self._free()}") from None

    def _require_within_grant(self, price: Payable) -> None:
        """Refuse a question that costs more than this asker may spend on one."""
        most = self._asker.grant.most_epsilon
        if most is None:
            return
        for name, amount in price.charge.items():
            rectangle = self._asker.population(name).rectangle
            if not amount <= rectangle.amount(epsilon=min(most, rectangle.budget.epsilon)):
                raise AccessDenied(
                    self._asker.name,
                    what=f"spend more than epsilon = {shown(most)} on one question",
                    instead=f"Ask with epsilon={str(shown(most))!r} or less.",
                )

    def _fitting(self) -> str:
        """Which epsilon could still be paid for by everybody who pays."""
        found = [affordable(each.rectangle, self._left(each)) for each in self._people().values()]
        known = [epsilon for epsilon in found if epsilon is not None]
        if len(known) < len(found):
            return "Too little is left for any question of this kind."
        return f"epsilon={str(shown(min(known)))!r} would still fit."

    def _free(self) -> str:
        """What can still be had where no budget is left; it depends on ledger and catalog alone.

        Textbook: S18.4.
        """
        count = len(replays(self._asker))
        answers = "1 answer that was" if count == 1 else f"{count} answers that were"
        return f" {answers} bought before can still be had: see replays()." if count else ""

    def _left(self, population: Population) -> Amount:
        """What may still be charged for this question: of the one block that it is about, or of all."""
        return self._asker.left(population.name, block=self._asker.blocks(self.question).get(population.name, ""))

    def _derived(self, price: Priced, *, as_run: bool = False) -> str:
        """The derivation, with what it means to be inside one block where the question is. What tables are called where
        they stay is shown in the SQL `as_run`, which is for the owner and never stored with an answer."""
        lines, engine = told(self._asker.blocks(self.question)), self._asker.curator.engine
        return "\n".join([*lines, price.explain(engine.spelled if as_run else partial(shown_text, engine))])

    def _listed(self, share: Callable[[Population], Fraction]) -> str:
        inside = {name: f" (block {block})" for name, block in self._asker.blocks(self.question).items()}
        people = self._people().values()
        return ", ".join(f"{percent(share(each))} of {each.name}{inside.get(each.name, '')}" for each in people)

    # ---- the price

    def _people(self) -> dict[str, Population]:
        return {name: self._asker.population(name) for name in self.question.relation.populations}

    def _priced(self, offer: Offer, weights: Weights | None) -> Priced:
        offer.require_one()
        self._asker.payer(self.question).require_one_relation()
        level = offer.agreed_level()
        share = offer.share if offer.error is None else self._solved(offer, level, weights)
        price = self._at(offer.epsilon, share, level, weights)
        price.explain()  # refuses what would be too long to be stored, also to whoever only asks for the price
        return price

    def bought(self, *, epsilon: Number | None = None, share: Number | None = None) -> dict[str, Amount]:
        """What an epsilon or a share buys of the budget of everybody who would pay."""
        return bought(self._people().values(), epsilon=epsilon, share=share)

    def _at(self, epsilon: Number | None, share: Number | None, level: Fraction, weights: Weights | None) -> Priced:
        return priced(self.question, amounts=self.bought(epsilon=epsilon, share=share), level=level, weights=weights)

    def _solved(self, offer: Offer, level: Fraction, weights: Weights | None) -> Fraction:
        """The least share at which every column's expected error is within its target."""
        size = self._size(offer.size)
        return least_share(
            self.question, offer, size, lambda share: self._at(None, share, level, weights).expected_error()
        )

    def _left_after(self, population: Population, charge: Amount) -> Fraction | None:
        left = self._left(population)
        return balance(population, left - charge, left=True).share if charge <= left else None

    def _size(self, size: int | None) -> int | None:
        """The number of rows of a group: as given, or declared for the one table where there is one group."""
        if size is not None:
            return whole(1, size=size)
        tables = self.question.relation.tables
        return tables[0].size if len(tables) == 1 and not self.question.keys else None


def unpaid(text: str) -> str:
    """How a question shows itself that was asked and not paid for."""
    asked = " ".join(text.split()) or "a question"
    short = asked if len(asked) <= _LONGEST else asked[: _LONGEST - 1] + "…"
    return f"<{short}; not paid for: see .cost() and .run()>"


def _storable(text: str) -> str:
    """The question's text, which is stored with its answer; refused here, where it costs nothing."""
    try:
        text.encode()
    except UnicodeEncodeError:
        instead = "Rename the column."
        raise QueryRefused(
            "a name", rule="it is not valid Unicode: half of a pair stands alone", instead=instead
        ) from None
    return text
