"""Spark sessions of our own, classic and Connect, in which no setting of somebody else's changes what SQL means.

The classic application that an address starts lives as long as the process: there can be one only, and others may use
it too. pyspark is loaded when the first session is opened.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from dalenius.errors import InvalidParameter, MissingExtra

_RULES = "org.apache.spark.sql.catalyst.optimizer"
_UNWANTED = (
    "ReorderAssociativeOperator",  # adds up constants beforehand, which need not fit
    "ConvertToLocalRelation",  # computes rows in memory in another way than those of a table
)
SETTINGS: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    # What cannot fail tells nothing; spellings mean the same with ANSI mode on.
    "spark.sql.ansi.enabled": "false",
    # ${...} in a name would be replaced.
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.legacy.parser.havingWithoutGroupByAsWhere": "false",
    "spark.sql.legacy.literal.pickMinimumPrecision": "true",
    "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "false",
    "spark.sql.legacy.storeAnalyzedPlanForView": "false",
    "spark.sql.crossJoin.enabled": "true",
    # The name of a folder would decide what its column holds: one row more, and every question stops.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # A file that cannot be read would be left out silently.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.optimizer.excludedRules": ",".join(f"{_RULES}.{rule}" for rule in _UNWANTED),
    # What the parser remembers of texts would fill the driver, question by question: at most a tenth of its memory.
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushRatio": "10",
    # Descriptions of plans are kept in memory for an owner's web page.
    "spark.sql.maxPlanStringLength": "8192",
}
"""What our sessions set for themselves."""
_OURS = "spark.sql.optimizer.excludedRules"
"""A setting that nobody else has as we do."""
_STARTED = {
    "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF",
    "spark.ui.retainedJobs": "100", "spark.ui.retainedStages": "100", "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "10",
}  # fmt: skip
"""What an application has that we start. Its log may quote rows, so there is none."""
_CATALOGS = "spark.sql.catalog."
_CONNECT = "sc://"
_PATIENCE = 30.0
"""How many seconds a server may take to answer at all."""


def own_session(address: Any) -> Any:
    """A session for an address or an existing session, with `SETTINGS`, apart from all others."""
    if isinstance(address, str) and address.startswith(_CONNECT):
        session = _connected(address)
        try:
            return _within(_PATIENCE, lambda: _set(session))
        except BaseException:
            _forget(session)
            raise
    return _set(_connected(address) if isinstance(address, str) else _beside(address))


def _set(session: Any) -> Any:
    with warnings.catch_warnings(action="ignore"):  # some are for older servers, and newer ones remark upon them
        for name, value in SETTINGS.items():
            session.conf.set(name, value)
    return session


def is_classic(session: Any) -> bool:
    """Whether a session runs inside an application of this process, not behind Connect."""
    return not type(session).__module__.startswith("pyspark.sql.connect")


def is_ours_still(session: Any) -> bool:
    """Whether a session is there and has our settings: a server ends those that are idle, and forgets all when it
    starts anew."""
    try:
        return bool(_within(_PATIENCE, lambda: session.conf.get(_OURS)) == SETTINGS[_OURS])
    except Exception:
        return False


def end(session: Any) -> None:
    """Let go of a session of our own; a classic one goes with the application."""
    if not is_classic(session):
        with contextlib.suppress(Exception):
            _within(_PATIENCE, session.stop)
        _forget(session)


def _forget(session: Any) -> None:
    """Let the process end without another word to a server that may be gone: its client would try for minutes."""
    with contextlib.suppress(Exception):
        atexit.unregister(session.client._on_exit)


def _connected(address: str) -> Any:
    if address.startswith(_CONNECT):
        return _module("pyspark.sql.connect.session").SparkSession(address)
    sessions = _module("pyspark.sql").SparkSession
    if address == "spark":
        return _beside(sessions.getActiveSession() or _started(sessions.builder))
    session = _started(sessions.builder.master(address))
    if not is_classic(session) or session.sparkContext.master != address:
        raise InvalidParameter(
            "address", address, allowed="the one that this process uses already: a process has one Spark application",
            hint="Use the address 'spark' for the session that is there.",
        )  # fmt: skip
    return _beside(session)


def _within(seconds: float, work: Callable[[], Any]) -> Any:
    """What a function gives, or a `TimeoutError`: a server that does not answer would be asked again for minutes."""
    found: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="dalenius-spark-connect", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if thread.is_alive():
        raise TimeoutError("the server did not answer in time")
    return found[0]


def _started(builder: Any) -> Any:
    """The application of this process, started quietly if there is none."""
    if _module("pyspark").SparkContext._active_spark_context is None:
        for name, value in {"spark.app.name": "dalenius", **_STARTED}.items():
            builder = builder.config(name, value)
    return builder.getOrCreate()


def _beside(session: Any) -> Any:
    """A new session in the same application, with the same catalogs."""
    if not hasattr(session, "newSession"):
        raise InvalidParameter(
            "address", "a Connect session", allowed="one whose pyspark is 4.3 or later, or an address",
            hint="Give its address sc://host:port instead.",
        )  # fmt: skip
    found = session.newSession()
    for name, value in dict(session.conf.getAll).items():
        if name.startswith(_CATALOGS):
            with contextlib.suppress(Exception):  # some are fixed, and the same in both
                found.conf.set(name, value)
    return found


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra("a Spark address", package="pyspark", extra="spark") from None
