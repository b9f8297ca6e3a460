"""Pairs that fail are made small, and stay neighbours."""

from __future__ import annotations

from dalenius.checks.replay.queries import describe, shrunk

COMMON = [{"row": place} for place in range(200)]
NEW = [{"row": 1000 + place} for place in range(100)]


def test_only_the_rows_that_fail_are_left() -> None:
    pair = {"visits": COMMON, "staff": []}, {"visits": [*COMMON, *NEW], "staff": []}

    def fails(first: dict, second: dict) -> bool:
        assert [row for row in second["visits"] if row["row"] < 1000] == first["visits"]
        return {"row": 77} in first["visits"] and {"row": 1042} in second["visits"]

    small = shrunk(pair, fails)
    assert small == ({"visits": [{"row": 77}], "staff": []}, {"visits": [{"row": 77}, {"row": 1042}], "staff": []})
    assert describe(small) == "in both 1 rows: visits {'row': 77}; before 0 rows; after 1 rows: visits {'row': 1042}"


def test_no_more_is_tried_than_asked() -> None:
    tried: list[int] = []

    def fails(first: dict, second: dict) -> bool:
        tried.append(len(first["visits"]))
        return False

    shrunk(({"visits": COMMON}, {"visits": NEW}), fails, tries=5)
    assert len(tried) == 5
