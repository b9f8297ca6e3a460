"""The dear tests of `full/unit/engines/test_spark_running.py`."""

from __future__ import annotations

import pytest

from dalenius.engines.conformance.checking import quick_check
from dalenius.engines.spark.dialect import SparkDialect
from dalenius.engines.spark.engine import SparkEngine
from tests.full.unit.engines import test_spark_running

engine = test_spark_running.engine
logged = test_spark_running.logged


def test_ansi_mode_changes_nothing(engine: SparkEngine) -> None:
    engine.session.conf.set("spark.sql.ansi.enabled", "true")
    assert quick_check(engine) is None


def test_the_check_above_notices_what_only_ansi_mode_refuses(
    engine: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkDialect, "read_integer", lambda d, text: f"CAST({text} AS BIGINT)")
    engine.session.conf.set("spark.sql.ansi.enabled", "true")
    assert quick_check(engine) == "to_int fails"
