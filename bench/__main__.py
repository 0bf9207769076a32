"""`python -m bench`: set up the peers, run the comparison or the scale check, print the tables."""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench import (
    access,
    client,
    expiring,
    growth,
    instructions,
    large_requests,
    machine,
    report,
    rounds,
    soak,
    throttling,
)
from bench.servers import (
    DEFAULT_PROGRAMS,
    FARADISC,
    OVER_POSTGRES,
    PROGRAMS,
    Program,
    Server,
    Unavailable,
    compile_modules,
    install_peers,
)
from bench.side_by_side import RIGHTS, STATES
from bench.workloads import FEATURES, PARTITION_ITEMS, PLAIN_TABLE, WORKLOADS, Population, Workload

RESULTS_DIRECTORY = Path(__file__).resolve().parent / "results"
SCALE_ITEMS = (20_000, 2_000_000)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        if options.command == "setup":
            install_peers()
            return 0
        alone = {"soak": _soak, "throughput": _throughput, "large": _large, "access": _access}.get(
            options.command
        )
        return _run(options) if alone is None else alone(options)
    except (
        Unavailable,
        client.BadAnswer,
        OSError,
        report.MissingMarks,
        subprocess.CalledProcessError,
    ) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1


def _large(options: argparse.Namespace) -> int:
    """Prints the latency of GetItem beside each kind of large request, each on a server of its own."""
    for kind in (None, *large_requests.KINDS, *large_requests.OTHERS):
        with (
            tempfile.TemporaryDirectory() as directory,
            Server(FARADISC, Path(directory), core=None) as server,
        ):
            print(large_requests.measure(server.port, server.pid, options.seconds, kind), flush=True)
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Faradisc against its peers, on this machine."
    )
    add = parser.add_argument
    add(
        "command",
        nargs="?",
        choices=("run", "setup", "soak", "throughput", "large", "access"),
        default="run",
        help="setup installs the peers; soak puts everything on one server for a long time; "
        "throughput measures what counting and enforcing it cost; access what signatures and policies cost; "
        "large measures GetItem beside sixteen clients that send large requests",
    )
    add("--minutes", type=float, default=60, help="soak: how long (60)")
    add(
        "--turns",
        type=int,
        default=200,
        help="throughput, access: how many turns (200, about twelve minutes)",
    )
    add("--only", type=_names(WORKLOADS), help=f"workloads, separated by commas: {', '.join(WORKLOADS)}")
    add("--servers", type=_names(PROGRAMS), help=f"servers, separated by commas: {', '.join(PROGRAMS)}")
    add("--seconds", type=int, default=5, help="length of a round (5)")
    add("--rounds", type=int, default=3, help="rounds per workload and server (3)")
    add("--connections", type=int, default=16, help="open connections (16, what the targets are for)")
    add("--items", type=int, default=100_000, help="items in the table (100000)")
    add("--scale", action="store_true", help="Faradisc only: the same workloads on two sizes")
    add(
        "--scale-items",
        type=_sizes,
        default=SCALE_ITEMS,
        metavar="SMALL,LARGE",
        help="the two sizes (20000,2000000)",
    )
    add("--postgres", action="store_true", help="Faradisc only: over PostgreSQL, as a ratio to RocksDB")
    add("--feature", choices=FEATURES, help="Faradisc only: its workloads on a table without it and with it")
    add(
        "--expiring",
        type=int,
        metavar="ITEMS",
        help="Faradisc only: PutItem while so many other items expire (the target: 1000000)",
    )
    add("--expire-in", type=int, default=240, help="seconds from the start to their expiry (240)")
    add(
        "--client",
        choices=("auto", "wrk", "python"),
        default="auto",
        help="auto is wrk where it is installed",
    )
    add("--server-core", type=int, default=0, help="core of the servers (0); -1 pins nothing")
    add("--client-core", type=int, default=1, help="core of the client (1); -1 pins nothing")
    add(
        "--directory",
        type=Path,
        default=RESULTS_DIRECTORY,
        help="where data lives during the run (bench/results)",
    )
    add("--json", type=Path, help="write every round's figures to this file")
    add(
        "--publish",
        type=Path,
        metavar="FILE",
        help="replace the tables in this file, e.g. docs/performance.md",
    )
    options = parser.parse_args(arguments)
    if min(options.seconds, options.rounds, options.connections) < 1:
        parser.error("--seconds, --rounds and --connections start at 1")
    if any(
        size < PARTITION_ITEMS or size % PARTITION_ITEMS for size in (options.items, *options.scale_items)
    ):
        parser.error(f"sizes are multiples of {PARTITION_ITEMS}")
    if options.publish and (options.only or options.servers):
        parser.error("a part of a run is not published: leave out --only and --servers")
    if options.client == "wrk" and not client.has_wrk():
        parser.error("wrk is not installed")
    return options


def _names(known: Mapping[str, object]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(known)}")
        return names

    return parse


def _sizes(text: str) -> tuple[int, int]:
    small, large = (int(part) for part in text.split(","))
    return small, large


def _run(options: argparse.Namespace) -> int:
    name = _name_of(options)
    if options.publish:
        report.split_at_marks(options.publish, name)  # finds a missing mark before the run
    options.directory.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(suffix=".tmp", dir=options.directory))
    directory.chmod(0o711)  # PostgreSQL has another user where root runs this
    plan = rounds.Plan(
        directory=directory,
        connections=options.connections,
        seconds=options.seconds,
        rounds=options.rounds,
        server_core=_core(options.server_core),
        client_core=_core(options.client_core),
        with_wrk=options.client != "python" and client.has_wrk(),
    )
    of_run = FEATURES[options.feature].workloads if options.feature else WORKLOADS
    chosen = [WORKLOADS[name] for name in options.only or of_run]
    try:
        here = machine.describe(directory)
        rows, measured, tables, notes = _RUNS.get(name, _feature)(options, plan, chosen)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    notes = [*_conditions(plan, in_turns=name != "expiring"), *notes]
    print("\n" + "\n".join([*here.lines(), *notes]))
    print("\n" + "\n\n".join(table.text() for table in tables))
    if options.json:
        options.json.write_text(json.dumps(report.data(rows, measured, here, notes), indent=1) + "\n")
    if options.publish:
        report.publish(options.publish, name, report.markdown(tables, here, notes))
    return 1 if any(row.problem for row in rows) else 0


Outcome = tuple[list[rounds.Row], list[rounds.Startup], list[report.Table], list[str]]


def _compare(options: argparse.Namespace, plan: rounds.Plan, chosen: Sequence[Workload]) -> Outcome:
    population = Population(options.items)
    programs, notes = _available(
        options.servers or list(DEFAULT_PROGRAMS), or_fewer=not (options.servers or options.publish)
    )
    measured = []
    subjects = []
    compile_modules()
    with ExitStack() as running:
        for program in list(programs):
            try:
                measured.append(rounds.start_and_idle(program, plan))
            except Unavailable as error:
                if options.servers or options.publish:
                    raise
                notes.append(f"left out: {error}")
                programs.remove(program)
        for program in programs:
            server = Server(program, plan.directory / program.name, core=plan.server_core)
            running.enter_context(server)
            subjects.append(rounds.Subject(program.name, server, population))
            notes.append(f"{program.name} {program.version()}: {program.durability}")
        rows = _measure(subjects, chosen, plan)
        memory = {each.label: each.server.memory_bytes() for each in subjects if each.server.running}
    conditions = f"{options.items:,} items of 400 bytes, {options.connections} connections"
    tables = report.comparison(rows, conditions)
    return rows, measured, [*tables, report.startups(measured, memory)], notes


def _scale(options: argparse.Namespace, plan: rounds.Plan, chosen: Sequence[Workload]) -> Outcome:
    names = list(dict.fromkeys([PLAIN_TABLE, *(workload.table for workload in chosen)]))
    with ExitStack() as running:
        subjects = []
        jobs = []
        for size in options.scale_items:
            server = Server(FARADISC, plan.directory / str(size), core=plan.server_core)
            jobs.append([growth.fill(server.directory, Population(size), names)])
            _say(f"{size:,} items imported in {jobs[-1][0].seconds:.0f} s")
            running.enter_context(server)
            server.pause()
            subjects.append(rounds.Subject(f"{size:,} items", server, Population(size)))
        rows = rounds.measure(subjects, chosen, plan, _say)
        notes = [f"faradisc {FARADISC.version()}: {FARADISC.durability}"]
        for each, done in zip(subjects, jobs, strict=True):
            if each.server.running:
                notes.append(f"{each.label}: {each.server.memory_bytes() / 2**20:.0f} MB after the run")
                done += growth.work(each, _say)
    tables = [
        *report.scale(rows, f"{options.connections} connections"),
        growth.table(*jobs, options.scale_items),
    ]
    return rows, [], tables, notes


def _feature(options: argparse.Namespace, plan: rounds.Plan, chosen: Sequence[Workload]) -> Outcome:
    feature = FEATURES[options.feature]
    population = Population(options.items)
    if feature.with_keys:
        keys = plan.directory / "master.json"
        subprocess.run([FARADISC.executable, "keys", "create", "--keys", keys], check=True)
        os.environ["FARADISC_KEYS"] = str(keys)  # of both servers
    with ExitStack() as running:
        subjects = []
        for label, prepare in (("without", ()), (f"with {feature.title}", feature.prepare)):
            server = Server(FARADISC, plan.directory / str(len(subjects)), core=plan.server_core)
            running.enter_context(server)
            subjects.append(rounds.Subject(label, server, population, prepare))
        rows = _measure(subjects, chosen, plan)
    notes = [
        f"faradisc {FARADISC.version()}: {FARADISC.durability}",
        f"{options.items:,} items of 400 bytes, {options.connections} connections",
    ]
    return rows, [], report.feature(rows, feature.title, feature.cost_max), notes


def _postgres(options: argparse.Namespace, plan: rounds.Plan, chosen: Sequence[Workload]) -> Outcome:
    """Nothing is pinned unless it is asked for: PostgreSQL's processes share the cores of their server."""
    population = Population(options.items)
    wanted = [each for each in chosen if options.only or each.name in report.POSTGRES_TARGETS]
    with ExitStack() as running:
        subjects = []
        for program in (FARADISC, OVER_POSTGRES):
            server = Server(program, plan.directory / str(len(subjects)), core=plan.server_core)
            running.enter_context(server)
            subjects.append(rounds.Subject(program.name, server, population))
        rows = _measure(subjects, wanted, plan)
    notes = [f"{each.name} {each.version()}: {each.durability}" for each in (FARADISC, OVER_POSTGRES)]
    notes.append(f"{options.items:,} items of 400 bytes, {options.connections} connections")
    return rows, [], report.postgres(rows), notes


def _expiring(options: argparse.Namespace, plan: rounds.Plan, _: Sequence[Workload]) -> Outcome:
    tables = expiring.run(options.expiring, options.expire_in, plan, _say)
    notes = [f"faradisc {FARADISC.version()}: {FARADISC.durability}", f"{options.connections} connections"]
    return [], [], tables, notes


_RUNS = {"comparison": _compare, "postgres": _postgres, "scale": _scale, "expiring": _expiring}


def _name_of(options: argparse.Namespace) -> str:
    """The kind of run, and the name of its marks in the documentation."""
    if options.scale:
        return "scale"
    if options.postgres:
        return "postgres"
    return "expiring" if options.expiring else options.feature or "comparison"


def _soak(options: argparse.Namespace) -> int:
    notes = [f"{soak.CLIENTS} clients that pause {soak.PAUSE_S * 1e3:g} ms on average, nothing pinned"]
    return _alone(options, "soak", notes, lambda directory: soak.run(options.minutes, directory, _say))


def _throughput(options: argparse.Namespace) -> int:
    notes = [
        f"{options.turns} turns of {len(STATES)} times {throttling.BATCH} requests over "
        f"{throttling.CONNECTIONS} connections, {throttling.TURNS_PER_PROCESS} in a process"
    ]
    return _alone(
        options,
        "throughput",
        notes,
        lambda directory: (
            throttling.run(options.turns, directory, _say) + instructions.run(directory, _say),
            True,
        ),
    )


def _access(options: argparse.Namespace) -> int:
    notes = [
        f"{options.turns} turns of {len(RIGHTS)} times {throttling.BATCH} requests over "
        f"{throttling.CONNECTIONS} connections, {access.TURNS_PER_PROCESS} in a process"
    ]
    return _alone(
        options, "access", notes, lambda directory: (access.run(options.turns, directory, _say), True)
    )


def _alone(
    options: argparse.Namespace,
    name: str,
    notes: list[str],
    measure: Callable[[Path], tuple[Sequence[report.Table], bool]],
) -> int:
    """Runs a measurement with its own tables; `measure` also returns whether it succeeded."""
    if options.publish:
        report.split_at_marks(options.publish, name)
    options.directory.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(suffix=".tmp", dir=options.directory))
    try:
        here = machine.describe(directory)
        tables, well = measure(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print("\n" + "\n\n".join(["\n".join([*here.lines(), *notes]), *(table.text() for table in tables)]))
    if options.publish:
        report.publish(options.publish, name, report.markdown(tables, here, notes))
    return 0 if well else 1


def _measure(
    subjects: Sequence[rounds.Subject], chosen: Sequence[Workload], plan: rounds.Plan
) -> list[rounds.Row]:
    tables = list(dict.fromkeys(workload.table for workload in chosen))
    for subject in subjects:
        subject.server.pause()
    for subject in subjects:
        subject.server.resume()
        rounds.load(subject, tables, _say)
        subject.server.pause()
    return rounds.measure(subjects, chosen, plan, _say)


def _available(names: Sequence[str], *, or_fewer: bool) -> tuple[list[Program], list[str]]:
    """Returns the installed ones of these programs, and a note for each other one.

    or_fewer: whether some may be missing. Raises Unavailable.
    """
    programs, notes = [], []
    for name in names:
        try:
            PROGRAMS[name].check_installed()
            programs.append(PROGRAMS[name])
        except Unavailable as error:
            if not or_fewer:
                raise
            notes.append(f"left out: {error}")
    if not programs:
        raise Unavailable("no server is installed")
    return programs, notes


def _conditions(plan: rounds.Plan, *, in_turns: bool) -> list[str]:
    tool = "wrk" if plan.with_wrk else "the asyncio client, slower than wrk, so ratios look smaller"
    pinned = (
        f"servers on core {plan.server_core}, client on core {plan.client_core}"
        if plan.server_core is not None and plan.client_core is not None
        else "not pinned"
    )
    turns = (
        f"{plan.rounds} rounds of {plan.seconds} s in turns" if in_turns else f"rounds of {plan.seconds} s"
    )
    return [f"{tool}, {pinned}, {turns}, medians"]


def _core(number: int) -> int | None:
    """Returns a core that exists, or None on a machine with one core."""
    allowed = os.sched_getaffinity(0)
    return number if number in allowed and len(allowed) > 1 else None


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
