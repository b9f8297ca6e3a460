"""What is proposed for a file depends on its header alone."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.cli.proposals import declarable, declared_types, fields
from dalenius.errors import DataMismatch, InvalidParameter
from dalenius.ledger.names import column_name


def test_a_parquet_file_names_its_types_and_what_no_column_can_hold_is_left_open(tmp_path: Path) -> None:
    columns = {
        "id": pa.array([1], pa.int64()),
        "cost": pa.array([1.5]),
        "price": pa.array(["1.50"]).cast(pa.decimal128(9, 2)),
        "day": pa.array([0], pa.date32()),
        "at": pa.array([0], pa.timestamp("us")),
        "well": pa.array([True]),
        "city": pa.array(["Oslo"]).dictionary_encode(),
        "tags": pa.array([["a"]]),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    found = {field.name: field.type for field in fields("t", tmp_path / "t.parquet")}
    types = ["Int", "Real", "Real", "Date", "Timestamp", "Bool", "Text", None]
    assert list(found.values()) == types


@pytest.mark.parametrize("rows", ["", "1,Oslo\n", "x" * 50 + ",=cmd()\n", '"open,\n'])
def test_the_rows_of_a_csv_file_change_nothing(rows: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"patient id,city\n{rows}")
    assert [(each.source, each.name, each.type) for each in fields("t", path)] == [
        ("patient id", "patient_id", "?"),
        ("city", "city", "?"),
    ]


def test_the_values_and_the_statistics_of_a_parquet_file_change_nothing(tmp_path: Path) -> None:
    for place, values in enumerate(([1, 2], [10**9, None, -5], [])):
        pq.write_table(pa.table({"age": pa.array(values, pa.int32())}), tmp_path / f"{place}.parquet")
    assert len({str(fields("t", tmp_path / f"{place}.parquet")) for place in range(3)}) == 1


@given(names=st.lists(st.text(max_size=80), max_size=8))
def test_any_names_become_different_words_that_a_catalog_takes(names: list[str]) -> None:
    made = declarable(names)
    assert len({name.lower() for name in made}) == len(names)
    assert [column_name(name) for name in made] == made


def test_files_that_cannot_be_read_are_refused_without_their_content(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"canary")
    (tmp_path / "t.txt").write_text("canary")
    (tmp_path / "t.csv").write_text("")
    (tmp_path / "twice.csv").write_text("a,a\n")
    for name in ("t.parquet", "t.txt", "t.csv", "twice.csv", "none.csv"):
        with pytest.raises(DataMismatch) as refused:
            fields("t", tmp_path / name)
        assert "canary" not in str(refused.value)


def test_types_are_declared_for_columns_that_are_there() -> None:
    assert declared_types(["age=Int"], ["age"], ["Int"]) == {"age": "Int"}
    for wrong in ("age", "age=Whole", "year=Int"):
        with pytest.raises(InvalidParameter):
            declared_types([wrong], ["age"], ["Int"])
