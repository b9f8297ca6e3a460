"""Real Sparks for tests: one in this process, and a cluster of two workers behind Connect; loopback only, small, and
gone with the tests. Java is installed with the system's packages if it is missing and we may."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

_PATIENCE = 180.0
_MISSING = "needs Java 17 or later: install 'openjdk-17-jre-headless', or run as root so that it can be installed"


@lru_cache(maxsize=1)
def java() -> None:
    """See to it that there is a Java; tests are skipped, with the reason, where there is none."""
    if shutil.which("java") is None and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": False}
        subprocess.run(["apt-get", "update"], timeout=300, **quiet)
        subprocess.run(["apt-get", "install", "-y", "openjdk-17-jre-headless"], timeout=900, **quiet)
    if shutil.which("java") is None:
        pytest.skip(_MISSING)


@lru_cache(maxsize=1)
def folder() -> Path:
    """A folder that goes with the tests."""
    found = Path(tempfile.mkdtemp(prefix="dalenius-spark-"))
    atexit.register(shutil.rmtree, found, ignore_errors=True)
    return found


def settings(name: str) -> dict[str, str]:
    """Small, quiet, and with all its files in our folder."""
    place = folder() / name
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={place}/derby -XX:+UseSerialGC",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.local.dir": f"{place}/local",
        "spark.sql.warehouse.dir": f"{place}/warehouse",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.ui.retainedExecutions": "2",
        "spark.ui.retainedJobs": "2",
        "spark.ui.retainedStages": "2",
    }


@lru_cache(maxsize=1)
def session() -> Any:
    """The one classic session of this process, in local[2]."""
    java()
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master("local[2]").appName("dalenius tests")
    for name, value in settings("classic").items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    atexit.register(found.stop)
    return found


@contextlib.contextmanager
def cluster() -> Iterator[str]:
    """The address of a standalone master with two workers, each with one core."""
    java()
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    with contextlib.ExitStack() as stack:
        started = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port)]
        _await_port(port, stack.enter_context(_process("master", [*started, "--webui-port", "0"])))
        for number in (1, 2):
            work = ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g"]
            stack.enter_context(_process(f"worker{number}", [*work, "--webui-port", "0", master]))
        yield master


@contextlib.contextmanager
def connect(master: str = "local[2]") -> Iterator[str]:
    """The address of a Connect server whose driver uses this master."""
    java()
    port, more = free_port(), []
    facts = {"spark.connect.grpc.binding.address": "127.0.0.1", "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1"}
    facts |= settings("connect") | {"spark.connect.grpc.binding.port": str(port)}
    for name, value in facts.items():
        more += ["--conf", f"{name}={value}"]
    server = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    submitted = ["org.apache.spark.deploy.SparkSubmit", "--master", master, *more, *server]
    with _process("connect", submitted, memory="1g") as process:
        _await_port(port, process)
        yield f"sc://127.0.0.1:{port}"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextlib.contextmanager
def _process(name: str, arguments: list[str], *, memory: str = "256m") -> Iterator[subprocess.Popen[bytes]]:
    """A process of Spark's own scripts; it and its children end with the block, whatever happens in it."""
    import pyspark

    home, place = Path(pyspark.__file__).parent, folder() / name
    place.mkdir(parents=True, exist_ok=True)
    more = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": memory}
    more |= {"SPARK_WORKER_DIR": str(place), "SPARK_LOCAL_DIRS": str(place), "SPARK_NO_DAEMONIZE": "1"}
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(
            ["bash", str(home / "bin" / "spark-class"), *arguments],
            env={**os.environ, **more},
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(15)
            return


def _await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + _PATIENCE
    while time.monotonic() < ends and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise TimeoutError("a Spark server did not start in time")
