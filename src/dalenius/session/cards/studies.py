"""The card of a study: all releases that were charged to it, with totals. It names no analyst."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction

from dalenius.accounting.amounts import Charge
from dalenius.catalog.catalog import Catalog, Population, Study
from dalenius.errors import InvalidParameter
from dalenius.ledger.accounts import Account, Receipt
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.names import percent
from dalenius.session.cards.cards import bulleted, headed, listed, tabled
from dalenius.session.cards.making import DECLARED, TRUST_MODEL, composed
from dalenius.session.shelf import Shelf

_RELEASES = ("released", "receipt", "share", "asked")
UNANSWERED = "(charged; no answer was stored)"


@dataclass(frozen=True)
class StudyRelease:
    """One charge of a study: its receipt, when, its share of the population's budget, and what was asked."""

    receipt: str
    at: str
    share: str
    asked: str


@dataclass(frozen=True)
class StudyCard:
    """What a study has released so far, and what that cost. It depends on the catalog and the ledger alone.

    `spent` counts what was paid for reading stored answers too, if the study's analysts pay for that; `released` counts
    releases, and is what the population was charged.
    """

    study: str
    population: str
    purpose: str
    start: str
    end: str
    quota: str
    reserve: str
    spent: str
    released: str
    trust: str
    releases: tuple[StudyRelease, ...]
    promised: tuple[str, ...]
    unprotected: tuple[str, ...]

    def to_json(self) -> str:
        """The card for programs."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2)

    def to_markdown(self) -> str:
        """The card for people."""
        facts = [("population", self.population), ("used for", self.purpose), ("from", self.start), ("to", self.end),
                 ("quota", self.quota), ("held for it", self.reserve), ("spent of the quota", self.spent),
                 (f"released, in {_counted(len(self.releases))}", self.released)]  # fmt: skip
        return "\n\n".join(
            [
                headed(1, f"Study {self.study}"),
                tabled(("what", "figure"), [fact for fact in facts if fact[1]]),
                f"Shares are parts of the whole budget of {listed(self.population)}. {listed(self.trust)}",
                headed(2, "Releases"),
                tabled(_RELEASES, map(_row, self.releases)) if self.releases else "None so far.",
                headed(2, "What is promised"),
                bulleted(self.promised),
                headed(2, "What is not protected"),
                bulleted(self.unprotected),
            ]
        )

    def __str__(self) -> str:
        return self.to_markdown()

    def __repr__(self) -> str:
        return f"<StudyCard of {self.study}, {_counted(len(self.releases))}>"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


def _counted(releases: int) -> str:
    return "1 release" if releases == 1 else f"{releases} releases"


def _row(release: StudyRelease) -> tuple[str, ...]:
    return release.at, release.receipt, release.share, release.asked


def study_card(catalog: Catalog, ledger: Ledger, shelf: Shelf, name: str) -> StudyCard:
    """The card of a study as of now."""
    if name not in catalog.studies:
        raise InvalidParameter("study", name, allowed="one of " + (", ".join(catalog.studies) or "none so far"))
    study = catalog.studies[name]
    people = catalog.population(study.population)
    asked = {found.receipt: found.asked for found in shelf.all(ledger)}
    charged = list(_charged(ledger, study, people))
    return StudyCard(
        study=name,
        population=study.population,
        purpose=study.purpose,
        start=_day(study.start),
        end=_day(study.end),
        quota=percent(study.share),
        reserve=percent(study.reserve) if study.reserve else "",
        spent=percent(people.renyi_filter.share(ledger.spent(Account((study.population, name))))),
        released=percent(sum((share for _, share in charged), Fraction(0))),
        trust=TRUST_MODEL,
        releases=tuple(_release(receipt, share, asked.get(receipt.id)) for receipt, share in charged),
        promised=tuple(composed(people)),
        unprotected=DECLARED,
    )


def _charged(ledger: Ledger, study: Study, people: Population) -> Iterator[tuple[Receipt, Fraction]]:
    """What the analysts of a study were charged for, and by how much that raised what the study has spent of the
    budget. An analyst of that name outside of it is no study."""
    spent = Charge(divergence=0, order=people.renyi_filter.order, epsilon=0)
    for receipt in ledger.history():
        for charge in receipt.charges:
            if len(charge.account.path) > 2 and charge.account.path[:2] == (study.population, study.name):
                before, spent = people.renyi_filter.share(spent), spent + charge.amount
                yield receipt, people.renyi_filter.share(spent) - before


def _release(receipt: Receipt, share: Fraction, asked: str | None) -> StudyRelease:
    at = receipt.at.astimezone(dt.UTC).isoformat(sep=" ", timespec="seconds")
    return StudyRelease(receipt.id, at, percent(share), UNANSWERED if asked is None else asked)


def _day(moment: dt.datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d}"
