"""A question that was asked and not yet paid for: what it means, costs and is worth, and how to run it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import TypeAlias

from dalenius.catalog.blocks import describe
from dalenius.engines.engine import Statements
from dalenius.engines.several import describe_sql
from dalenius.errors import QueryRefused
from dalenius.measuring.expectations import ExpectedError
from dalenius.measuring.pricing import Priced, priced
from dalenius.privacy.numbers import Number, whole
from dalenius.query.questions import Question
from dalenius.session.answers.answers import Answer
from dalenius.session.curator import Principal
from dalenius.session.executor import Payer, QueryPurchase
from dalenius.session.offers import Offer, bought, least_share
from dalenius.session.progress import Progress
from dalenius.session.purchases import Cost, buy, cost_of
from dalenius.session.rehearsals import rehearsed

Errors: TypeAlias = Number | Mapping[str, Number]
"""The largest error: one for all columns, or one for each by name."""
Weights: TypeAlias = Mapping[str, Number]
"""How much of the price goes to a column, relative to 1 for the others."""

_LONGEST = 100


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
        price = self._priced(Offer(epsilon, share, error, size, level, weights))
        with self._principal.paying(self.question) as payer:
            return cost_of(self._principal, QueryPurchase(price, "", False, None), payer, epsilon=epsilon)

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
        offer = Offer(epsilon, share, None, size, level, weights)
        with self._principal.paying(self.question):
            return ExpectedErrors(self._priced(offer).expected_error(self._size(size)))

    def explain(
        self, *, epsilon: Number | None = None, share: Number | None = None, weights: Weights | None = None
    ) -> Derivation:
        """The derivation: unit, stability of each step, clamps, mechanism, theorem, loss and the engine's SQL.

        Without a price it is shown for one percent of the budget.
        """
        with self._principal.paying(self.question) as payer:
            price = self._priced(Offer(epsilon, share, weights=weights).or_default())
            statements = Statements(self._principal.curator.engine)
            return Derivation(self._derived(price, payer, statements, as_run=self._principal.analyst is None))

    def rehearse(
        self, *, epsilon: Number | None = None, share: Number | None = None, level: Number | None = None
    ) -> Answer:
        """The answer on made-up tables with the public schema, for one percent of the budget unless told otherwise.

        Nothing is read or charged, and its numbers mean nothing.
        """
        with self._principal.paying(self.question):
            price = self._priced(Offer(epsilon, share, level=level).or_default())
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
        price = self._priced(offer)
        with self._principal.paying(self.question) as payer:  # as late as can be: it says who may ask now
            statements = Statements(self._principal.curator.engine, price.passes)
            purchase = QueryPurchase(price, self._derived(price, payer, statements), offer.nonnegative, offer.digits)
            return buy(
                self._principal,
                purchase,
                payer,
                text=self.text,
                statements=statements,
                key=key,
                fresh=fresh,
                progress=progress,
            )

    def _derived(self, price: Priced, payer: Payer, statements: Statements, *, as_run: bool = False) -> str:
        """The derivation, with what it means to be inside one block where the question is. What tables are called where
        they stay is shown in the SQL `as_run`, which is for the owner and never stored with an answer."""
        sql = statements.sql if as_run else partial(describe_sql, statements)
        return "\n".join([*describe(payer.blocks), price.explain(sql)])

    # ---- the price

    def _priced(self, offer: Offer) -> Priced:
        offer.require_one()
        share = offer.share if offer.error is None else self._solved(offer)
        price = self._at(offer, share)
        price.explain()  # refuses what would be too long to be stored, also to whoever only asks for the price
        return price

    def _at(self, offer: Offer, share: Number | None) -> Priced:
        """The question at the epsilon of an offer, or at a share."""
        people = [self._principal.population(name) for name in self.question.relation.populations]
        amounts = bought(people, epsilon=offer.epsilon, share=share)
        return priced(self.question, amounts=amounts, level=offer.agreed_level(), weights=offer.weights)

    def _solved(self, offer: Offer) -> Fraction:
        """The least share at which every column's expected error is within its target."""
        size = self._size(offer.size)
        return least_share(self.question, offer, size, lambda share: self._at(offer, share).expected_error())

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
