"""A release card: all that there is to say about one release, made of public facts alone.

Texts as Markdown: whatever they say, they are shown as they stand and never become markup.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from typing import Any, TypeVar

from dalenius.errors import DamagedAnswer
from dalenius.ledger.accounts import Receipt

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$&!])")
_SPACE = re.compile(r"\s+")


def listed(text: str) -> str:
    """A text on one line, with every sign that Markdown or HTML would read set aside."""
    line = "".join(letter if letter.isprintable() else "�" for letter in _SPACE.sub(" ", text))
    return _MARKUP.sub(r"\\\1", line)


def headed(level: int, title: str) -> str:
    return f"{'#' * level} {listed(title)}"


def bulleted(lines: Iterable[str]) -> str:
    return "\n".join(f"- {listed(line)}" for line in lines)


def tabled(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; columns in which no row says anything are left out."""
    body = [list(row) for row in rows]
    kept = [place for place in range(len(heads)) if any(row[place] for row in body)]
    lines = [[heads[place] for place in kept], ["---"] * len(kept)]
    lines += [[listed(row[place]) for place in kept] for row in body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fenced(text: str, language: str) -> str:
    """A text as code, between fences that are longer than any inside."""
    shown = "".join(letter if letter.isprintable() or letter == "\n" else "�" for letter in text)
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


Part = TypeVar("Part")


@dataclass(frozen=True)
class CardTable:
    """A table that was read, in the version that was read; a public one is not protected."""

    table: str
    version: str
    protects: str


@dataclass(frozen=True)
class CardPopulation:
    """A population that the release is about: who is protected how, and what the release cost of its budget.

    Figures that a program may want are exact: fractions and decimals as texts.
    """

    population: str
    purpose: str
    unit: str
    neighbours: str
    epsilon: str
    delta: str
    share: str
    alone: str
    charged: str
    cap: str
    study: str = ""
    block: str = ""


@dataclass(frozen=True)
class CardMeasurement:
    """One measurement: what changes by how much, and the noise that hides it, with its theorem."""

    measured: str
    sensitivity: str
    mechanism: str
    theorem: str
    loss: str
    charged: str


@dataclass(frozen=True)
class Card:
    """What one release is, costs and promises. It depends on the question, the catalog and the ledger; nothing in it
    is private, and it can be published beside the answer.

    Textbook: S18.13.
    """

    receipt: str
    at: str
    asked: str
    software: str
    trust: str
    loss: str
    contribution: str
    sources: tuple[CardTable, ...]
    people: tuple[CardPopulation, ...]
    steps: tuple[CardMeasurement, ...]
    bounds: tuple[str, ...]
    promised: tuple[str, ...]
    not_promised: tuple[str, ...]
    unprotected: tuple[str, ...]

    def of(self, receipt: Receipt) -> Card:
        """The card of a release that was paid for."""
        at = receipt.at.astimezone(dt.UTC).isoformat(sep=" ", timespec="seconds")
        return replace(self, receipt=receipt.id, at=at)

    def facts(self) -> dict[str, Any]:
        """The card as JSON values."""
        return asdict(self)

    @classmethod
    def from_facts(cls, facts: Any) -> Card:
        """The card of JSON values; `DamagedAnswer` for anything else than a card."""
        read: dict[str, Any] = dict(_named(cls, facts))
        for name, value in read.items():
            if name in _PARTS:
                read[name] = tuple(_part(_PARTS[name], each) for each in _list(value))
            else:
                read[name] = tuple(map(_text, _list(value))) if name in _LISTS else _text(value)
        return cls(**read)

    def to_json(self) -> str:
        """The card for programs."""
        return json.dumps(self.facts(), ensure_ascii=False, indent=2)

    def to_markdown(self) -> str:
        """The card for people."""
        return "\n\n".join(
            [
                headed(1, f"Release card {self.receipt}"),
                f"Released {self.at} by {self.software}.",
                fenced(self.asked, "sql"),
                headed(2, "Who is protected"),
                self.trust,
                tabled(_WHO, [(each.population, each.purpose, each.unit, each.neighbours) for each in self.people]),
                tabled(_READ, [(each.table, each.version, each.protects) for each in self.sources]),
                headed(2, "What it cost"),
                f"Loss of this release: {listed(self.loss)}.",
                tabled(_COST, [_cost(each) for each in self.people]),
                headed(2, "How it was made"),
                f"One unit contributes {listed(self.contribution)}.",
                bulleted(self.bounds),
                tabled(_STEPS, [tuple(vars(each).values()) for each in self.steps]),
                headed(2, "What is promised"),
                bulleted(self.promised),
                headed(2, "What is not promised"),
                bulleted(self.not_promised),
                headed(2, "What is not protected"),
                bulleted(self.unprotected),
            ]
        ).replace("\n\n\n\n", "\n\n")

    def __str__(self) -> str:
        return self.to_markdown()

    def __repr__(self) -> str:
        return f"<Card of receipt {self.receipt}>"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


_PARTS: Mapping[str, type[CardTable | CardPopulation | CardMeasurement]] = {
    "sources": CardTable,
    "people": CardPopulation,
    "steps": CardMeasurement,
}
_LISTS = ("bounds", "promised", "not_promised", "unprotected")
_WHO = ("population", "used for", "unit", "neighbours differ by")
_READ = ("table", "version", "whose rows")
_COST = ("population", "share of its budget", "which alone is", "charged", "the most in all", "which promises")
_STEPS = ("measured", "one unit changes it by at most", "mechanism", "theorem", "loss", "charged")


def _cost(people: CardPopulation) -> tuple[str, ...]:
    inside = "".join(
        f" ({name} {where})" for name, where in (("study", people.study), ("block", people.block)) if where
    )
    promise = f"epsilon = {people.epsilon}" + (f", delta = {people.delta}" if people.delta != "0" else "")
    return people.population + inside, people.share, people.alone, people.charged, people.cap, promise


# ---- reading


@cache
def _names(part: type) -> frozenset[str]:
    return frozenset(field.name for field in fields(part))


def _named(part: type, facts: Any) -> Mapping[str, Any]:
    names = _names(part)
    if part is CardPopulation and isinstance(facts, Mapping) and "buys" in facts:  # not told by cards of before
        facts = {**{name: text for name, text in facts.items() if name != "buys"}, "alone": "-"}
    if not isinstance(facts, Mapping) or set(facts) != names:
        raise DamagedAnswer("with a card that has " + ", ".join(sorted(names)))
    return facts


def _part(part: type[Part], facts: Any) -> Part:
    return part(**{name: _text(text) for name, text in _named(part, facts).items()})


def _text(text: Any) -> str:
    if not isinstance(text, str):
        raise DamagedAnswer("with a card that is made of texts")
    return text


def _list(items: Any) -> list[Any]:
    if not isinstance(items, list | tuple):
        raise DamagedAnswer("with a card that is made of lists")
    return list(items)
