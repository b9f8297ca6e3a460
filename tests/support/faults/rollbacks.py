"""What may be done to a ledger's files between two starts: restored, cut, cloned, exchanged, deleted, damaged, edited.

Each scenario puts files down, and says how much has been spent in all copies together: no less may be counted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from dalenius.errors import LedgerRefused
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.marks import Mark, NoMark
from dalenius.ledger.reconciling import reconcile
from dalenius.ledger.stores import SQLiteStore
from faults.copies import OTHER, STAGES, Copy, Files, life, pay, spending
from faults.edits import EDITS, edited
from faults.witness import NAME, opened

Act = Callable[["World", Path], int]


@dataclass(frozen=True)
class World:
    """Copies of a ledger's life, and of another's."""

    copies: list[Copy]
    other: list[Copy]

    @classmethod
    def made(cls, place: Path) -> World:
        return cls(life(place / "one"), life(place / "other", name=OTHER, stages=2))

    @property
    def last(self) -> Copy:
        return self.copies[-1]


@dataclass(frozen=True)
class Scenario:
    """Something done to the files. `act` puts them down and gives what was spent in all copies together.

    Where the mark is lost, nobody but the owner knows which copy was the last: then the last is brought back.
    """

    name: str
    act: Act
    mark_lost: bool = False


def scenarios() -> list[Scenario]:
    """All of them; the list is the same every time."""
    return [*_restored(), *_cut(), *_cloned(), *_exchanged(), *_deleted(), *_damaged(), *_edited(), *_older_marks()]


def _put(change: Callable[[World], Files]) -> Act:
    """Put files down that were all made from one life."""

    def act(world: World, place: Path) -> int:
        change(world).put(place)
        return world.last.spent

    return act


# ---- what becomes of it


@dataclass(frozen=True)
class Ending:
    """Whether a ledger was refused or resumed, with how much spent, and how much once it was reconciled."""

    name: str
    outcome: Literal["refused", "resumed"]
    largest: int
    spent: int

    @property
    def forgot(self) -> bool:
        """Whether anything that was spent in any copy is not counted."""
        return self.spent < self.largest


def ending(world: World, scenario: Scenario, place: Path, *, marked: bool = True) -> Ending:
    """Do it, start, and reconcile where the start is refused. Without a mark, a planted bug, little is refused."""
    place.mkdir()
    largest = scenario.act(world, place)
    try:
        with closing(_started(place, marked=marked)) as ledger:
            return Ending(scenario.name, "resumed", largest, _still_works(ledger))
    except LedgerRefused:
        _brought_back(world, scenario, place)
        with closing(_started(place)) as ledger:
            return Ending(scenario.name, "refused", largest, _still_works(ledger))


def _started(place: Path, *, marked: bool = True) -> Ledger:
    if marked:
        return opened(place / "ledger.sqlite", place / "mark.sqlite")
    store = SQLiteStore(place / "ledger.sqlite")
    try:
        return Ledger.start(store, NoMark(), NAME)
    except BaseException:
        store.close()
        raise


def _still_works(ledger: Ledger) -> int:
    spent = spending(ledger)
    pay(ledger, 1)
    assert spending(ledger) == spent + 1
    return spent


def _brought_back(world: World, scenario: Scenario, place: Path) -> None:
    """As the owner would: with the copy at hand; if that is refused, with the oldest; if the mark is, without it."""
    oldest, newest = world.copies[0].when_closed.ledger, world.last.when_closed.ledger
    now = Files.of(place)
    tries = [now, replace(now, ledger=newest if scenario.mark_lost else oldest, log=None)]
    tries += [Files(newest, None, None, None)] if scenario.mark_lost else []
    for files in tries:
        files.put(place)
        try:
            return reconciled(place)
        except LedgerRefused:
            continue
    raise AssertionError(f"{scenario.name}: nothing brings the ledger back")


def reconciled(place: Path) -> None:
    """Count what all copies have spent, and go on with the one that is here."""
    with closing(SQLiteStore(place / "ledger.sqlite")) as store, closing(SQLiteStore(place / "mark.sqlite")) as mark:
        reconcile(store, Mark(mark, NAME), NAME)


# ---- copies that are older, or mixed


def _restored() -> Iterator[Scenario]:
    for stage in range(STAGES - 1):
        for way, mixed in RESTORED.items():
            yield Scenario(f"stage {stage} restored: {way}", _put(lambda w, s=stage, m=mixed: m(w.copies[s], w.last)))


RESTORED: dict[str, Callable[[Copy, Copy], Files]] = {
    "a closed copy": lambda old, new: replace(new.when_closed, ledger=old.when_closed.ledger),
    "a copy of an open ledger": lambda old, new: replace(
        new.when_closed, ledger=old.while_open.ledger, log=old.while_open.log
    ),
    "a copy of an open ledger, without its log": lambda old, new: replace(
        new.when_closed, ledger=old.while_open.ledger
    ),
    "the file, with the newest log": lambda old, new: replace(new.while_open, ledger=old.while_open.ledger),
    "the log, with the newest file": lambda old, new: replace(new.when_closed, log=old.while_open.log),
}


def _older_marks() -> Iterator[Scenario]:
    for stage in range(STAGES - 1):
        yield Scenario(
            f"the mark of stage {stage}, with the newest ledger",
            _put(lambda w, s=stage: replace(w.last.when_closed, mark=w.copies[s].when_closed.mark)),
        )


# ---- cut short


def _cut() -> Iterator[Scenario]:
    for size in (0, 1, 100, 512, 4096, 0.3, 0.5, 0.9, -4096, -1):
        yield Scenario(
            f"ledger cut at {size}",
            _put(lambda w, n=size: replace(w.last.when_closed, ledger=_shortened(w.last.when_closed.ledger, n))),
        )
    for size in (0, 1, 31, 32, 56, 4152, 0.3, 0.5, 0.9, -4120, -1):
        yield Scenario(
            f"log cut at {size}",
            _put(lambda w, n=size: replace(w.last.while_open, log=_shortened(w.last.while_open.log, n))),
        )


def _shortened(data: bytes | None, size: float) -> bytes:
    assert data
    return data[: int(len(data) * size) if isinstance(size, float) else size]


# ---- cloned


def _cloned() -> Iterator[Scenario]:
    for stage in (0, 3, 6):
        yield Scenario(f"cloned at stage {stage}, one after the other", _one_after_the_other(stage))
        yield Scenario(f"cloned at stage {stage}, at the same time", _at_the_same_time(stage))
        yield Scenario(f"cloned at stage {stage} with its mark, reconciled, then the other", _cloned_and_back(stage))
        for first in (True, False):
            for more in (1, 3):
                which = "copy" if first else "original"
                yield Scenario(
                    f"cloned at stage {stage} with its mark, {more} charges in each; the {which} comes under the other",
                    _cloned_with_mark(stage, more, first),
                )


def _one_after_the_other(stage: int) -> Act:
    """The clone goes on first, under the one mark; then the original comes back."""

    def act(world: World, place: Path) -> int:
        begin = world.copies[stage].when_closed
        gone_on = life(place, stages=2, begin=begin)[-1]
        replace(gone_on.when_closed, ledger=begin.ledger).put(place)
        return gone_on.spent

    return act


def _at_the_same_time(stage: int) -> Act:
    """Two clones are open under one mark; both are asked, in turn, and one of them must be refused."""

    def act(world: World, place: Path) -> int:
        begin, clone = world.copies[stage], place / "clone.sqlite"
        begin.when_closed.put(place)
        clone.write_bytes(begin.when_closed.ledger or b"")
        with ExitStack() as stack:
            both = [
                stack.enter_context(closing(opened(path, place / "mark.sqlite")))
                for path in (place / "ledger.sqlite", clone)
            ]
            paid = sum(_paid(both[turn % 2], 1000 + turn) for turn in (1, 0, 1, 0))
        return begin.spent + paid

    return act


def _paid(ledger: Ledger, size: int) -> int:
    try:
        pay(ledger, size)
    except LedgerRefused:
        return 0
    return size


def _cloned_with_mark(stage: int, more: int, copy_first: bool) -> Act:
    """A whole machine is cloned, both go on, and later the ledger of one comes under the mark of the other."""

    def act(world: World, place: Path) -> int:
        begin = world.copies[stage]
        here, there = (_gone_on(place / name, begin, more, size) for name, size in (("here", 500), ("there", 700)))
        ledger, mark = (there, here) if copy_first else (here, there)
        replace(mark.when_closed, ledger=ledger.when_closed.ledger).put(place)
        return here.spent + there.spent - begin.spent

    return act


def _cloned_and_back(stage: int) -> Act:
    """The same, and after the owner has reconciled the one, the other one comes back."""

    def act(world: World, place: Path) -> int:
        begin = world.copies[stage]
        here, there = (_gone_on(place / name, begin, 2, size) for name, size in (("here", 500), ("there", 700)))
        replace(here.when_closed, ledger=there.when_closed.ledger).put(place)
        reconciled(place)
        replace(Files.of(place), ledger=here.when_closed.ledger, log=None).put(place)
        return here.spent + there.spent - begin.spent

    return act


def _gone_on(place: Path, begin: Copy, more: int, size: int) -> Copy:
    place.mkdir()
    begin.when_closed.put(place)
    with closing(opened(place / "ledger.sqlite", place / "mark.sqlite")) as ledger:
        for number in range(more):
            pay(ledger, size + number)
        spent = spending(ledger)
    return Copy(spent, Files.of(place), Files.of(place))


# ---- exchanged and deleted


def _exchanged() -> Iterator[Scenario]:
    yield Scenario(
        "the ledger of another folder",
        _put(lambda w: replace(w.last.when_closed, ledger=w.other[-1].when_closed.ledger)),
    )
    yield Scenario(
        "the mark of another folder",
        _put(lambda w: replace(w.last.when_closed, mark=w.other[-1].when_closed.mark)),
        mark_lost=True,
    )
    yield Scenario("ledger and mark of another folder", _put(lambda w: w.other[-1].when_closed), mark_lost=True)
    yield Scenario(
        "the log of another folder", _put(lambda w: replace(w.last.when_closed, log=w.other[-1].while_open.log))
    )
    yield Scenario(
        "the mark as the ledger", _put(lambda w: replace(w.last.when_closed, ledger=w.last.when_closed.mark))
    )


def _deleted() -> Iterator[Scenario]:
    yield Scenario("the ledger is gone", _put(lambda w: replace(w.last.when_closed, ledger=None)))
    yield Scenario("ledger and mark are gone", _put(lambda w: Files(None, None, None, None)), mark_lost=True)
    yield Scenario("the file is gone, and its log is there", _put(lambda w: replace(w.last.while_open, ledger=None)))
    yield Scenario("the mark is gone", _put(lambda w: replace(w.last.when_closed, mark=None)), True)
    yield Scenario("the mark is empty", _put(lambda w: replace(w.last.when_closed, mark=b"")), True)
    yield Scenario("the mark's log is gone", _put(lambda w: replace(w.last.while_open, mark_log=None)))


# ---- damaged and edited


def _damaged() -> Iterator[Scenario]:
    for part in range(24):
        yield Scenario(
            f"ledger damaged at {part}/24",
            _put(lambda w, n=part: replace(w.last.when_closed, ledger=_flipped(w.last.when_closed.ledger, n / 24))),
        )
    for part in range(8):
        yield Scenario(
            f"log damaged at {part}/8",
            _put(lambda w, n=part: replace(w.last.while_open, log=_flipped(w.last.while_open.log, n / 8))),
        )
    for part in range(6):
        yield Scenario(
            f"mark damaged at {part}/6",
            _put(lambda w, n=part: replace(w.last.when_closed, mark=_flipped(w.last.when_closed.mark, n / 6))),
            mark_lost=True,
        )


def _flipped(data: bytes | None, place: float) -> bytes:
    """A few bytes changed, of those that say something: most of a file is empty."""
    assert data
    used = [at for at, byte in enumerate(data) if byte]
    start = used[int(len(used) * place)]
    return data[:start] + bytes(byte ^ 0x1A for byte in data[start : start + 4]) + data[start + 4 :]


def _edited() -> Iterator[Scenario]:
    for name, edit in EDITS.items():
        yield Scenario(f"edited: {name}", _with_edit(edit))


def _with_edit(edit: Callable[[sqlite3.Connection], None]) -> Act:
    def act(world: World, place: Path) -> int:
        world.last.when_closed.put(place)
        edited(place / "ledger.sqlite", edit)
        return world.last.spent

    return act
