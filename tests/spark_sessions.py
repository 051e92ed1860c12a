"""Sessions of Spark for tests, one of each kind for a process: of Sail, a Connect server without Java, and of local[2].

Nothing leaves this machine: both listen on the loopback address only.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

# Java is started by a fork of this process. gRPC, which Connect uses, would close files in it that are not its own: now
# and then Java then ended before it had begun.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

_SERVER = """
import sys
from pysail.spark import SparkConnectServer

server = SparkConnectServer("127.0.0.1", 0)
server.start(background=True)
print(server.listening_address[1], flush=True)
sys.stdin.read()
"""


class Sail:
    """A Connect server in a process of its own, which can be stopped; what it logs is in `log`."""

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="sail-"))
        self.log = folder / "log"
        plain = {**os.environ, "RUST_LOG": "warn", "SAIL_SPARK__SESSION_TIMEOUT_SECS": "7200"}  # longer than the tests
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _SERVER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=plain,
                text=True,
            )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        atexit.register(self.stop)

    @property
    def address(self) -> str:
        return f"sc://127.0.0.1:{self.port}"

    def session(self) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pyspark.sql.connect.session import SparkSession

            from sfumato.io.spark import impatient

            session = SparkSession.builder.remote(self.address).create()
            return impatient(session, 2)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


@cache
def sail() -> Any:
    """Return a session of a Sail server, started once."""
    return Sail().session()


@cache
def local() -> Any:
    """Return a session of Spark on two threads here, started once; needs Java. A task is tried three times."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        chosen = SparkSession.builder.master("local[2,3]").appName("tests")
        for name, value in {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }.items():
            chosen = chosen.config(name, value)
        session = chosen.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        atexit.register(session.stop)
        return session


def frame_of(session: Any, frame: Any) -> Any:
    """Return a polars frame as a frame of Spark."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not frame.height:  # Spark takes the types from a row
            return frame_of(session, frame.clear(1)).limit(0)
        if session.version.startswith("3."):  # takes no Arrow
            path = Path(tempfile.mkdtemp(prefix="spark-")) / "frame.parquet"
            frame.write_parquet(path)
            return session.read.parquet(str(path))
        return session.createDataFrame(frame.to_arrow())
