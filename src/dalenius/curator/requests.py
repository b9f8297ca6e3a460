"""Names for requests: what decides an answer, hashed. Equal requests have equal names in every process, for ever."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from fractions import Fraction

from dalenius.query.questions import Question

_PLAIN = (type(None), bool, int, float, str, bytes, Decimal, Fraction, dt.date, dt.datetime, dt.timedelta)
_IN_ONE = {str, int, bool, type(None)}


def question_name(question: Question) -> str:
    """A name for a bound question: equal questions about equal versions of tables have equal names."""
    return fingerprint(question)


def request_name(question: Question, terms: tuple[object, ...], form: object = ()) -> str:
    """A name for a question on terms and in a form: equal names are answered alike.

    The price enters by the mechanisms that it buys, so two ways to say the same price are one request. The versions of
    the tables enter too: after an update the question is another one, and is charged to the same people.
    Textbook: S18.6.
    """
    return fingerprint((question, *terms, form))


def fingerprint(value: object) -> str:
    """The SHA-256 of a value that is made of frozen dataclasses, tuples, mappings and plain values.

    Guarantee: it covers the type and every field of each dataclass, shown by `repr` or not, and nothing else: no
    cache, no address, no hash seed. Unless SHA-256 has a collision, values with equal fingerprints are equal.
    """
    return _Walk().digest(value).hex()


class _Walk:
    """Hashes every object once, however often it occurs: a list of keys is part of many terms of a question."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, bytes]] = {}

    def digest(self, value: object) -> bytes:
        known = self._known.get(id(value))
        if known is None:
            # The object is kept along, so that no other one gets its address meanwhile.
            known = self._known[id(value)] = value, hashlib.sha256(self._written(value)).digest()
        return known[1]

    def _written(self, value: object) -> bytes:
        """One level of a value: each part in a form that tells where it ends."""
        if is_dataclass(value) and not isinstance(value, type):
            stored = {field.name: getattr(value, field.name) for field in fields(value)}
            name = f"{type(value).__module__}.{type(value).__qualname__}"
            return b"".join([_text(name), *(_text(key) + self._part(part) for key, part in stored.items())])
        if isinstance(value, tuple | list):
            if set(map(type, value)) <= _IN_ONE:
                return b"list" + repr(tuple(value)).encode()
            return b"each" + b"".join(map(self._part, value))
        if isinstance(value, Mapping):
            pairs = sorted((self._part(key), self._part(part)) for key, part in value.items())
            return b"pair" + b"".join(key + part for key, part in pairs)
        return self._part(value)

    def _part(self, value: object) -> bytes:
        if isinstance(value, _PLAIN):
            return _text(f"{type(value).__name__} {value!r}")
        if isinstance(value, type) or not (isinstance(value, tuple | list | Mapping) or is_dataclass(value)):
            raise TypeError(f"{type(value).__name__} has no fingerprint")  # better no answer than another one's
        return b"=" + self.digest(value)


def _text(text: str) -> bytes:
    written = text.encode("utf-8", "backslashreplace")
    return b"%d:%b" % (len(written), written)
