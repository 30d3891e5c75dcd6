#!/usr/bin/env python3
"""Writes Benchmarks/YCSB.md and its plot from the JSON files of several runs of the workloads (`Scripts/bench ycsb`).

usage: Scripts/benchmarks/ycsb.py [--quick] FILE...
"""
import json, os, platform, re, statistics, subprocess, sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from drawing import Panel, draw

FOLDER = Path("Benchmarks")
SECONDS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}
GROUP = re.compile(r"YCSB (\w) \((.*?)\), (.*?), ([\d,]+) records of ([\d,]+) bytes")


def output(*words):
    return subprocess.run(words, capture_output=True, text=True).stdout.strip()


def measured(files):
    """Returns the medians of all runs by store, workload and number of tasks: operations per second, p50 and p99 in seconds."""
    values, mixes, records = {}, {}, 0
    for file in files:
        for row in json.loads(Path(file).read_text())["rows"]:
            group, cell = GROUP.match(row["group"]), re.match(r"(\d+) tasks(?:, (p50|p99))?$", row["name"])
            if not group or not cell:
                continue
            mixes[group[1]], records = group[2], int(group[4].replace(",", ""))
            name = (group[3], group[1], int(cell[1]))
            values.setdefault(name, {}).setdefault(cell[2] or "rate", []).append(row["value"] * SECONDS.get(row["unit"], 1))
    return {name: {kind: statistics.median(found) for kind, found in cell.items()} for name, cell in values.items()}, mixes, records


def duration(seconds):
    unit, scale = ("µs", 1e6) if seconds < 1e-3 else ("ms", 1e3)
    value = seconds * scale
    return ("%.2f" if value < 10 else "%.1f" if value < 100 else "%.0f") % value + " " + unit


def processor():
    names = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return names[0] if names else platform.machine()


def main(files, options):
    cells, mixes, records = measured(files)
    stores = list(dict.fromkeys(store for store, _, _ in cells))
    tasks = sorted({count for _, _, count in cells})
    lines = [
        "# YCSB", "",
        "The workloads A, B, C and F of [YCSB](https://github.com/brianfrankcooper/YCSB) over sealed rows. Written by"
        f" `{' '.join(['Scripts/bench ycsb', *options])}` on",
        f"{output('date', '-u', '+%Y-%m-%d')}, at commit {output('git', 'rev-parse', '--short=12', 'HEAD')}: the medians of {len(files)}"
        f" run{'' if len(files) == 1 else 's'} on {processor()}, {os.cpu_count()} cores, files on",
        f"{output('stat', '-f', '-c', '%T', os.environ.get('TMPDIR', '/tmp'))}. Tasks and server share this machine.", "",
        f"* {records:,} records of ten fields of 100 bytes; a record is one value. Requests have YCSB's scrambled Zipf distribution.",
        "* An update replaces the record. A read-modify-write is one atomic `update`. Each change is flushed before it is acknowledged.",
        "* SQLite: WAL, `synchronous=FULL`. PostgreSQL: a private server, through a socket, with four connections.", "",
        "| workload | tasks |" + "".join(f" {store}: op/s | p50 | p99 |" for store in stores),
        "|---|---:|" + "---:|---:|---:|" * len(stores),
    ]
    for workload, mix in mixes.items():
        for count in tasks:
            found = [cells.get((store, workload, count)) for store in stores]
            lines.append(
                f"| {workload}: {mix} | {count} |" if count == tasks[0] else f"| | {count} |")
            lines[-1] += "".join(
                f" {cell['rate']:,.0f} | {duration(cell['p50'])} | {duration(cell['p99'])} |" if cell else " | | |" for cell in found)
    panels = [
        Panel(
            f"{store}: operations per second",
            {workload: [(count, cells[store, workload, count]["rate"]) for count in tasks if (store, workload, count) in cells]
             for workload in mixes},
            is_log=True)
        for store in stores]
    best = [
        f"{workload} on {store} {max(cell['rate'] for (s, w, _), cell in cells.items() if (s, w) == (store, workload)):,.0f}"
        for store in stores for workload in mixes]
    picture = draw(
        "YCSB over sealed rows", f"{records:,} records, one process, medians of {len(files)} run{'' if len(files) == 1 else 's'}",
        panels, "tasks", "The most operations per second: " + ", ".join(best) + ".", columns=tasks)
    (FOLDER / "plots/ycsb.svg").write_text(picture)
    (FOLDER / "YCSB.md").write_text("\n".join(lines + ["", "![Operations per second](plots/ycsb.svg)", ""]))


if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
    sys.exit(__doc__)
main([word for word in sys.argv[1:] if not word.startswith("--")], [word for word in sys.argv[1:] if word.startswith("--")])
