"""A question that was asked and not yet paid for: what it means, costs and is worth, and how to run it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TypeAlias

from dalenius.accounting.amounts import Charge
from dalenius.accounting.shares import two_digits
from dalenius.catalog.blocks import describe
from dalenius.catalog.catalog import Population
from dalenius.catalog.declarations import share as written_share
from dalenius.engines.engine import Statements
from dalenius.engines.several import describe_sql
from dalenius.errors import InvalidParameter, QueryRefused
from dalenius.ledger.accounts import Standing
from dalenius.measuring.expectations import ExpectedError
from dalenius.measuring.pricing import Priced, best_priced
from dalenius.privacy.numbers import Number, exact, format_number, whole
from dalenius.query.questions import Question
from dalenius.session.answers.answers import Answer
from dalenius.session.curator import Principal, share_left
from dalenius.session.executor import Payer, QueryPurchase
from dalenius.session.offers import Offer, billed, least_share, offers, promised
from dalenius.session.progress import Progress
from dalenius.session.purchases import NOTHING_FITS, Cost, buy, cost_of
from dalenius.session.rehearsals import rehearsed

Errors: TypeAlias = Number | Mapping[str, Number]
"""The largest error: one for all columns, or one for each by name."""
Weights: TypeAlias = Mapping[str, Number]
"""How much of the price goes to a column, relative to 1 for the others."""

_LONGEST = 100
_TRIES, _SMALLER = 16, Fraction(3, 4)


class ExpectedErrors(dict[str, ExpectedError]):
    """The expected error of each output column, by its name; printed a line each."""

    def __str__(self) -> str:
        return "\n".join(f"{name}: {error}" for name, error in self.items())

    __repr__ = __str__


class Derivation(str):
    """A derivation, printed as it is also where a notebook or prompt shows it."""

    __slots__ = ()
    __repr__ = str.__str__


class Query:
    """A question, bound and checked, that nobody has paid for yet.

    `explain`, `cost`, `expected_error` and `rehearse` read no data and spend nothing; what they say depends on the
    question, the catalog and the ledger alone. `run` charges before it reads.
    Textbook: S18.9.
    """

    def __init__(self, question: Question, principal: Principal, text: str = "") -> None:
        self.question, self._principal, self.text = question, principal, _storable(text)

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
        """What it would cost, as a loss and as a share of each population's budget, with a word about large epsilons.

        Textbook: S18.10.
        """
        offer = Offer(epsilon, share, error, size, level, weights)
        with self._principal.paying(self.question) as payer:
            return cost_of(self._principal, self._purchase(offer, payer), payer, epsilon=epsilon)

    def expected_error(
        self,
        *,
        epsilon: Number | None = None,
        share: Number | None = None,
        error: Errors | None = None,
        size: int | None = None,
        level: Number | None = None,
        weights: Weights | None = None,
    ) -> ExpectedErrors:
        """The error bar that each output column is expected to have; `size` is the number of rows of a group."""
        offer = Offer(epsilon, share, error, size, level, weights)
        with self._principal.paying(self.question) as payer:
            return ExpectedErrors(self._priced(offer, payer).expected_error(self._size(size)))

    def explain(
        self, *, epsilon: Number | None = None, share: Number | None = None, weights: Weights | None = None
    ) -> Derivation:
        """The derivation: unit, stability of each step, clamps, mechanism, theorem, loss and the engine's SQL.

        Without a price it is shown for one percent of the budget.
        """
        with self._principal.paying(self.question) as payer:
            price = self._priced(Offer(epsilon, share, weights=weights).or_default(), payer)
            statements = Statements(self._principal.curator.engine)
            return Derivation(self._derived(price, payer, statements, as_run=self._principal.analyst is None))

    def rehearse(
        self, *, epsilon: Number | None = None, share: Number | None = None, level: Number | None = None
    ) -> Answer:
        """The answer on made-up tables with the public schema, for one percent of the budget unless told otherwise.

        Nothing is read or charged, and its numbers mean nothing.
        """
        with self._principal.paying(self.question) as payer:
            price = self._priced(Offer(epsilon, share, level=level).or_default(), payer)
            return rehearsed(price, self._principal.curator.catalog)

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
        Textbook: S18.8.
        """
        places = None if digits is None else whole(0, digits=digits)
        offer = Offer(epsilon, share, error, size, level, weights, bool(nonnegative), places)
        with self._principal.paying(self.question) as payer:
            purchase = self._purchase(offer, payer)
            statements = Statements(self._principal.curator.engine, purchase.passes)
            purchase = replace(purchase, derivation=self._derived(purchase.priced, payer, statements))
            return buy(
                self._principal,
                purchase,
                payer,
                text=self.text,
                statements=statements,
                key=key,
                fresh=fresh,
                progress=progress,
                advice=lambda: self._fitting(offer, payer),
            )

    def _derived(self, price: Priced, payer: Payer, statements: Statements, *, as_run: bool = False) -> str:
        """The derivation, with what it means to be inside one block where the question is. What tables are called where
        they stay is shown in the SQL `as_run`, which is for the owner and never stored with an answer."""
        sql = statements.sql if as_run else partial(describe_sql, statements)
        return "\n".join([*describe(payer.blocks), price.explain(sql)])

    # ---- the price

    def _purchase(self, offer: Offer, payer: Payer) -> QueryPurchase:
        """What an offer buys, as the budgets stand; its derivation is not written yet."""
        share, price = self._solved(offer, payer)
        bill = billed(self._people(), price.charge, epsilon=offer.epsilon, share=share)
        varies = any(each.renyi_filter.order is not None for each in self._people())
        return QueryPurchase(price, "", offer.nonnegative, offer.digits, bill, offer.request if varies else None)

    def _priced(self, offer: Offer, payer: Payer) -> Priced:
        return self._solved(offer, payer)[1]

    def _solved(self, offer: Offer, payer: Payer) -> tuple[Number | None, Priced]:
        """The question at the epsilon or share of an offer, or at the least share at which every column's expected
        error is within its target; and that share."""
        offer.require_one()
        priced_at = partial(self._at, offer, payer)
        share = offer.share
        if offer.error is not None:
            size = self._size(offer.size)
            share = least_share(self.question, offer, size, lambda share: priced_at(share).expected_error())
        price = priced_at(share)
        price.explain()  # refuses what would be too long to be stored, also to whoever only asks for the price
        return share, price

    def _at(self, offer: Offer, payer: Payer, share: Number | None) -> Priced:
        """The question at the epsilon of an offer, or at a share of the budgets as they stand."""
        people, price = self._people(), {"epsilon": offer.epsilon, "share": share}
        spent = {
            name: [each.spent for each in standing if len(each.account.path) == 1]
            for name, standing in self._standing(payer).items()
        }

        def fits(offered: Mapping[str, Charge], drawn: Mapping[str, Charge]) -> bool:
            return self._times(payer, billed(people, offered if offer.epsilon is None else drawn, **price)) > 0

        return best_priced(
            self.question,
            offers(people, **price, spent=spent),
            orders={each.name: each.renyi_filter.order for each in people},
            promise=promised(people, **price),
            level=offer.agreed_level(),
            weights=offer.weights,
            fits=fits,
        )

    def _fitting(self, offer: Offer, payer: Payer) -> str:
        """A smaller offer of the same kind that would still fit."""
        name, written = ("share", written_share) if offer.epsilon is None else ("epsilon", format_number)
        most = min(map(share_left, self._standing(payer).values()))
        if offer.epsilon is not None:
            most = min(exact(epsilon=offer.epsilon), *(each.budget.epsilon for each in self._people()))
        for step in range(_TRIES if most else 0):
            size = two_digits(most * _SMALLER**step)
            tried = replace(offer, error=None, share=size) if offer.epsilon is None else replace(offer, epsilon=size)
            try:
                purchase = self._purchase(tried, payer)
            except (InvalidParameter, QueryRefused):  # less than the least, or than any noise can be had for
                break
            if self._times(payer, purchase.charge):
                return f"{name}={str(written(size))!r} would still fit."
        return NOTHING_FITS

    def _standing(self, payer: Payer) -> dict[str, tuple[Standing, ...]]:
        """How the accounts that pay stand, in the one block that the question is about, or in all."""
        ledger = self._principal.curator.ledger
        return {
            name: ledger.standing(account, block=payer.blocks.get(name, "")) for name, account in payer.accounts.items()
        }

    def _times(self, payer: Payer, charge: Mapping[str, Charge]) -> int:
        """How often this could be charged."""
        return self._principal.curator.ledger.times(payer.charges(charge))

    def _people(self) -> list[Population]:
        return [self._principal.population(name) for name in self.question.relation.populations]

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
