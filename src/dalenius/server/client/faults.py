"""Errors of the wire, raised as the classes that the same calls raise in one process, with the same texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalenius import errors
from dalenius.errors import DaleniusError, WorkStopped

_CLASSES: Mapping[str, type[DaleniusError]] = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, DaleniusError)
}


def raised(facts: Mapping[str, Any]) -> DaleniusError:
    """The error that a reply tells of. The text is the server's; the facts behind it stay there.

    Guarantee: only classes of `dalenius.errors` are made; an unknown name gives their root.
    """
    said = facts.get("error")
    said = said if isinstance(said, dict) else {}
    kind = _CLASSES.get(str(said.get("type")), DaleniusError)
    error = kind.__new__(kind)
    Exception.__init__(error, str(said.get("message", "the server gave no reason")))
    return error


def is_stopped(facts: Mapping[str, Any]) -> bool:
    """Whether a reply tells of work that was charged and has no answer."""
    return isinstance(raised(facts), WorkStopped)


def as_given(error: DaleniusError, name: str, sent: object, given: object) -> DaleniusError:
    """The error with a parameter shown as it was given here, and not as it was sent."""
    text = str(error).replace(f"{name} is {sent!r},", f"{name} is {given!r},", 1)
    Exception.__init__(error, text)
    return error
