"""A real Spark cluster on this machine: one master and worker processes on the loopback."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"
_SECONDS = 90


class Cluster:
    """The processes of a standalone cluster; workers have one core each."""

    def __init__(self, folder: Path, workers: int, memory: str = "1g") -> None:
        import pyspark

        self.folder = folder
        self.memory = memory
        self._class = str(Path(pyspark.__path__[0]) / "bin" / "spark-class")
        self.master = self._start(
            "master", "master.Master", "--host", LOOPBACK, "--port", "0", "--webui-port", "0"
        )
        self.url = self._said("master", r"Starting Spark master at (spark://\S+)")
        self.workers: list[subprocess.Popen[bytes]] = []
        self.add_workers(workers)

    def add_workers(self, number: int) -> None:
        """Start so many more workers, together, and wait until the master knows them."""
        options = ("--cores", "1", "--memory", self.memory, "--host", LOOPBACK, "--webui-port", "0")
        names = [f"worker{len(self.workers) + k}" for k in range(number)]
        for name in names:
            folder = str(self.folder / name)
            self.workers.append(
                self._start(name, "worker.Worker", *options, "--work-dir", folder, self.url)
            )
        for name in names:
            self._said(name, r"Successfully registered with master (\S+)")

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        """End a worker and its executors at once, as a machine that loses power."""
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()

    def stop(self) -> None:
        """End all processes that this cluster started."""
        for process in (*self.workers, self.master):
            if process.poll() is None:
                self.kill(process)

    def _start(self, name: str, main: str, *options: str) -> subprocess.Popen[bytes]:
        command = ["bash", self._class, f"org.apache.spark.deploy.{main}", *options]
        surroundings = {
            **os.environ,
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_LOCAL_DIRS": str(
                self.folder / "local"
            ),  # an executor that is killed leaves its files
            "SPARK_NO_DAEMONIZE": "1",
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                env=surroundings,
                start_new_session=True,
                cwd=self.folder,
            )

    def _said(self, name: str, pattern: str) -> str:
        """Wait for a line in the log of a process; the first group of the pattern."""
        log = self.folder / f"{name}.log"
        for _ in range(_SECONDS * 10):
            found = re.search(pattern, log.read_text(errors="replace"))
            if found:
                return found[1]
            time.sleep(0.1)
        raise TimeoutError(log.read_text(errors="replace")[-2_000:])


@contextmanager
def spark_cluster(workers: int = 2, **options: Any) -> Iterator[tuple[Cluster, Any]]:
    """A cluster and a session on it; both end with the block."""
    from pyspark.sql import SparkSession

    folder = Path(tempfile.mkdtemp(prefix="spark"))
    cluster = Cluster(folder, workers)
    try:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = (
            SparkSession.builder.master(cluster.url)
            .appName("fairstats")
            .config("spark.ui.enabled", "false")
        )
        fixed = {
            "spark.driver.bindAddress": LOOPBACK,
            "spark.driver.host": LOOPBACK,
            "spark.executor.memory": "800m",
            "spark.local.dir": str(folder / "local"),
            "spark.sql.shuffle.partitions": "8",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }
        for name, value in (fixed | options).items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        try:
            yield cluster, session
        finally:
            session.stop()
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
