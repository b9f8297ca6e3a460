"""The dear tests of `full/unit/engines/test_spark_clusters.py`."""

from __future__ import annotations

import pytest

from dalenius.engines.conformance.checking import quick_check
from dalenius.engines.spark.dialect import SparkDialect
from dalenius.engines.spark.engine import SparkEngine
from tests.full.unit.engines import test_spark_clusters

engine = test_spark_clusters.engine


def test_a_cluster_behind_connect_gives_what_is_defined(engine: SparkEngine) -> None:
    assert quick_check(engine) is None


def test_the_check_above_notices_a_wrong_spelling(engine: SparkEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkDialect, "trimmed", lambda d, text: f"trim({text})")
    assert quick_check(engine) == "trim gives other values than defined"
