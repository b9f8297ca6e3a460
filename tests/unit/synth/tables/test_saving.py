"""Synthetic tables are saved and loaded without loss, and what is damaged is refused."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dalenius as dl
from checks import SeededEntropy
from clinics import clinic, visits
from dalenius.errors import InvalidParameter
from dalenius.query.types import Domain
from dalenius.session.databases import Database
from dalenius.synth.tables import saved, tables
from dalenius.synth.tables.families import SyntheticFamily
from dalenius.synth.tables.tables import SyntheticTable

KNOWN = dl.Synthesizer(
    columns=["age", "city", "cost", "day"],
    bins={"age": "10", "cost": 4, "day": 6},
    order=2,
    impossible=["age < 20 AND city = 'Tromsø'"],
    total=180,
)


@pytest.fixture
def db() -> Iterator[Database]:
    with clinic(dl.Budget(epsilon=9, delta="1e-9"), data=visits(patients=60)) as database:
        yield database


def require_alike(one: SyntheticTable, other: SyntheticTable) -> None:
    """Whatever is done with both gives the same."""
    assert (other.axes, other.groups, other.constraints) == (one.axes, one.groups, one.constraints)
    assert other.source == replace(one.source, left=""), "what was left then is not the table's"
    assert other.rows_of_unit == one.rows_of_unit
    for part, same in zip(one.measured, other.measured, strict=True):
        assert (part.columns, part.deviation) == (same.columns, same.deviation)
        assert np.array_equal(part.counts, same.counts)
    assert other.sample(50, entropy=SeededEntropy(7)).equals(one.sample(50, entropy=SeededEntropy(7)))
    assert other.answer(["age", "city"]) == one.answer(["age", "city"])
    assert str(other.report()) == str(one.report())


def test_a_table_that_was_saved_is_the_same_when_it_is_loaded(db: Database, tmp_path: Path) -> None:
    table = KNOWN.fit(db.table("visits"), epsilon=2)
    table.save(tmp_path / "table.json")
    loaded = SyntheticTable.load(tmp_path / "table.json")
    require_alike(table, loaded)
    assert loaded.source.card is not None
    found = loaded.evaluate(db.table("visits"), epsilon=1, key="x")
    assert found.errors == table.evaluate(db.table("visits"), epsilon=1, key="x").errors


def test_the_test_above_notices_a_file_that_forgets_what_was_declared(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = SyntheticTable.facts
    monkeypatch.setattr(SyntheticTable, "facts", lambda self: {**real(self), "impossible": []})
    with pytest.raises(AssertionError):
        test_a_table_that_was_saved_is_the_same_when_it_is_loaded(db, tmp_path)


def test_a_family_is_saved_as_a_whole(db: Database, tmp_path: Path) -> None:
    people = pa.table(
        {
            "patient_id": list(range(60)),
            "age": [i % 50 for i in range(60)],
            "city": [["Oslo", None][i % 2] for i in range(60)],
        }
    )
    db.add_table(
        "patients", people, population="patients", unit="patient_id", max_rows=1, max_groups=1,
        columns={"age": dl.Int(0, 120), "city": dl.Category("Oslo", "Bergen")},
    )  # fmt: skip
    synthesizer = dl.FamilySynthesizer(
        parent=dl.Synthesizer(bins={"age": "20"}, order=2),
        child=dl.Synthesizer(columns=["cost"], bins={"cost": 4}, order=2, rows=2),
        shared=["city", "age"],
    )
    rows = db.table("patients"), db.table("visits")
    family = synthesizer.fit(*rows, epsilon=1)
    family.save(tmp_path / "family.json")
    loaded = SyntheticFamily.load(tmp_path / "family.json")
    require_alike(family.parents, loaded.parents)
    require_alike(family.children, loaded.children)
    assert (loaded.shared, loaded.key) == (family.shared, family.key)
    one, other = (made.sample(20, entropy=SeededEntropy(3)) for made in (family, loaded))
    assert all(first.equals(second) for first, second in zip(one, other, strict=True))
    assert loaded.evaluate(*rows, epsilon=1)[0].errors == family.evaluate(*rows, epsilon=1)[0].errors


# ---- files that are not what was saved


def changed(change: Callable[[dict[str, Any]], object], *, hashed: bool = True) -> Callable[[str], str]:
    """A file with changed facts, and the hash that goes with them."""

    def apply(text: str) -> str:
        body = json.loads(text)
        change(body["facts"])
        if hashed:
            body["sha256"] = saved._hash(body["facts"])
        return json.dumps(body)

    return apply


DAMAGES: dict[str, Callable[[str], str]] = {
    "cut": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "a list": lambda text: "[]",
    "another digit": lambda text: text.replace('"deviation": ', '"deviation": 1', 1),
    "another number, unhashed": changed(lambda facts: facts.update(total=181), hashed=False),
    "no marginals": changed(lambda facts: facts.update(measured=[])),
    "counts of another size": changed(lambda facts: facts["measured"][0].update(counts="eJwDAAAAAAE=")),
    "no base64": changed(lambda facts: facts["measured"][0].update(counts="?")),
    "a negative deviation": changed(lambda facts: facts["measured"][0].update(deviation=-1)),
    "an unknown column": changed(lambda facts: facts["groups"].append(["weight"])),
    "no axes": changed(lambda facts: facts.update(axes=[])),
    "an axis twice": changed(lambda facts: facts["axes"].append(facts["axes"][0])),
    "a condition that is no condition": changed(lambda facts: facts.update(impossible=["DROP TABLE visits"])),
    "no source": changed(lambda facts: facts.update(source="{}")),
    "rows of nobody": changed(lambda facts: facts.update(rows_of_unit=0)),
    "a name less": changed(lambda facts: facts.pop("total")),
}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("saved") / "table.json"
    with clinic(data=visits(patients=60)) as database:
        KNOWN.fit(database.table("visits"), epsilon=2).save(file)
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused(tmp_path: Path, text: str, damage: str) -> None:
    file = tmp_path / "table.json"
    file.write_text(text, encoding="utf-8")
    SyntheticTable.load(file)
    file.write_text(DAMAGES[damage](text), encoding="utf-8")
    with pytest.raises(InvalidParameter, match="damaged"):
        SyntheticTable.load(file)


def test_a_later_version_and_another_kind_are_named_as_such(tmp_path: Path, text: str) -> None:
    file = tmp_path / "table.json"
    file.write_text(json.dumps({**json.loads(text), "version": 2}), encoding="utf-8")
    with pytest.raises(InvalidParameter, match="version is 2"):
        SyntheticTable.load(file)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidParameter, match="something else"):
        SyntheticFamily.load(file)


def test_a_column_that_could_not_be_read_again_is_refused_when_it_is_saved(tmp_path: Path) -> None:
    with dl.create() as db:
        db.add_population("people", budget=dl.Budget(epsilon=9, delta="1e-9"))
        db.add_table("t", pa.table({"id": [1], "n": [5]}), population="people", unit="id",
                     max_rows=1, max_groups=1, columns={"n": dl.Int(0, 10**12)})  # fmt: skip
        table = dl.Synthesizer(order=1).fit(db.table("t"), epsilon=1)
    with pytest.raises(InvalidParameter, match="n"):
        table.save(tmp_path / "table.json")
    assert not (tmp_path / "table.json").exists()


# ---- types

DECLARED: dict[str, tuple[Domain, Any, pa.DataType]] = {
    "whole": (dl.Int(0, 9), 3, pa.int64()),
    "real": (dl.Real(0, 1, step="0.01", nullable=True), 0.5, pa.float64()),
    "thirds": (dl.Real(0, 3, step="1/3"), 1.0, pa.float64()),
    "coarse": (dl.Real(0, 100, step=5), 20.0, pa.float64()),
    "day": (dl.Date("2024-01-01", "2024-12-31"), dt.date(2024, 5, 5), pa.date32()),
    "moment": (dl.Timestamp("2024-01-01", "2024-01-02"), dt.datetime(2024, 1, 1, 5), pa.timestamp("us")),
    "truth": (dl.Bool(), True, pa.bool_()),
    "word": (dl.Category("a", "b"), "a", pa.string()),
}


def test_sampled_columns_have_the_types_of_the_private_ones(tmp_path: Path) -> None:
    data = pa.table({"id": [1, 2], **{name: [value, value] for name, (_, value, _) in DECLARED.items()}})
    with dl.create() as db:
        db.add_population("people", budget=dl.Budget(epsilon=9, delta="1e-9"))
        db.add_table("t", data, population="people", unit="id", max_rows=1, max_groups=1,
                     columns={name: domain for name, (domain, _, _) in DECLARED.items()})  # fmt: skip
        table = dl.Synthesizer(order=1).fit(db.table("t"), epsilon=1)
    table.save(tmp_path / "table.json")
    for made in (table, SyntheticTable.load(tmp_path / "table.json")):
        for count in (0, 30):
            rows = made.sample(count)
            assert dict(zip(rows.column_names, rows.schema.types, strict=True)) == {
                name: type_ for name, (_, _, type_) in DECLARED.items()
            }
        assert data.drop_columns("id").schema.equals(rows.schema)


def test_the_test_above_notices_decimals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_kind", tables.of_domain)
    with pytest.raises(AssertionError):
        test_sampled_columns_have_the_types_of_the_private_ones(tmp_path)
