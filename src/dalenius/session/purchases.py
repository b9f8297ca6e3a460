"""Purchases: what one costs, and how it is bought. A question, a fit, a synthetic table and an online session are
bought in the same way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dalenius.accounting.amounts import DIVERGENCE_UNIT, Charge
from dalenius.accounting.shares import two_digits
from dalenius.catalog.catalog import Population
from dalenius.catalog.declarations import share as written_share
from dalenius.engines.engine import Statements
from dalenius.errors import AccessDenied, BudgetExceeded
from dalenius.ledger.accounts import Receipt, Standing
from dalenius.ledger.names import percent
from dalenius.privacy.numbers import Number, format_number, positive
from dalenius.session.answers.answers import Answer
from dalenius.session.cards.making import alone, card
from dalenius.session.curator import Principal, share_left
from dalenius.session.executor import Keeping, Payer, Purchase, QueryPurchase, require_covered
from dalenius.session.offers import warning
from dalenius.session.progress import Progress, ticking
from dalenius.session.replays import replays, require_due

NOTHING_FITS = "Too little is left for any question of this kind."


@dataclass(frozen=True)
class Cost:
    """What an answer would cost. Nothing was read or spent to say so.

    `epsilon` is what this answer alone loses, at the delta of each population's budget. `amounts` is what would be
    charged, `shares` the part of each whole budget that is spent by it, as the budget now stands, `left` the part that
    whoever asks could still use afterwards; None where it is more than there is left. `more` is how many equal charges
    would still fit after this one. `blocks` names the only block of a partitioned population that is asked about:
    shares and rest are this block's. `now` is the part that is left as long as nothing is asked, where that is known.
    """

    loss: object
    amounts: Mapping[str, Charge]
    shares: Mapping[str, Fraction]
    left: Mapping[str, Fraction | None]
    epsilons: Mapping[str, Fraction]
    note: str | None = None
    blocks: Mapping[str, str] = field(default_factory=dict)
    now: Mapping[str, Fraction] = field(default_factory=dict)
    more: int | None = None

    @property
    def affordable(self) -> bool:
        """Whether every account still holds enough."""
        return None not in self.left.values()

    def __str__(self) -> str:
        lines = [f"loss: {self.loss}", *map(self._line, self.shares)]
        if self.more is not None:
            lines += [f"{f'about {self.more:,} more' if self.more else 'no other'} like this would still fit"]
        lines += [f"note: {self.note}"] if self.note else []
        return "\n".join([*lines, "nothing was read or spent"])

    def _line(self, name: str) -> str:
        rest, epsilon = self.left[name], format_number(self.epsilons[name])
        known = f", which is {percent(self.now[name])}" if name in self.now else ""
        after = f"more than is left{known}" if rest is None else f"{percent(rest)} would be left"
        inside = f" inside the block {self.blocks[name]}" if name in self.blocks else ""
        return f"{name}: {percent(self.shares[name])} of the budget (epsilon = {epsilon} by itself){inside}; {after}"

    __repr__ = __str__


def cost_of(principal: Principal, purchase: Purchase, payer: Payer, *, epsilon: Number | None = None) -> Cost:
    """What a purchase would cost; `epsilon` is what was offered, if it was. Nothing is read or spent."""
    require_covered(purchase)
    account, charge = _Account(principal, payer), purchase.charge
    people = account.people
    given = None if epsilon is None else positive(epsilon=epsilon)
    epsilons = {name: given or alone(purchase, each.budget.delta).epsilon for name, each in people.items()}
    times = principal.curator.ledger.times(payer.charges(charge))
    standing = {name: account.standing(name) for name in charge}
    left = {name: share_left(standing[name], amount) if times else None for name, amount in charge.items()}
    now = {name: share_left(found) for name, found in standing.items()}
    note = warning(people, epsilons)
    shares = {name: account.share(name, amount) for name, amount in charge.items()}
    more = times - 1 if times else None
    return Cost(purchase.loss, charge, shares, left, epsilons, note, payer.blocks, now, more)


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
    advice: Callable[[], str] | None = None,
) -> Answer:
    """Charge, and release what a purchase makes; `text` says in the ledger what it is, and `kept` lets a retry with the
    same key go on; `advice` says what would fit where it does not. A refusal charges nothing; work that fails
    afterwards stays charged."""
    require_due(principal)
    account = _Account(principal, payer)
    account.require_within_grant(purchase)
    people = account.people
    shares = {name: account.share(name, amount) for name, amount in purchase.charge.items()}
    draft = card(purchase, text, people, account.payer, shares)
    charged = account.listed(shares)

    def labelled(answer: Answer, receipt: Receipt) -> Answer:
        return replace(answer, charge=charged, receipt=receipt.id, card=draft.of(receipt))

    tick = progress and ticking(progress, owner=principal.analyst is None)
    try:
        answer = principal.curator.executor.run(
            purchase, account.payer, labelled, statements=statements, key=key, fresh=fresh, tick=tick, kept=kept
        )
    except BudgetExceeded as error:
        raise error.advised(f"{(advice or account.fitting)()}{_free(principal)}") from None
    left = {name: share_left(account.standing(name)) for name in people}
    return replace(answer, left=account.listed(left))


@dataclass(frozen=True)
class _Account:
    """Who asks and who pays, looked up once for a purchase."""

    principal: Principal
    payer: Payer

    @property
    def people(self) -> dict[str, Population]:
        return {name: self.principal.population(name) for name in self.payer.accounts}

    def standing(self, name: str) -> tuple[Standing, ...]:
        """How the accounts that pay for a population stand, in the one block that it is about, or in all."""
        return self.principal.curator.ledger.standing(self.payer.accounts[name], block=self.payer.blocks.get(name, ""))

    def share(self, name: str, amount: Charge) -> Fraction:
        """The part of a budget that an amount takes, as it now stands: what the largest share of a block rises by."""
        spent = [each.spent for each in self.standing(name) if len(each.account.path) == 1]
        share = self.principal.population(name).renyi_filter.share
        return max(share(sums + amount) for sums in spent) - max(map(share, spent))

    def listed(self, shares: Mapping[str, Fraction]) -> str:
        """Shares of budgets in words."""
        inside = {name: f" (block {block})" for name, block in self.payer.blocks.items()}
        return ", ".join(f"{percent(share)} of {name}{inside.get(name, '')}" for name, share in shares.items())

    def require_within_grant(self, purchase: Purchase) -> None:
        """Refuse what loses more by itself than this principal may spend on one question."""
        most = self.principal.grant.most_epsilon
        promise = purchase.priced.promise if isinstance(purchase, QueryPurchase) else None
        if most is None or (promise and promise.epsilon <= most):
            return
        for name, amount in purchase.charge.items():
            renyi_filter = self.principal.population(name).renyi_filter
            size = min(most, renyi_filter.budget.epsilon)
            if amount.epsilon > size / DIVERGENCE_UNIT and not amount <= renyi_filter.amount(epsilon=size):
                raise AccessDenied(
                    self.principal.name,
                    what=f"spend more than epsilon = {format_number(most)} on one question",
                    instead=f"Ask with epsilon={str(format_number(most))!r} or less.",
                )

    def fitting(self) -> str:
        """Which share could still be paid for by everybody who pays, of the Rényi divergence where there is one."""
        shares = []
        for name, each in self.people.items():
            whole = each.renyi_filter.cap.divergence
            left = min(one.cap.divergence - one.spent.divergence for one in self.standing(name))
            shares.append(Fraction(left, whole) if left >= each.least_share * whole else Fraction(0))
        if min(shares) <= 0:
            return NOTHING_FITS
        return f"share={written_share(two_digits(min(shares)))!r} would still fit."


def _free(principal: Principal) -> str:
    """What can still be had where no budget is left; it depends on ledger and catalog alone.

    Textbook: S18.4.
    """
    count = len(replays(principal))
    answers = "1 answer that was" if count == 1 else f"{count} answers that were"
    return f" {answers} bought before can still be had: see replays()." if count else ""
