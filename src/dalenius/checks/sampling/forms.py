"""An output in a form that can be looked up: equal for two outputs exactly where no observer can tell them apart."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from dalenius.checks.observer import SeenNumber, view
from dalenius.errors import UnfitRelease
from dalenius.session.answers.answers import Answer


@dataclass(frozen=True, slots=True)
class GroupForm:
    """Parts that are held by something of a kind, such as a list."""

    kind: str
    parts: tuple[Hashable, ...] = ()
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(map(str, self.parts))})" if self.parts else self.kind


@dataclass(frozen=True, slots=True)
class Raised:
    """An output that is an error: whoever asks sees its kind and its text."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"raised {self.kind}: {self.text}" if self.text else f"raised {self.kind}"


def form(output: Any) -> Hashable:
    """An output in its form. Of an answer of a database, that is its table: its receipt numbers the run."""
    if isinstance(output, GroupForm | SeenNumber | Raised):
        return output
    if type(output) in (str, bytes):
        text: Hashable = output
        return text
    seen = view(output.to_arrow() if isinstance(output, Answer) else output)
    if seen is None or (seen.kept and seen.shown is None and not seen.parts):
        raise unseen(type(output).__name__)
    if isinstance(seen.shown, SeenNumber) and not seen.parts:
        return seen.shown
    try:
        inside = (*map(form, seen.parts), *((form(seen.kept),) if seen.kept else ()))
    except RecursionError:
        raise unseen(f"{seen.kind} that holds itself") from None
    return GroupForm(seen.kind, inside if seen.shown is None else (seen.shown, *inside), seen.names)


def entries(key: Hashable) -> Iterable[Hashable]:
    """The parts of a form that have none of their own."""
    if isinstance(key, GroupForm) and key.parts:
        for part in key.parts:
            yield from entries(part)
    else:
        yield key


def outline(key: Hashable) -> Hashable:
    """All that is seen of a form but its values."""
    if isinstance(key, GroupForm):
        return key.kind, key.names, tuple(map(outline, key.parts))
    return key.form if isinstance(key, SeenNumber) else type(key).__name__


def in_order(key: Hashable) -> tuple[bool, Any, str]:
    """Numbers first, by their values; the rest by how it is written."""
    return (False, key.value, key.form) if isinstance(key, SeenNumber) else (True, 0, repr(key))


def unseen(what: str) -> UnfitRelease:
    """The refusal of an output that shows no value."""
    return UnfitRelease(
        "release",
        f"a function that gives a {what}",
        allowed="one that gives numbers, texts, None, lists, dictionaries, arrays, tables, or objects of such values",
        hint="Give what people get to see, such as a tuple of numbers.",
    )
