"""Online sessions of a private database: counting questions in SQL, of which only the hard ones use anything up.

How accurate a session will be, said before it is paid for: in rows, and how many rows a share of all rows takes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import NoReturn

from dalenius.accounting.allowance import Allowance
from dalenius.errors import InvalidParameter, NotCopyable, WorkStopped
from dalenius.ledger.accounts import Receipt
from dalenius.ledger.ledger import TURN
from dalenius.ledger.names import fraction
from dalenius.privacy.numbers import Number, whole
from dalenius.query.frames.frames import Frame
from dalenius.randomness.entropy import fresh_entropy
from dalenius.session.curator import Principal
from dalenius.session.offers import Offer
from dalenius.session.purchases import Cost
from dalenius.session.replays import require_due
from dalenius.synth.online.conditions import Conditions
from dalenius.synth.online.opening import MOST_CELLS, Opening
from dalenius.synth.online.public import PublicCounts, keep, kept
from dalenius.synth.online.rounds import OnlinePlan, OnlineSession
from dalenius.synth.online.sealed import MOST_PEOPLE
from dalenius.tabular.binned_rows import BinnedRows, Bins

_EXAMPLES = {"10 %": Fraction(1, 10), "1 %": Fraction(1, 100)}
_INSTEAD = "Pay more, plan for fewer updates or questions, count fewer rows of one unit, or give a smaller `within`."


@dataclass(frozen=True)
class Expected:
    """The error bars of a session's answers, in rows at 95 %: of those from the hypothesis, and of measured ones.

    They depend on the price and the terms, and not on the data: the fewer rows there are, the less they say.
    """

    easy: int
    measured: int

    @classmethod
    def of(cls, plan: OnlinePlan) -> Expected:
        easy, measured = plan.bars
        return cls(ceil(easy), ceil(measured))

    @property
    def widest(self) -> int:
        return max(self.easy, self.measured)

    def rows_for(self, share: Fraction) -> int:
        """How many rows there must be for every bar to be at most this share of them."""
        return ceil(self.widest / share)

    def require(self, accuracy: Number | None, total: int | None) -> None:
        """Refuse, before anything is paid, answers that are less accurate than asked for, or that would say nothing."""
        if total is not None and self.widest >= whole(1, total=total):
            said = f"more than {self.widest} rows: so long are error bars at this price"
            raise InvalidParameter("total", total, allowed=said, hint=_INSTEAD)
        if accuracy is None:
            return
        wanted = fraction(accuracy=accuracy)
        if wanted >= 1:
            self._require_rows(wanted)
        else:
            self._require_share(wanted, total)

    def _require_rows(self, wanted: Fraction) -> None:
        if self.widest > wanted:
            raise InvalidParameter(
                "accuracy", wanted, allowed=f"at least {self.widest} rows at this price", hint=_INSTEAD
            )

    def _require_share(self, wanted: Fraction, total: int | None) -> None:
        if wanted <= 0:
            raise InvalidParameter("accuracy", wanted, allowed="a share of all rows such as '5%', or a number of rows")
        needed = self.rows_for(wanted)
        if total is None:
            raise InvalidParameter(
                "total",
                total,
                allowed=f"given with an accuracy that is a share: it takes {needed} rows at this price",
                hint="Say how many rows there are, if that is public, or about how many you expect.",
            )
        if total < needed:
            raise InvalidParameter(
                "total", total, allowed=f"at least {needed} rows for this accuracy at this price", hint=_INSTEAD
            )

    def __str__(self) -> str:
        needed = " and ".join(f"{name} of all rows takes {self.rows_for(share)}" for name, share in _EXAMPLES.items())
        return f"answers will be within ± {self.easy} rows at 95 % (± {self.measured} where measured): {needed}"

    __repr__ = __str__


UPDATES, QUESTIONS = 16, 100_000
_FURTHER = 2
"""How many times further off than noise alone hides a question may be before it is measured, unless told otherwise."""
_LEAST_UNITS, _UNITS_OF_UPDATE = 10**7, 10**5
"""The least price in the ledger's units, of a session and of an update: less buys no noise that can be drawn."""


@dataclass(frozen=True)
class OnlineCount:
    """The answer to one question: a number of rows, within ± `error` at 95 %.

    `measured` says that the question was hard: it was measured, and used up one of the updates, of which `left` more
    are left. `questions_left` is how many more questions that makes if hard ones go on coming as often as so far; None
    where none has come.
    """

    count: int
    error: int
    measured: bool
    left: int
    questions_left: int | None

    def __str__(self) -> str:
        how = "measured" if self.measured else "from the hypothesis"
        rest = "" if self.questions_left is None else f", about {self.questions_left} questions"
        return f"{self.count} ± {self.error} at 95 % ({how}; {self.left} updates left{rest})"

    __repr__ = __str__


@dataclass(frozen=True)
class Online:
    """An online session: pay once, then ask any number of counting questions about some columns.

    Easy questions are answered from a public hypothesis, hard ones are measured and improve it; the session ends when
    its `updates` are used up. `columns` are asked about, with `bins` for numbers, as of a `Synthesizer`; `rows` of one
    unit are counted; noise is planned for so many `questions`; an answer may be off by `within` rows before it is
    measured: the more, the longer the session lasts.
    `accuracy` is how long error bars may be: a share of all rows such as "5%", for which `total` says how many there
    are, or a number of rows. `total` is public, or guessed by whoever asks: it is compared with the bars, and no more.
    Where bars would be longer, nothing is paid.
    """

    columns: Sequence[str] | None = None
    bins: Bins = field(default_factory=dict)
    rows: int | None = None
    updates: int = UPDATES
    questions: int = QUESTIONS
    within: int | None = None
    accuracy: Number | None = None
    total: int | None = None

    def cost(self, rows: Frame, *, epsilon: Number | None = None, share: Number | None = None) -> Cost:
        """What a session would cost, with a note of how accurate it would be; nothing is read or spent."""
        binned = self._binned(rows)
        opening = self._opening(binned, Offer(epsilon, share))
        cost = binned.session.cost_of(opening, epsilon=epsilon)
        notes = [cost.note, str(self._expected(opening))]
        return replace(cost, note="; ".join(note for note in notes if note))

    def expected_error(self, rows: Frame, *, epsilon: Number | None = None, share: Number | None = None) -> Expected:
        """The error bars of answers, in rows, and how many rows a share takes; nothing is read or spent."""
        return self._expected(self._opening(self._binned(rows), Offer(epsilon, share)))

    def open(
        self,
        rows: Frame,
        *,
        epsilon: Number | None = None,
        share: Number | None = None,
        key: str | None = None,
        fresh: bool = False,
    ) -> OnlineCounts:
        """Pay for a session and begin it. An equal one that was paid for before goes on, for nothing, without the round
        that was left unfinished; `fresh` pays for a new one, which `key` finds again."""
        binned = self._binned(rows)
        principal = binned.session.principal
        opening = self._opening(binned, Offer(epsilon, share))
        within = self._within(opening)
        expected = self._expected(opening)
        expected.require(self.accuracy, self.total)
        answer = binned.session.buy(opening, text=f"ONLINE {binned.text}", key=key, fresh=fresh)
        receipt = principal.curator.ledger.receipt(answer.receipt)
        assert receipt is not None
        known = kept(principal.curator, receipt.id, binned.axes)
        if known is None:
            known = PublicCounts.fitted(binned.axes, opening.decode(answer), bar=expected.easy, receipt=receipt.id)
        return OnlineCounts(principal, opening, receipt, known, within)

    def _binned(self, rows: Frame) -> BinnedRows:
        binned = BinnedRows.of(rows, columns=self.columns, bins=self.bins, most=self.rows)
        binned.grid.require_small(
            most=MOST_CELLS, use="an online session", instead="a Synthesizer, which works by marginals"
        )
        if binned.grid.cells < 2:
            raise InvalidParameter("cells", binned.grid.cells, allowed="2 or more: columns that can differ")
        return binned

    def _opening(self, binned: BinnedRows, offer: Offer) -> Opening:
        charge = binned.charge(offer)
        updates, questions = whole(1, updates=self.updates), whole(1, questions=self.questions)
        for name, amount in charge.items():
            if amount.divergence < max(_LEAST_UNITS, _UNITS_OF_UPDATE * updates):
                raise InvalidParameter("price", str(amount), allowed=f"of {name} enough for {updates} updates")
        return Opening(binned.source, binned.axes, updates, questions, charge)

    def _expected(self, opening: Opening) -> Expected:
        return Expected.of(opening.plan(people=1, within=self._within(opening)))

    def _within(self, opening: Opening) -> int:
        """From how many rows on a question that is off counts as hard; refused where noise alone hides more."""
        least = opening.least.threshold
        if self.within is None:
            return _FURTHER * least
        if whole(0, within=self.within) < least:
            raise InvalidParameter(
                "within", self.within, allowed=f"at least {least} rows, which noise hides at this price",
                hint="Pay more, or for fewer updates or questions.",
            )  # fmt: skip
        return self.within


class OnlineCounts:
    """A session that was paid for: ask it any number of counting questions.

    Guarantee: whatever is asked, by anybody, and however often the session is opened again, here or in other
    processes, no more rounds are begun than were paid for: the ledger counts them. The secret of a round is never
    stored, so a round that a process leaves unfinished is used up. Questions are answered one at a time.
    """

    def __init__(
        self, principal: Principal, opening: Opening, receipt: Receipt, known: PublicCounts, within: int
    ) -> None:
        self._principal, self._opening, self._receipt = principal, opening, receipt
        self._known, self._conditions = known, Conditions(opening.axes)
        self._plan = opening.plan(people=min(max(1, round(known.total)), MOST_PEOPLE), within=within)
        self._session: OnlineSession | None = None
        self._lock, self._before, self._hard = threading.RLock(), known.asked, known.hard

    @property
    def receipt(self) -> str:
        """What was paid: its receipt in the ledger."""
        return self._receipt.id

    @property
    def left(self) -> int:
        """How many more questions can be hard before the session ends, as far as it has claimed its rounds."""
        if self._session is not None and self._session.begun:
            return self._session.left
        turns = self._principal.curator.ledger.records(TURN)
        return self._plan.updates - len([each for each in turns if each["receipt"] == self._receipt.id])

    @property
    def asked(self) -> int:
        """How many questions were asked, as far as that was kept."""
        return self._before + (self._session.asked if self._session else 0)

    @property
    def questions_left(self) -> int | None:
        """How many more questions there will be, if hard ones go on coming as often as so far; None where none came."""
        return self.left * self.asked // self._hard if self._hard else None

    @property
    def errors(self) -> tuple[int, int]:
        """How far off an answer is at most, at 95 %: one that is not measured, and one that is."""
        expected = Expected.of(self._plan)
        return expected.easy, expected.measured

    @property
    def hypothesis(self) -> PublicCounts:
        """What is known so far: public, to be saved, published and asked without the database."""
        with self._lock:
            if self._session is None:
                return self._known
            counts = self._session.hypothesis
            return self._known.learned(counts, asked=self.asked, hard=self._hard, bar=self.errors[0])

    def ask(self, condition: str) -> OnlineCount:
        """How many rows a condition is true for, such as "age >= 65 AND city = 'Oslo'".

        An easy question is answered from the hypothesis, a hard one is measured and uses up an update. When all updates
        are used up, `MechanismFinished` is raised and the hypothesis can still be asked.
        """
        with self._lock, self._principal.paying(self._opening.question):
            require_due(self._principal)
            true = self._conditions.true(condition).ravel()
            answer = self._running().ask(true)
            if answer.measured:
                self._hard += 1
                self._keep()
            error = ceil(answer.error)
            return OnlineCount(int(answer.people), error, answer.measured, answer.left, self.questions_left)

    def _running(self) -> OnlineSession:
        if self._session is None:
            self._session = self._begun()
        return self._session

    def _begun(self) -> OnlineSession:
        """A session over the rows, which are counted anew and stay sealed; nothing is claimed before it is asked."""
        curator, began, expected = self._principal.curator, time.monotonic(), 0.0
        failed: BaseException | None = None
        try:
            (step,) = self._opening.passes
            expected = curator.engine.expected_seconds(step)
            histogram = self._opening.histogram(curator.engine.run(step, seconds=curator.seconds))
            paid = Allowance(self._opening.for_rounds, neighbours=self._opening.neighbours)
            curator.settle(time.monotonic() - began, expected)
            return self._plan.start(
                histogram, paid, fresh_entropy(), hypothesis=self._known.counts, claim=self._claimed
            )
        except BaseException as error:
            failed = error
        if not isinstance(failed, KeyboardInterrupt):
            curator.settle(time.monotonic() - began, expected)
        # Out of the handler, so that neither the error nor its text travels along: both can depend on rows.
        curator.log.record(self._receipt.id, self._principal.name, failed)
        raise KeyboardInterrupt(str(WorkStopped())) if isinstance(failed, KeyboardInterrupt) else WorkStopped

    def _claimed(self) -> int | None:
        return self._principal.curator.ledger.claim(self._receipt, most=self._plan.updates)

    def _keep(self) -> None:
        try:
            keep(self._principal.curator, self.hypothesis)
        except OSError as error:  # what is lost is accuracy after a restart
            self._principal.curator.log.record(self._receipt.id, self._principal.name, error)

    def __repr__(self) -> str:
        names = ", ".join(axis.name for axis in self._opening.axes)
        rest = f"{self.left} of {self._plan.updates} updates left"
        return f"<OnlineCounts over {names}: {self.asked} questions asked, {rest}>"

    def __reduce_ex__(self, *_: object) -> NoReturn:
        raise NotCopyable("an online session", instead="online(...) with the same terms, which costs nothing more")

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__
