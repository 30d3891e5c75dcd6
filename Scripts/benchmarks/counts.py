#!/usr/bin/env python3
"""Counts the instructions and allocations of single operations and compares them with the committed table, Benchmarks/Counts.md.

usage: Scripts/bench counts [--record] [operation ...]

Without an operation, counts all of them. Exits 1 if a figure grew by more than 5 %, or if the table has no figure of an operation.
--record writes the figures into the table instead, each with the revision and the date.
"""
import os, platform, re, shutil, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path

PROGRAM, TABLE = Path(".build/release/counts"), Path("Benchmarks/Counts.md")
TOLERANCE = 0.05


def output(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, check=True, **options).stdout.strip()


def count(operation):
    """Counts the instructions and allocations of the operation of this name."""
    # The folder is in memory, where an fsync takes no time. On a disk, the speed of each fsync would decide how many
    # tasks share one commit, and so change the counts. The folder's name has a fixed length, because the length of a
    # path changes the counts, too.
    folder = Path(tempfile.mkdtemp(prefix="localdata-counts-", dir="/dev/shm"))
    try:
        # The preparation runs without valgrind.
        subprocess.run([PROGRAM, "--prepare", operation, folder / "work"], check=True, env=os.environ | {"SWIFT_DETERMINISTIC_HASHING": "1"})
        # valgrind runs one thread at a time. Without a fair scheduler, a thread that spins would block the others.
        run = subprocess.run(
            ["valgrind", "-q", "--tool=callgrind", "--fair-sched=yes", "--instr-atstart=no", f"--callgrind-out-file={folder}/callgrind", PROGRAM, operation, folder / "work"],
            capture_output=True, text=True, timeout=600, env=os.environ | {"SWIFT_DETERMINISTIC_HASHING": "1", "TZ": "UTC", "LC_ALL": "C"})
        if run.returncode != 0:
            raise SystemExit(f"{operation} failed:\n{run.stdout}{run.stderr}")
        # The program makes callgrind write a dump after the measured phase, so the first dump covers this phase.
        dump = folder / "callgrind.1"
        if not dump.exists():
            raise SystemExit("The program was built without valgrind's header. Run: touch Benchmarks/Counts/CCollection/collection.c, then this again.")
        operations, allocations = map(int, run.stdout.split())
        instructions = int(re.search(r"^summary: (\d+)", dump.read_text(errors="replace"), re.MULTILINE).group(1))
        return instructions / operations, allocations / operations
    finally:
        shutil.rmtree(folder)


def committed():
    """Reads the committed table: the figures of each operation, and when they were recorded."""
    rows = re.findall(r"^\| `([\w-]+)` \|[^|]*\| ([\d,]+) \| ([\d,.]+) \| ([^|]+) \|$", TABLE.read_text() if TABLE.exists() else "", re.MULTILINE)
    figures = {name: tuple(float(value.replace(",", "")) for value in values) for name, *values, _ in rows}
    return figures, {name: recorded for name, *_, recorded in rows}


def present():
    """Returns the revision and the date of figures that are counted now."""
    changes = output("git", "status", "--porcelain", "--", "Sources", "Benchmarks/Counts", "Benchmarks/Sources/CAllocations", "Package.swift")
    return f"{output('git', 'rev-parse', '--short=12', 'HEAD')}{' with changes' if changes else ''}, {datetime.now(timezone.utc):%Y-%m-%d}"


def record(titles, figures, recorded, latest):
    sqlite = output("pkg-config", "--modversion", "sqlite3")
    swift = re.search(r"Swift version ([\d.]+)", output("swift", "--version")).group(1)
    rows = "\n".join(f"| `{name}` | {title} | {figures[name][0]:,.0f} | {figures[name][1]:,.2f} | {recorded[name]} |" for name, title in titles.items() if name in figures)
    TABLE.write_text(f"""# Counts

The instructions and allocations of one operation in a release build, on all threads. `Scripts/bench counts` counts them again. It fails if one
of them grew by more than {100 * TOLERANCE:.0f} %, or if an operation is not in the table. `Scripts/bench counts --record` writes this table.

| operation | what it is | instructions | allocations | recorded at |
|---|---|---:|---:|---|
{rows}

* The latest record is of {latest}, with {output("valgrind", "--version").replace("-", " ")}.
* Swift {swift}, SQLite {sqlite}, {" ".join(platform.libc_ver())}, {platform.machine()}. Other versions have other counts: record the table again with them.
* A processor with other vector instructions has other counts too, because hashing and encryption use them.
* Not counted: what the kernel does, and waiting. A figure here is not a time.
""")


def change(now, before):
    return f"{now / before - 1:+.1%}" if before else "new"


def main(words):
    if {"-h", "--help"} & set(words):
        return print(__doc__)
    titles = dict(line.split("\t") for line in output(PROGRAM, "--list").splitlines())
    wanted = [word for word in words if word != "--record"] or list(titles)
    if unknown := set(wanted) - set(titles):
        sys.exit(f"Unknown: {' '.join(sorted(unknown))}. The operations: {' '.join(titles)}")
    (before, recorded), isRecording = committed(), "--record" in words
    missing = [name for name in wanted if name not in before]
    if missing and not isRecording:
        sys.exit(f"error: {TABLE} has no count of {', '.join(missing)}. To record what is missing: Scripts/bench counts --record {' '.join(missing)}")
    revision = present()
    # Counts two operations at a time, because valgrind uses one processor for each.
    with ThreadPoolExecutor(2) as pool:
        figures = dict(zip(wanted, pool.map(count, wanted)))
    print(f"{'':17}{'instructions':>14}{'committed':>14}{'change':>9}{'allocations':>14}{'committed':>14}{'change':>9}")
    grown, shrunk = [], []
    for name, figure in figures.items():
        old = before.get(name, (0, 0))
        cells = [(f"{now:,.{digits}f}", f"{then:,.{digits}f}" if then else "-", change(now, then)) for now, then, digits in zip(figure, old, (0, 2))]
        print(f"{name:17}" + "".join(f"{now:>14}{then:>14}{difference:>9}" for now, then, difference in cells))
        for kind, (now, then, difference), ratio in zip(("instructions", "allocations"), cells, [n / o if o else 9 if n else 1 for n, o in zip(figure, old)]):
            line = f"{name}: {difference} {kind}, {now} instead of {then}"
            if ratio > 1 + TOLERANCE: grown.append((name, line))
            elif ratio < 1 - TOLERANCE: shrunk.append(line)
    if isRecording:
        record(titles, before | figures, recorded | dict.fromkeys(figures, revision), revision)
        return print(f"Recorded in {TABLE}.")
    if shrunk:
        print("\nLess than committed (Scripts/bench counts --record keeps it):", *shrunk, sep="\n  ")
    if grown:
        print(f"\nMore than {100 * TOLERANCE:.0f} % above the committed table:", *(line for _, line in grown), sep="\n  ")
        print(f"To repeat them: Scripts/bench counts {' '.join(dict.fromkeys(name for name, _ in grown))}")
        sys.exit(1)


main(sys.argv[1:])
