"""Running one query on Spark: in a thread of its own, with signs of life, stopped when its time is over."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from dalenius.engines.spark.sessions import is_classic
from dalenius.errors import WorkStopped

TICK = 0.5
"""The seconds between two signs of life."""
PAUSE = 0.1
PATIENCE = 20.0
"""How many seconds a query that was stopped may take to end; then nobody waits for it any more."""

Tick = Callable[[float], object]


def run(session: Any, query: Callable[[], Any], *, seconds: float, tick: Tick | None = None) -> pa.Table:
    """The rows of the data frame that `query` makes, as Arrow; raises `WorkStopped` after `seconds`."""
    work = _Work(session, query)
    ends = time.monotonic() + seconds
    try:
        with work.progress() as percent:
            work.start()
            while not work.ended.wait(max(0.0, min(TICK, ends - time.monotonic()))):
                if time.monotonic() >= ends:
                    raise WorkStopped
                if tick:
                    tick(percent())
    except BaseException:
        work.stop()
        raise
    return work.result()


class _Work:
    """A query in a thread, which bears a tag that stops what it runs on the cluster."""

    def __init__(self, session: Any, query: Callable[[], Any]) -> None:
        self._session, self._query, self._tag = session, query, f"dalenius-{uuid.uuid4()}"
        self._stopped, self._found = False, None
        self._error: BaseException | None = None
        self.ended = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, name="dalenius-spark", daemon=True).start()

    def result(self) -> pa.Table:
        if self._error is not None:
            raise self._error
        return self._found

    def stop(self) -> None:
        """Interrupt until the work has ended; what is planned but does not run yet would miss a single interrupt."""
        self._stopped = True
        threading.Thread(target=self._interrupt, name="dalenius-spark-stop", daemon=True).start()
        self.ended.wait(PATIENCE)

    @contextlib.contextmanager
    def progress(self) -> Any:
        """A function that tells the percent of tasks done, of those known so far."""
        if is_classic(self._session):
            yield self._tasks_done
            return
        told = [0.0]

        def hear(stages: Any, **_: Any) -> None:
            tasks = sum(stage.num_tasks for stage in stages)
            told[0] = 100 * sum(stage.num_completed_tasks for stage in stages) / tasks if tasks else 0.0

        self._session.registerProgressHandler(hear)
        try:
            yield lambda: told[0]
        finally:
            self._session.removeProgressHandler(hear)

    def _run(self) -> None:
        try:
            self._session.addTag(self._tag)
            if is_classic(self._session):
                self._session.sparkContext.setJobGroup(self._tag, "dalenius", interruptOnCancel=True)
            frame = self._query()
            if not self._stopped:
                self._found = frame.toArrow()
        except BaseException as error:
            self._error = error
        finally:
            self.ended.set()

    def _interrupt(self) -> None:
        while not self.ended.is_set():
            with contextlib.suppress(Exception):
                self._session.interruptTag(self._tag)
            if is_classic(self._session):
                with contextlib.suppress(Exception):
                    self._session.sparkContext.cancelJobGroup(self._tag)
            self.ended.wait(PAUSE)

    def _tasks_done(self) -> float:
        with contextlib.suppress(Exception):
            tracker = self._session.sparkContext.statusTracker()
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self._tag)]
            stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
            tasks = sum(stage.numTasks for stage in stages if stage)
            return 100 * sum(stage.numCompletedTasks for stage in stages if stage) / tasks if tasks else 0.0
        return 0.0
