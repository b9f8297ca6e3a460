"""A disk in memory that remembers every write and sync, and can be cut off at any moment or fail at any call.

What a power cut leaves: everything that was synced, and of each write after the last sync of its file all, nothing, any
of its sectors, or a beginning of it that ends at any byte; sometimes all writes up to a moment, in order. Files that
were made and never synced may be missing; a file that was deleted may be back, until something in its folder is synced.
The failed sync of a real system is copied too: what it should have kept is never promised again, however often it is
synced afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from random import Random
from typing import Literal, TypeAlias

SECTOR = 512
Image: TypeAlias = Mapping[str, bytes]
"""The files that a power cut left, by name."""
Piece: TypeAlias = tuple[int, bytes]
Fate: TypeAlias = "Callable[[Random, Step], list[Piece]]"
"""What is kept of a write that was not synced."""


@dataclass(slots=True)
class Step:
    """One change of a file, or a sync."""

    kind: Literal["made", "written", "cut", "synced", "deleted"]
    file: str
    offset: int = 0
    data: bytes = b""
    promised: bool = True  # False where the sync that should have kept it has failed


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong at which call; `lasting` faults go on for ever."""

    call: int
    kind: Literal["error", "full", "short"]
    lasting: bool = False


class DiskFailed(Exception):
    """A call of the disk failed."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(kind)


@dataclass
class Disk:
    """Files as the process sees them, and how they came to be so.

    `lying` names files whose syncs do nothing: a disk that says that it has written and has not.
    """

    files: dict[str, bytearray] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    fault: Fault | None = None
    lying: frozenset[str] = frozenset()
    calls: int = 0

    @classmethod
    def holding(cls, image: Image) -> Disk:
        """A disk on which everything of an image is durable."""
        disk = cls({name: bytearray(data) for name, data in image.items()})
        for name, data in image.items():
            disk.steps += [Step("made", name), Step("written", name, data=data), Step("synced", name)]
        return disk

    # ---- what a file system is asked

    def make(self, name: str) -> None:
        if name not in self.files:
            self._called(name)
            self.files[name] = bytearray()
            self.steps.append(Step("made", name))

    def read(self, name: str, amount: int, offset: int) -> bytes:
        self._called(name)
        return bytes(self.files[name][offset : offset + amount])

    def write(self, name: str, data: bytes, offset: int) -> None:
        try:
            self._called(name, writes=True)
        except DiskFailed as failure:
            if failure.kind == "short":
                self._written(name, data[: len(data) * 2 // 3], offset)
            raise
        self._written(name, data, offset)

    def cut(self, name: str, size: int) -> None:
        self._called(name)
        content = self.files[name]
        content[size:] = bytes(max(0, size - len(content)))
        self.steps.append(Step("cut", name, size))

    def sync(self, name: str) -> None:
        try:
            self._called(name)
        except DiskFailed:
            self._break_promises(name)
            raise
        if name not in self.lying:
            self.steps.append(Step("synced", name))

    def delete(self, name: str) -> None:
        self._called(name)
        del self.files[name]
        self.steps.append(Step("deleted", name))

    def _written(self, name: str, data: bytes, offset: int) -> None:
        _put(self.files[name], data, offset)
        self.steps.append(Step("written", name, offset, data))

    def _break_promises(self, name: str) -> None:
        for step in reversed(self.steps):
            if step.file == name:
                if step.kind in ("synced", "made"):
                    return
                step.promised = False

    def _called(self, name: str, *, writes: bool = False) -> None:
        self.calls += 1
        fault = self.fault
        if fault and (self.calls == fault.call or (fault.lasting and self.calls > fault.call)):
            raise DiskFailed(fault.kind if writes else "error")

    # ---- what a power cut leaves

    def image(self, after: int, chance: Random) -> Image:
        """What is found after a power cut that came right after a number of steps."""
        orderly = chance.choice([0, chance.randint(0, after)])
        return _Cut(self.steps[:after], chance, chance.choice(FATES), orderly).image()

    def as_of(self, after: int) -> Disk:
        """The disk as it was after a number of steps, when the process was killed and the power stayed on."""
        steps = [replace(step) for step in self.steps[:after]]
        whole = _Cut(steps, Random(0), _all, after).image()
        return Disk({name: bytearray(data) for name, data in whole.items()}, steps)


class _Cut:
    """What becomes of each step: it is kept if it was synced, or came before `orderly`, and by chance otherwise."""

    def __init__(self, steps: list[Step], chance: Random, fate: Fate, orderly: int) -> None:
        self._steps, self._chance = steps, chance
        self._synced: dict[str, int] = {}
        self._folders: dict[PurePosixPath, int] = {}
        for place, step in enumerate(steps):
            if step.kind == "synced":
                self._synced[step.file] = self._folders[PurePosixPath(step.file).parent] = place
        self._fate, self._orderly = fate, orderly

    def image(self) -> Image:
        files: dict[str, bytearray] = {}
        missing: set[str] = set()
        last = {step.file: place for place, step in enumerate(self._steps) if step.kind != "synced"}
        for place, step in enumerate(self._steps):
            if step.kind == "made":
                files[step.file] = bytearray()
                if self._forgotten(place, 0.3):
                    missing.add(step.file)
            elif step.kind == "deleted":
                # A deletion that may be undone only matters if the file was not made again.
                if place != last[step.file] or not self._forgotten(place, 0.5):
                    files.pop(step.file)
            elif step.kind != "synced":
                self._apply(files[step.file], place, step)
        return {name: bytes(data) for name, data in files.items() if name not in missing}

    def _forgotten(self, place: int, probability: float) -> bool:
        """Whether a new name, or that one is gone, is lost: no sync has made it durable, and chance decides so."""
        synced = self._folders.get(PurePosixPath(self._steps[place].file).parent, -1) > place
        return not synced and place >= self._orderly and self._chance.random() < probability

    def _apply(self, content: bytearray, place: int, step: Step) -> None:
        durable = place < self._orderly or (step.promised and self._synced.get(step.file, -1) > place)
        if durable:
            kept = [(step.offset, step.data)]
        elif step.kind == "cut":
            kept = [(step.offset, b"")] if self._fate(self._chance, step) else []
        else:
            kept = self._fate(self._chance, step)
        for offset, data in kept:
            if step.kind == "cut":
                content[offset:] = bytes(max(0, offset - len(content)))
            else:
                _put(content, data, offset)


def _all(chance: Random, step: Step) -> list[Piece]:
    return [(step.offset, step.data)]


def _nothing(chance: Random, step: Step) -> list[Piece]:
    return []


def _some_writes(chance: Random, step: Step) -> list[Piece]:
    return _all(chance, step) if chance.random() < 0.5 else []


def _some_sectors(chance: Random, step: Step) -> list[Piece]:
    starts = range(0, max(1, len(step.data)), SECTOR)
    return [(step.offset + at, step.data[at : at + SECTOR]) for at in starts if chance.random() < 0.6]


def _torn(chance: Random, step: Step) -> list[Piece]:
    """Most of the writes; some end at any byte."""
    if chance.random() < 0.7:
        return _all(chance, step)
    return [(step.offset, step.data[: chance.randrange(len(step.data) + 1)])]


FATES: tuple[Fate, ...] = (_all, _nothing, _some_writes, _some_sectors, _torn)


def _put(content: bytearray, data: bytes, offset: int) -> None:
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data
