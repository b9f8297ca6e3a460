"""Purchases: what one costs, and how it is bought. A question, a fit, a synthetic table and an online session are
bought in the same way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dalenius.accounting.amounts import Charge
from dalenius.accounting.shares import affordable, epsilon_of
from dalenius.catalog.catalog import Population
from dalenius.engines.engine import Statements
from dalenius.errors import AccessDenied, BudgetExceeded
from dalenius.ledger.accounts import Receipt
from dalenius.ledger.names import percent
from dalenius.privacy.numbers import Number, format_number, positive
from dalenius.session.answers.answers import Answer
from dalenius.session.cards.making import card
from dalenius.session.curator import Principal, balance
from dalenius.session.executor import Keeping, Payer, Purchase, require_covered
from dalenius.session.offers import warning
from dalenius.session.progress import Progress, ticking
from dalenius.session.replays import replays, require_due


@dataclass(frozen=True)
class Cost:
    """What an answer would cost. Nothing was read or spent to say so.

    `amounts` is what would be charged, `shares` the part of each population's whole budget that this is, `left` the
    part that whoever asks could still use afterwards; None where it is more than there is left. `blocks` names the only
    block of a partitioned population that is asked about: amount and rest are this block's. `now` is the part that is
    left as long as nothing is asked, where that is known.
    """

    loss: object
    amounts: Mapping[str, Charge]
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
        rest, epsilon = self.left[name], format_number(self.epsilons[name])
        known = f", which is {percent(self.now[name])}" if name in self.now else ""
        after = f"more than is left{known}" if rest is None else f"{percent(rest)} would be left"
        inside = f" inside the block {self.blocks[name]}" if name in self.blocks else ""
        return f"{name}: {percent(self.shares[name])} of the budget (what epsilon = {epsilon} buys){inside}; {after}"

    __repr__ = __str__


def cost_of(principal: Principal, purchase: Purchase, payer: Payer, *, epsilon: Number | None = None) -> Cost:
    """What a purchase would cost; `epsilon` is what was offered, if it was. Nothing is read or spent."""
    require_covered(purchase)
    account = _Account(principal, payer)
    given = None if epsilon is None else positive(epsilon=epsilon)
    people = account.people
    shares = {name: people[name].renyi_filter.share(amount) for name, amount in purchase.charge.items()}
    epsilons = {name: given or epsilon_of(people[name].renyi_filter, part) for name, part in shares.items()}
    rest = {name: account.left(name) for name in purchase.charge}
    left = {
        name: balance(people[name], rest[name] - amount, left=True).share if amount <= rest[name] else None
        for name, amount in purchase.charge.items()
    }
    now = {name: balance(people[name], amount, left=True).share for name, amount in rest.items()}
    note = warning(people, epsilons)
    return Cost(purchase.loss, purchase.charge, shares, left, epsilons, note, account.payer.blocks, now)


def buy(
    principal: Principal,
    purchase: Purchase,
    payer: Payer,
    *,
    text: str,
    statements: Statements | None = None,
    key: str | None = None,
    fresh: bool = False,
    progress: Callable[[Progress], object] | None = None,
    kept: Keeping | None = None,
) -> Answer:
    """Charge, and release what a purchase makes; `text` says in the ledger what it is, and `kept` lets a retry with the
    same key go on. A refusal charges nothing; work that fails afterwards stays charged."""
    require_due(principal)
    account = _Account(principal, payer)
    account.require_within_grant(purchase)
    people, charges = account.people, purchase.charge
    draft = card(purchase, text, people, account.payer)
    charged = account.listed({name: people[name].renyi_filter.share(charges[name]) for name in people})

    def labelled(answer: Answer, receipt: Receipt) -> Answer:
        return replace(answer, charge=charged, receipt=receipt.id, card=draft.of(receipt))

    tick = progress and ticking(progress, owner=principal.analyst is None)
    try:
        answer = principal.curator.executor.run(
            purchase, account.payer, labelled, statements=statements, key=key, fresh=fresh, tick=tick, kept=kept
        )
    except BudgetExceeded as error:
        raise error.advised(f"{account.fitting()}{_free(principal)}") from None
    left = {name: balance(each, account.left(name), left=True).share for name, each in people.items()}
    return replace(answer, left=account.listed(left))


@dataclass(frozen=True)
class _Account:
    """Who asks and who pays, looked up once for a purchase."""

    principal: Principal
    payer: Payer

    @property
    def people(self) -> dict[str, Population]:
        return {name: self.principal.population(name) for name in self.payer.accounts}

    def left(self, name: str) -> Charge:
        """What may still be charged to a population: of the one block that it is about, or of all."""
        return self.principal.curator.ledger.left(self.payer.accounts[name], block=self.payer.blocks.get(name, ""))

    def listed(self, shares: Mapping[str, Fraction]) -> str:
        """Shares of budgets in words."""
        inside = {name: f" (block {block})" for name, block in self.payer.blocks.items()}
        return ", ".join(f"{percent(share)} of {name}{inside.get(name, '')}" for name, share in shares.items())

    def require_within_grant(self, purchase: Purchase) -> None:
        """Refuse what costs more than this principal may spend on one question."""
        most = self.principal.grant.most_epsilon
        if most is None:
            return
        for name, amount in purchase.charge.items():
            renyi_filter = self.principal.population(name).renyi_filter
            if not amount <= renyi_filter.amount(epsilon=min(most, renyi_filter.budget.epsilon)):
                raise AccessDenied(
                    self.principal.name,
                    what=f"spend more than epsilon = {format_number(most)} on one question",
                    instead=f"Ask with epsilon={str(format_number(most))!r} or less.",
                )

    def fitting(self) -> str:
        """Which epsilon could still be paid for by everybody who pays."""
        found = [affordable(each.renyi_filter, self.left(name)) for name, each in self.people.items()]
        known = [epsilon for epsilon in found if epsilon is not None]
        if len(known) < len(found):
            return "Too little is left for any question of this kind."
        return f"epsilon={str(format_number(min(known)))!r} would still fit."


def _free(principal: Principal) -> str:
    """What can still be had where no budget is left; it depends on ledger and catalog alone.

    Textbook: S18.4.
    """
    count = len(replays(principal))
    answers = "1 answer that was" if count == 1 else f"{count} answers that were"
    return f" {answers} bought before can still be had: see replays()." if count else ""
