"""The cost of backups for other requests: `python -m bench.backups`.

Two measurements, each in turns of one run, so that the drift of the machine cancels out:

    recovery   PutItem with point-in-time recovery off, then on: the ratio of the two rates
    backup     the mix of reads and writes alone, then while backups are made: p99 of both

Faradisc alone, on the data of bench/workloads.py. Targets: recovery costs less than 15 % of PutItem's
throughput, a backup at most doubles p99.
"""

import argparse
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import answers, client, requests
from bench.client import Timing
from bench.servers import FARADISC, Server
from bench.workloads import PLAIN_TABLE, WORKLOADS, Population, table_definition

LOOK_S = 0.02


class Scene:
    def __init__(self, server: Server, options: argparse.Namespace) -> None:
        self.server = server
        self.options = options
        self.ask = answers.Asker(server.port).__enter__()
        self.ask("CreateTable", table_definition(PLAIN_TABLE))
        population = Population(options.items)
        signed = (requests.sign(*operation) for operation in population.load(PLAIN_TABLE))
        client.load(signed, server.port)
        self.cpu_us = 0.0
        self.files = {}
        for name in ("putitem", "mixed"):
            self.files[name] = server.directory / name
            operations = WORKLOADS[name].operations(population)
            requests.write_file(self.files[name], (requests.sign(*each) for each in operations))

    def replay(self, name: str) -> Timing:
        """Replays a workload; `cpu_us` is the server's processor time per request, in microseconds."""
        cpu_s = self.server.cpu_seconds()
        timing = client.replay(
            self.files[name],
            self.server.port,
            connections=self.options.connections,
            seconds=self.options.seconds,
            with_wrk=client.has_wrk(),
        )
        assert not timing.errors, f"{timing.errors} requests failed"
        self.cpu_us = (self.server.cpu_seconds() - cpu_s) / timing.operations * 1e6
        return timing

    def recovery(self, enabled: bool) -> None:
        self.ask(
            "UpdateContinuousBackups",
            {
                "TableName": PLAIN_TABLE,
                "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": enabled},
            },
        )

    def back_up(self) -> tuple[float, int]:
        """Makes a backup and deletes it. Returns the seconds from the request to AVAILABLE, and the bytes
        of items."""
        began = time.perf_counter()
        request = {"TableName": PLAIN_TABLE, "BackupName": "bench"}
        arn = self.ask("CreateBackup", request)["BackupDetails"]["BackupArn"]
        details: dict[str, Any] = {"BackupStatus": "CREATING"}
        while details["BackupStatus"] != "AVAILABLE":
            time.sleep(LOOK_S)
            details = self.ask("DescribeBackup", {"BackupArn": arn})["BackupDescription"]["BackupDetails"]
        took = time.perf_counter() - began
        self.ask("DeleteBackup", {"BackupArn": arn})
        return took, details["BackupSizeBytes"]


def rate(timing: Timing) -> float:
    return timing.operations / timing.seconds


def measure_recovery(scene: Scene) -> None:
    scene.replay("putitem")
    ratios, cpu_ratios = [], []
    for _ in range(scene.options.rounds):
        off, cpu_off = rate(scene.replay("putitem")), scene.cpu_us
        scene.recovery(True)
        on, cpu_on = rate(scene.replay("putitem")), scene.cpu_us
        scene.recovery(False)
        ratios.append(on / off)
        cpu_ratios.append(cpu_on / cpu_off)
        print(
            f"  PutItem  off {off:8,.0f}/s {cpu_off:5.1f} us CPU   on {on:8,.0f}/s {cpu_on:5.1f} us CPU   "
            f"costs {1 - on / off:6.1%}",
            flush=True,
        )
    print(
        f"point-in-time recovery costs {1 - statistics.median(ratios):.1%} of PutItem's throughput "
        f"and {statistics.median(cpu_ratios) - 1:.1%} more processor time"
    )


def measure_backup(scene: Scene) -> None:
    scene.replay("mixed")
    ratios, backups = [], []
    for _ in range(scene.options.rounds):
        alone = scene.replay("mixed")
        stop = threading.Event()

        def make(stop: threading.Event = stop) -> None:
            while not stop.is_set():
                backups.append(scene.back_up())

        thread = threading.Thread(target=make)
        thread.start()
        beside = scene.replay("mixed")
        stop.set()
        thread.join()
        ratios.append(beside.p99_ms / alone.p99_ms)
        print(
            f"  80/20 mix  alone {rate(alone):8,.0f}/s p99 {alone.p99_ms:6.2f} ms   "
            f"during backups {rate(beside):8,.0f}/s p99 {beside.p99_ms:6.2f} ms   "
            f"{ratios[-1]:.2f} times",
            flush=True,
        )
    took, size = statistics.median(each for each, _ in backups), backups[0][1]
    quiet, _ = scene.back_up()
    print(f"p99 during a backup is {statistics.median(ratios):.2f} times that without one")
    print(f"a backup of {size / 1e6:,.0f} MB: {took:.1f} s under load, {quiet:.1f} s alone")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--items", type=int, default=2_000_000, help="of 400 bytes; the default is 1 GB")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--server-core", type=int, default=0)
    parser.add_argument("--directory", type=Path, default=Path("bench/results"))
    parser.add_argument("--only", choices=("recovery", "backup"))
    options = parser.parse_args(arguments)
    options.directory.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(dir=options.directory))
    try:
        with Server(FARADISC, directory, core=options.server_core) as server:
            scene = Scene(server, options)
            if options.only != "backup":
                measure_recovery(scene)
            if options.only != "recovery":
                measure_backup(scene)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
