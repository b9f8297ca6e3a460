"""Tokens hold until they expire or are revoked, are kept nowhere, and those that do not hold are all alike."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from clinics import clinic
from dalenius.errors import InvalidParameter
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.tokens import Tokens, digest, issue, revoke


@pytest.fixture
def ledger() -> Ledger:
    return Ledger.in_memory()


def test_a_token_stands_for_its_holder(ledger: Ledger) -> None:
    known = Tokens(ledger)
    for who, role in [("ana", "analyst"), ("eve", "auditor"), ("owner", "owner"), ("olga", "owner")]:
        holder = known.holder(issue(ledger, who, role=role))
        assert holder is not None
        assert (holder.who, holder.role) == (who, role)


def test_tokens_have_256_bits_and_differ(ledger: Ledger) -> None:
    made = {issue(ledger, "ana") for _ in range(50)}
    assert len(made) == 50
    assert {len(token) for token in made} == {47}  # "dal_" and 43 characters of 6 bits


def test_the_ledger_holds_hashes_and_no_token(ledger: Ledger) -> None:
    token = issue(ledger, "ana")
    text = json.dumps([entry.body for entry in ledger.entries()])
    assert digest(token) in text
    assert token.removeprefix("dal_") not in text


@pytest.mark.parametrize("wrong", ["", "dal_", "x" * 47, "dal_" + "A" * 43, "dal_" + "A" * 10_000, "dal_é", "0" * 64])
def test_an_unknown_token_holds_nothing(ledger: Ledger, wrong: str) -> None:
    issue(ledger, "ana")
    assert Tokens(ledger).holder(wrong) is None


def test_the_hash_of_a_token_is_no_token(ledger: Ledger) -> None:
    assert Tokens(ledger).holder(digest(issue(ledger, "ana"))) is None


def test_a_token_ends_with_its_days(ledger: Ledger) -> None:
    now = dt.datetime.now(dt.UTC)
    token = issue(ledger, "ana", days=2)
    for later, holds in [(dt.timedelta(days=2, seconds=-60), True), (dt.timedelta(days=2, seconds=60), False)]:
        moment = now + later
        assert (Tokens(ledger, clock=lambda moment=moment: moment).holder(token) is not None) == holds


def test_a_revocation_ends_all_tokens_of_a_name_and_no_others(ledger: Ledger) -> None:
    known = Tokens(ledger)
    mine, second, other = issue(ledger, "ana"), issue(ledger, "ana", role="auditor"), issue(ledger, "bob")
    assert all(known.holder(token) for token in (mine, second, other))
    revoke(ledger, "ana")
    assert [known.holder(token) is None for token in (mine, second, other)] == [True, True, False]


def test_a_token_that_is_issued_after_a_revocation_holds(ledger: Ledger) -> None:
    revoke(ledger, "ana")
    token = issue(ledger, "ana")
    assert Tokens(ledger).holder(token) is not None


def test_what_another_ledger_issued_does_not_hold_here(ledger: Ledger) -> None:
    assert Tokens(ledger).holder(issue(Ledger.in_memory(), "ana")) is None


def test_only_what_is_new_in_the_ledger_is_read(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    known, read = Tokens(ledger), []
    token = issue(ledger, "ana")
    entries = ledger.entries
    monkeypatch.setattr(ledger, "entries", lambda *, after: read.append(after) or entries(after=after))
    known.holder(token)
    known.holder(token)
    assert read == [0, 2]


@pytest.mark.parametrize(
    "wrong",
    [{"who": "a b"}, {"who": "owner"}, {"role": "admin"}, {"days": 0}, {"days": 4000}, {"days": True}, {"who": ""}],
)
def test_a_token_needs_a_name_a_role_and_an_end(ledger: Ledger, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        issue(ledger, **{"who": "ana", **wrong})  # type: ignore[arg-type]
    assert len(list(ledger.entries())) == 1


def test_the_owner_revokes_grants_and_tokens_together_and_is_told_of_unknown_names() -> None:
    with clinic() as db:
        db.grant("ana", tables=["visits"])
        ana, eve, known = db.token("ana"), db.token("eve", "auditor"), Tokens(db._curator.ledger)
        db.revoke("ana")
        db.revoke("eve")
        assert (known.holder(ana), known.holder(eve)) == (None, None)
        assert "ana" not in db._curator.catalog.grants
        for revoke_unknown in (db.revoke, db.revoke_tokens):
            with pytest.raises(InvalidParameter):
                revoke_unknown("anna")


def test_errors_and_representations_hold_no_token(ledger: Ledger) -> None:
    token = issue(ledger, "ana")
    known = Tokens(ledger)
    with pytest.raises(InvalidParameter) as refused:
        revoke(ledger, token)
    assert token not in str(refused.value) + repr(known) + repr(known.holder(token))
