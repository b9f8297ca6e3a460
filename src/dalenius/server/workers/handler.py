"""What workers do with the folder: each task has its name, and gives the body of a reply in the words of the wire.

What a ledger shows over the wire: receipts and entries, some at a time.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

import pyarrow as pa

from dalenius.errors import DaleniusError, QueryRefused, TooManyKeys
from dalenius.ledger.accounts import Entry, Rate, amount_facts
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.names import OWNER
from dalenius.measuring.expectations import ExpectedError
from dalenius.server.faults import DENIED, LEDGER_REFUSED, NOT_FOUND, Faulted
from dalenius.server.limits import Limits
from dalenius.server.schedule import ReplySchedule
from dalenius.session.answers.answers import Answer
from dalenius.session.answers.encoding import decoded, encoded, written
from dalenius.session.curator import Balance
from dalenius.session.databases import Database
from dalenius.session.offers import terms_of
from dalenius.session.purchases import Cost
from dalenius.session.query import Query
from dalenius.session.sessions import Session

Facts = Mapping[str, Any]


class Pages:
    """The receipts and entries of one ledger, each page with one look at its store."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def charges(self) -> int:
        """How many charges there are."""
        return self._ledger.count()

    def receipts(self, who: str | None, after: int, most: int) -> tuple[list[Facts], int | None]:
        """The receipts of somebody, or of all, after a number; and after which to go on, if there are more."""
        found = self._ledger.charged(who=who, after=after, most=most + 1)
        page = found[:most]
        return [_shown(*each) for each in page], page[-1][0].number if len(found) > len(page) else None

    def receipt(self, name: str, who: str | None) -> Facts | None:
        """One receipt, if it is there and may be read."""
        known = self._ledger.receipt(name)
        if known is None or (who is not None and known.who != who):
            return None
        ((entry, answered),) = self._ledger.charged(who=known.who, after=known.number - 1, most=1)
        return _shown(entry, answered)

    def entries(self, after: int, most: int) -> tuple[list[Facts], int | None]:
        """The entries after a number; and after which to go on, if there are more."""
        found = list(self._ledger.entries(after=after, most=most + 1))
        page = found[:most]
        return [json.loads(entry.body) for entry in page], page[-1].number if len(found) > len(page) else None


def _shown(entry: Entry, answered: bool) -> Facts:
    facts = dict(entry.facts)
    name = facts.pop("receipt")
    return {"id": name, "number": entry.number, "at": entry.at.isoformat(), **facts, "answered": answered}


_ALL = 2**53
Tell = Callable[[float | None], object]
_RUN = (*terms_of(Query.run), "fresh", "key")


@dataclass(frozen=True)
class Reply:
    """The body of a reply, text or an Arrow stream, and facts about it for the front process."""

    body: str | bytes
    facts: Facts = field(default_factory=dict)


class TaskHandler:
    """Does tasks with one database, for somebody in a role. Who that is was found out in the front process."""

    def __init__(self, database: Database, grid: ReplySchedule | None = None, *, values: int = Limits.values) -> None:
        self._database, self._grid, self._values = database, grid or ReplySchedule(), values
        database.settle_by(self._settle)
        self._pages, self._noted = Pages(database.ledger), ""
        self._deadline, self._late = math.inf, 0
        self._tasks: Mapping[str, Callable[[_For, Facts], Reply]] = {
            "catalog": self._catalog,
            "balance": self._balance,
            "price": self._price,
            "expected_error": self._expected_error,
            "explain": self._explain,
            "rehearse": self._rehearse,
            "run": self._run,
            "receipts": self._receipts,
            "receipt": self._receipt,
            "stored": self._stored,
            "replays": self._replays,
            "replay": self._replay,
            "card": self._card,
            "ledger": self._ledger,
            "registry": self._registry,
            "registry_csv": self._registry,
            "registry_html": self._registry,
            "spending": self._spending,
            "grant": self._grant,
            "revoke_grant": self._revoke_grant,
            "token": self._token,
            "revoke_tokens": self._revoke_tokens,
            "study": self._study,
        }

    def do(
        self, what: str, who: str, role: str, given: Facts, *, tell: Tell | None = None, seconds: float = _ALL
    ) -> Reply:
        """Do a task, which has so many seconds; raises what the same call in Python raises."""
        self._deadline = time.monotonic() + 0.95 * seconds
        self._catch_up()
        return self._tasks[what](_For(what, who, role, self._session(who, role), tell, self._values), given)

    def _session(self, who: str, role: str) -> Session:
        """The owner's own session for the owner alone: others grant nothing and change nothing."""
        if role == "owner":
            return self._database
        return self._database.session(None if role == "auditor" else who)

    def warm_up(self) -> None:
        """Add up what was spent, and reach the places where tables stay, before the first task: both can take long.
        Answers that are stored are looked at when somebody asks for them."""
        with suppress(DaleniusError):
            self._database.registry()
            self._database.open_places()

    def rest(self) -> None:
        """Between tasks: let go of files that the owner wants to write, and take over what was changed."""
        self._database.give_way()
        with suppress(Faulted):
            self._catch_up()

    def _catch_up(self) -> None:
        """Take over what other processes changed. What is wrong with a catalog is for the owner to read, elsewhere."""
        try:
            self._database.refresh()
        except DaleniusError as error:
            if str(error) != self._noted:  # else whoever asks often enough would fill the log
                self.note(OWNER, error)
            self._noted = str(error)
            raise Faulted(LEDGER_REFUSED) from None
        self._noted = ""

    def note(self, who: str, error: BaseException) -> None:
        """Tell the owner's log of something unforeseen."""
        self._database.log.record("", who, error)

    # ---- what is public

    def _catalog(self, principal: _For, given: Facts) -> Reply:
        session = principal.session
        tables = {
            name: {"about": about, "columns": _columns(session, name)} for name, about in session.tables().items()
        }
        return _json({"who": principal.who, "role": principal.role, "tables": tables})

    def _balance(self, principal: _For, given: Facts) -> Reply:
        session = principal.session
        return _json({"left": _balances(session.left()), "spent": _balances(session.spent())})

    # ---- questions

    def _price(self, principal: _For, given: Facts) -> Reply:
        return _json(_cost(principal.asked(given).cost(**_taken(given, terms_of(Query.cost)))))

    def _expected_error(self, principal: _For, given: Facts) -> Reply:
        found = principal.asked(given).expected_error(**_taken(given, terms_of(Query.expected_error)))
        return _json({"columns": {name: _expected(error, given.get("size")) for name, error in found.items()}})

    def _explain(self, principal: _For, given: Facts) -> Reply:
        return _json({"derivation": str(principal.asked(given).explain(**_taken(given, terms_of(Query.explain))))})

    def _rehearse(self, principal: _For, given: Facts) -> Reply:
        answer = principal.asked(given).rehearse(**_taken(given, terms_of(Query.rehearse)))
        return Reply(f'{{"answer":{encoded(answer)}}}')

    def _run(self, principal: _For, given: Facts) -> Reply:
        asked, tell = principal.asked(given), principal.tell
        progress = None if tell is None else (lambda progress: tell(progress.percent))
        self._late = 0
        answer = asked.run(**_taken(given, _RUN), progress=progress)
        reply = _answered(answer, arrow=bool(given.get("arrow")))
        return replace(reply, facts={**reply.facts, "late": self._late})

    def _settle(self, elapsed: float, expected: float) -> None:
        """Wait until paid work is over: others too can see when an answer enters the ledger. A little before its
        deadline whatever is ready is over."""
        over, due = (self._grid.over(each, expected=expected) for each in (elapsed, 0))
        self._late = round(over / due).bit_length() - 1
        time.sleep(max(0, min(over, elapsed + self._deadline - time.monotonic()) - elapsed))

    # ---- what was charged

    def _receipts(self, principal: _For, given: Facts) -> Reply:
        found, after = self._pages.receipts(principal.readable, given.get("after") or 0, given.get("most") or 1000)
        return _json({"receipts": found, "next": after})

    def _receipt(self, principal: _For, given: Facts) -> Reply:
        found = self._pages.receipt(given["id"], principal.readable)
        if found is None:
            raise Faulted(NOT_FOUND)
        stored = self._database.ledger.answer(given["id"])
        if given.get("arrow") and stored is not None:
            return _answered(replace(decoded(stored), replayed=True), arrow=True)
        card = None if stored is None else json.loads(stored).get("card")
        head = json.dumps({"receipt": found, "card": card}, ensure_ascii=False)
        return Reply(f'{head[:-1]},"answer":{stored or "null"}}}')

    def _stored(self, principal: _For, given: Facts) -> Reply:
        """The stored answer alone, for a job that is done."""
        if self._pages.receipt(given["id"], None) is None:
            raise Faulted(NOT_FOUND)
        return Reply(self._database.ledger.answer(given["id"]) or "null")

    def _replays(self, principal: _For, given: Facts) -> Reply:
        found, after, most = principal.session.replays(), given.get("after") or 0, given.get("most") or _ALL
        page = [{**asdict(each), "at": each.at.isoformat()} for each in found[after : after + most]]
        return _json({"replays": page, "next": after + most if len(found) > after + most else None})

    def _replay(self, principal: _For, given: Facts) -> Reply:
        return _answered(principal.session.replay(given["id"], key=given.get("key")), arrow=bool(given.get("arrow")))

    def _card(self, principal: _For, given: Facts) -> Reply:
        return _json({"card": principal.session.card(given["id"]).facts()})

    def _ledger(self, principal: _For, given: Facts) -> Reply:
        found, after = self._pages.entries(given.get("after") or 0, given.get("most") or 1000)
        return _json({"entries": found, "next": after})

    def _registry(self, principal: _For, given: Facts) -> Reply:
        registry = self._database.registry()
        forms = {"registry_csv": registry.to_csv, "registry_html": registry.to_html}
        return Reply(forms.get(principal.what, registry.to_json)())

    def _spending(self, principal: _For, given: Facts) -> Reply:
        shares = {name: str(balance.share) for name, balance in self._database.spent().items()}
        return Reply("{}", {"charges": self._pages.charges(), "spent": shares})

    # ---- what the owner does

    def _grant(self, principal: _For, given: Facts) -> Reply:
        principal.require_owner()
        terms = {name: value for name, value in given.items() if value is not None}
        rate = terms.pop("rate", None)
        self._database.grant(terms.pop("analyst"), rate=None if rate is None else Rate(**rate), **terms)
        return _json({"analyst": given["analyst"], "tables": given["tables"]})

    def _revoke_grant(self, principal: _For, given: Facts) -> Reply:
        principal.require_owner()
        self._database.revoke(given["analyst"])
        return _json({"revoked": given["analyst"]})

    def _token(self, principal: _For, given: Facts) -> Reply:
        principal.require_owner()
        role, days = given.get("role") or "analyst", given.get("days") or 90
        token = self._database.token(given["who"], role=role, days=days)
        return _json({"who": given["who"], "role": role, "days": days, "token": token})

    def _revoke_tokens(self, principal: _For, given: Facts) -> Reply:
        principal.require_owner()
        self._database.revoke_tokens(given["who"])
        return _json({"revoked": given["who"]})

    def _study(self, principal: _For, given: Facts) -> Reply:
        principal.require_owner()
        terms = {name: value for name, value in given.items() if value is not None}
        self._database.add_study(terms.pop("name"), **terms)
        return _json({"study": given["name"]})


@dataclass(frozen=True)
class _For:
    """Who a task is for."""

    what: str
    who: str
    role: str
    session: Session
    tell: Tell | None
    values: int

    def asked(self, given: Facts) -> Query:
        """A question; an auditor has none, and nobody one whose answer would fill the ledger."""
        if self.role not in ("owner", "analyst"):
            raise Faulted(DENIED)
        asked = self.session.sql(given["sql"], max_rows=given.get("max_rows"), max_groups=given.get("max_groups"))
        shown = asked.question.public_values
        if shown is not None and shown > self.values:
            raise TooManyKeys(
                "the answer",
                rule=f"it shows {shown:,} values (public keys times columns), and at most {self.values:,} are allowed "
                "over this server",
                instead="Use coarser or fewer keys, as with BIN(x, width), DATE_TRUNC or WHERE x IN (...), or fewer "
                "columns.",
            )
        return asked

    @property
    def readable(self) -> str | None:
        """Whose receipts may be read; None is for those of all."""
        return None if self.role in ("owner", "auditor") else self.who

    def require_owner(self) -> None:
        if self.role != "owner":
            raise Faulted(DENIED)


def _json(facts: Facts) -> Reply:
    return Reply(json.dumps(facts, ensure_ascii=False, allow_nan=False))


def _taken(given: Facts, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: given[name] for name in names if given.get(name) is not None}


def _columns(session: Session, name: str) -> dict[str, str]:
    """The columns of a table; none of one that cannot be asked for now."""
    try:
        return session.columns(name)
    except QueryRefused:
        return {}


def _balances(found: Mapping[str, Balance]) -> Facts:
    return {name: {"share": str(each.share), "amount": amount_facts(each.amount)} for name, each in found.items()}


def _cost(cost: Cost) -> Facts:
    return {
        "loss": str(cost.loss),
        "amounts": {name: amount_facts(amount) for name, amount in cost.amounts.items()},
        "shares": _fractions(cost.shares),
        "left": _fractions(cost.left),
        "now": _fractions(cost.now),
        "epsilons": _fractions(cost.epsilons),
        "affordable": cost.affordable,
        "note": cost.note,
        "blocks": dict(cost.blocks),
        "more": cost.more,
        "text": str(cost),
    }


def _fractions(found: Mapping[str, Fraction | None]) -> dict[str, str | None]:
    return {name: None if share is None else str(share) for name, share in found.items()}


def _expected(error: ExpectedError, size: int | None) -> Facts:
    if error.fixed is not None and error.fixed != error.fixed:  # a mode has no figure
        return {"text": error.text, "level": str(error.level), "fixed": "nan", "at": None}
    at = None if size is None else error.at(size)
    return {"text": error.text, "level": str(error.level), "fixed": written(error.fixed), "at": at}


def _answered(answer: Answer, *, arrow: bool) -> Reply:
    facts = {
        "receipt": answer.receipt,
        "charge": answer.charge,
        "left": answer.left,
        "level": str(answer.level),
        "replayed": answer.replayed,
    }
    if arrow:
        return Reply(_arrow(answer), facts)
    tail = json.dumps({"left": answer.left, "replayed": answer.replayed}, ensure_ascii=False)
    return Reply(f'{{"answer":{encoded(answer)},{tail[1:]}', facts)


def _arrow(answer: Answer) -> bytes:
    table, out = answer.to_arrow(), pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return bytes(out.getvalue().to_pybytes())
