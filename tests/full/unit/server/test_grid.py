"""The dear tests of `unit/server/test_grid.py`."""

from __future__ import annotations

from clinics import clinic
from dalenius.server.schedule import ReplySchedule
from servers import Served
from tests.unit.server.test_grid import COUNT, left_at


def test_charged_replies_leave_on_the_grid_however_long_the_work_takes() -> None:
    with clinic() as db, Served(db, grid=ReplySchedule(step=1, fine=9, headroom=0)) as served:
        served.workers.settle_at_once()
        assert [round(left_at(served, work, **COUNT)) for work in (0, 0.1, 0.4, 1.2)] == [1, 1, 1, 2]
