"""Tokens: 256 random bits that stand for somebody in a role. The ledger keeps their hashes; nobody keeps them."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from dalenius.errors import InvalidParameter
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.names import OWNER, person_name
from dalenius.privacy.numbers import whole
from dalenius.randomness.entropy import system_entropy

Role: TypeAlias = Literal["owner", "auditor", "analyst"]
ROLES: tuple[Role, ...] = get_args(Role)
MOST_DAYS = 3650
TOKEN = re.compile(r"dal_[A-Za-z0-9_-]{43}", re.ASCII)
"""What tokens are made of."""
_NOBODY = "0" * 64


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a token stands for, until when. `digest` is the token's hash: a public name for it."""

    who: str
    role: Role
    digest: str
    expires: dt.datetime


def issue(ledger: Ledger, who: str, *, role: str = "analyst", days: int = 90) -> str:
    """A new token, durable in the ledger by its hash. It is shown this once.

    Guarantee: whoever reads the ledger, a log or a backup of either learns no token.
    """
    holder = _named(who, role)
    length = whole(1, days=days)
    if length > MOST_DAYS:
        raise InvalidParameter("days", days, allowed=f"at most {MOST_DAYS}")
    token = "dal_" + base64.urlsafe_b64encode(system_entropy().read(32)).rstrip(b"=").decode()
    expires = dt.datetime.now(dt.UTC) + dt.timedelta(days=length)
    facts = {"sha256": digest(token), "who": holder, "role": role, "expires": expires.isoformat()}
    ledger.record("token", facts)
    return token


def revoke(ledger: Ledger, who: str) -> None:
    """End all tokens that somebody holds. Tokens that are issued later hold."""
    ledger.record("revoked", {"who": _named(who, "owner")})


def digest(token: str) -> str:
    """A token's hash. A token is 256 random bits, so that nothing slower is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


class Tokens:
    """The tokens that hold, as the ledger says at each moment.

    Guarantee: an unknown, a wrong, an expired and a revoked token take the same steps and are not told apart; a
    revocation in the ledger, by whichever process, counts from the next look on.
    """

    def __init__(self, ledger: Ledger, *, clock: Callable[[], dt.datetime] | None = None) -> None:
        self._ledger, self._clock = ledger, clock or (lambda: dt.datetime.now(dt.UTC))
        self._holders: dict[str, Holder] = {}
        self._seen, self._lock = 0, threading.Lock()

    def holder(self, token: str) -> Holder | None:
        """Whom a token stands for, now; None if it does not hold."""
        self._catch_up()
        given = digest(token if TOKEN.fullmatch(token) else "")
        known = self._holders.get(given, _unknown(self._clock()))
        # The dict finds equal hashes, in a time that says nothing about a token; this says so once more.
        same, due = hmac.compare_digest(known.digest, given), self._clock() < known.expires
        return known if same and due else None

    def holders(self) -> tuple[Holder, ...]:
        """Whom the tokens that were not revoked stand for, in the order in which they were issued."""
        self._catch_up()
        return tuple(self._holders.values())

    def names(self) -> set[str]:
        """Who holds a token that was not revoked."""
        return {holder.who for holder in self.holders()}

    def _catch_up(self) -> None:
        """Take in what the ledger has grown by; entries never change, so that the rest is known."""
        with self._lock:
            for entry in self._ledger.entries(after=self._seen):
                self._seen = entry.number
                if entry.kind == "record":
                    self._take(entry.facts)

    def _take(self, facts: Mapping[str, Any]) -> None:
        if facts["record"] == "token":
            expires = dt.datetime.fromisoformat(facts["expires"])
            self._holders[facts["sha256"]] = Holder(facts["who"], facts["role"], facts["sha256"], expires)
        elif facts["record"] == "revoked":
            gone = [each for each in self._holders.values() if each.who == facts["who"]]
            for each in gone:
                del self._holders[each.digest]


def _unknown(now: dt.datetime) -> Holder:
    return Holder("", "analyst", _NOBODY, now + dt.timedelta(days=1))


def _named(who: str, role: str) -> str:
    """A name that may hold a token of this role: the owner has one of its own, and analysts never bear it."""
    if isinstance(who, str) and TOKEN.fullmatch(who):
        raise InvalidParameter("who", "a token", allowed="the name of its holder")
    if role not in ROLES:
        raise InvalidParameter("role", role, allowed=" or ".join(ROLES))
    return OWNER if role == "owner" and who == OWNER else person_name(who)
