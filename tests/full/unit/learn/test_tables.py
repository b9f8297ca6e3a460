"""The dear tests of `unit/learn/test_tables.py`."""

from __future__ import annotations

import pyarrow as pa

from clinics import clinic, visits
from dalenius.learn.rows import PIECE
from dalenius.privacy.exact import unseal
from dalenius.session.databases import Database
from tests.unit.learn import test_tables
from tests.unit.learn.test_tables import planned

db = test_tables.db


def test_large_counts_are_cut_into_pieces(db: Database) -> None:
    numbers = pa.table({"patient_id": range(PIECE + 7)})
    same = visits(patients=1, each=1).drop_columns(["patient_id"])
    rows = pa.concat_tables([same] * (PIECE + 7)).append_column("patient_id", numbers["patient_id"])
    with clinic(data=rows) as large:
        training = planned(large)
        entries = unseal(
            training.rows(large._principal.curator.engine.run(training.passes[0], seconds=60, tick=None)).entries
        )
        assert sorted(entries.counts.tolist()) == [7, PIECE]
