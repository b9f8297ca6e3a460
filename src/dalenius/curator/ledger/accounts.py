"""Accounts and what is charged to them. All of it is public."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from dalenius.accounting.amounts import Amount
from dalenius.errors import InvalidParameter
from dalenius.privacy.numbers import whole

MOST = 10**9
"""The largest number of charges or seconds in a rate: 30 years, and a time that every store can compare."""


@dataclass(frozen=True, slots=True)
class Account:
    """A population's cap, or a quota inside it: the names on the way from the population down."""

    path: tuple[str, ...]

    @property
    def population(self) -> str:
        return self.path[0]

    @property
    def lineage(self) -> tuple[Account, ...]:
        """The account and all that it lies in: whatever is charged to it is charged to each of them."""
        return tuple(Account(self.path[:length]) for length in range(len(self.path), 0, -1))

    def __str__(self) -> str:
        *quota, population = reversed(self.path)
        return repr(population) if not quota else f"the quota of {', '.join(map(repr, quota))} in {population!r}"


@dataclass(frozen=True, slots=True)
class Terms:
    """What an account allows: at most `cap`, between `start` and `end`.

    `reserve` is a part of `cap` that is held for this account: others in the same account above leave it untouched,
    until `end`.
    """

    cap: Amount
    start: dt.datetime | None = None
    end: dt.datetime | None = None
    reserve: Amount | None = None


@dataclass(frozen=True, slots=True)
class Charge:
    """An amount for an account and for all that it lies in.

    `block` names the part of a partitioned population that alone was asked about; the population then shows the
    largest sum over its blocks. Quotas add up, whatever the block.
    """

    account: Account
    amount: Amount
    block: str = ""


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` charges of one asker in any `seconds`; a charge counts for up to a second longer."""

    count: int
    seconds: int

    def __post_init__(self) -> None:
        for name in ("count", "seconds"):
            number = whole(1, **{name: getattr(self, name)})
            if number > MOST:
                raise InvalidParameter(name, number, allowed=f"at most {MOST:,}")
            object.__setattr__(self, name, number)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was paid for: who asked which question, and the charges. All of it is public.

    `question` names the question and the versions of its tables, `request` also the price and the form of the answer:
    equal requests are answered once. `key` is the asker's own name for this attempt, so that a retry is not charged
    again; `repeated` says that this receipt is an earlier one, found by its key.
    """

    id: str
    number: int
    who: str
    question: str
    charges: tuple[Charge, ...]
    at: dt.datetime
    request: str = ""
    key: str | None = None
    repeated: bool = field(default=False, compare=False)
