#!/usr/bin/python3
"""Measures how many values 1 to 8 processes set in a second on one PostgreSQL server, and what bounds it.

Each process is a machine with its own values and 16 tasks. While they work, the driver samples what each connection waits for
(pg_stat_activity), and reads the processor time of the server and of the clients.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from programs import TOP, PostgreSQL, Worker, children, end, machine_seconds, output, processor_seconds, temporary
from drawing import Panel, draw

# The groups of wait events, in the order of the lines of the picture.
WAITS = {
    "processor": "run on the server, or wait for a processor",
    "log": "wait for the flush of the log",
    "row": "wait for a lock of another transaction",
    "client": "wait for the client, within a transaction",
    "other": "wait for something else",
}
WARM_UP = 1.0


def group(state, event):
    """Returns the group of a connection that has a transaction or runs a statement."""
    if state.startswith("idle in transaction") or event == "Client:ClientRead":
        return "client"
    if event == "":
        return "processor"
    if "WAL" in event:
        return "log"
    return "row" if event.startswith("Lock:") else "other"


class Samples:
    """Asks the server twenty times a second what its connections wait for."""

    def __init__(self, psql):
        # A pipe would be full after some seconds.
        self.file = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            psql + ["-F", "|"], stdin=subprocess.PIPE, stdout=self.file, stderr=subprocess.DEVNULL, text=True)
        # The first row of each sample has no connection, so that a sample without work is counted, too.
        self.process.stdin.write(
            "SELECT 'sample', '', '' UNION ALL SELECT 'row', state, coalesce(wait_event_type || ':' || wait_event, '')"
            " FROM pg_stat_activity WHERE application_name = 'localdata' AND state <> 'idle' \\watch 0.05\n")
        self.process.stdin.flush()

    def averages(self):
        """Ends the samples, and returns the average number of connections in each group."""
        end(self.process)
        self.file.seek(0)
        count, totals = 0, dict.fromkeys(WAITS, 0)
        for line in self.file:
            kind, *rest = line.rstrip("\n").split("|")
            if kind == "sample":
                count += 1
            elif kind == "row" and len(rest) == 2:
                totals[group(*rest)] += 1
        return {name: total / max(count, 1) for name, total in totals.items()}


def bound(row):
    """Returns what bounds a measurement, in words."""
    if row["busy"] >= 0.9:
        used = row["server"] + row["clients"]
        return "the processors" if used > 0.6 * row["busy"] * os.cpu_count() else "other programs on this machine"
    words = {"processor": "the server", "log": "the flush of the log", "row": "locks", "client": "the clients", "other": "something else"}
    return words[max(WAITS, key=lambda name: row[name])]


def measure(server, folder, program, count, tasks, seconds):
    """Runs some processes, and returns the figures of the measurement."""
    uri = server.create("sets%d" % count)
    psql = [os.path.join(server.programs, "psql"), "-X", "-q", "-A", "-t", uri]
    workers, samples = [], None
    try:
        for number in range(count):
            machine = folder / ("machine-%d-%d" % (count, number))
            machine.mkdir(mode=0o700)
            if number:
                # Every machine needs the key that the first one has created.
                shutil.copy2(folder / ("machine-%d-0" % count) / "key", machine)
            workers.append(Worker([program, "server-sets", machine, uri, "machine %d" % number, tasks, seconds]))
            if workers[-1].line() != "ready":
                raise ChildProcessError("A worker is not ready")
        for worker in workers:
            worker.send("go")
        time.sleep(WARM_UP)
        samples = Samples(psql)
        backends = children(server.process.pid)

        def times():
            commits = subprocess.run(
                psql + ["-c", "SELECT count(*) FROM localdata.commits"], stdout=subprocess.PIPE, text=True, check=True)
            used = sum(processor_seconds(pid) for pid in backends), sum(processor_seconds(worker.pid) for worker in workers)
            return time.monotonic(), *used, *machine_seconds(), int(commits.stdout)

        before = times()
        # The second reading ends before the workers do, because they close their connections at their end.
        time.sleep(max(0.1, seconds - 1))
        after = times()
        waits = samples.averages()
        answers = [worker.line().split() for worker in workers]
        for worker in workers:
            if worker.finish() != 0:
                raise ChildProcessError("A worker has failed")
    finally:
        if samples:
            end(samples.process)
        for worker in workers:
            end(worker.process)
    elapsed, of_server, of_clients, busy, total, commits = (late - early for early, late in zip(before, after))
    sets = sum(int(answer[1]) for answer in answers)
    row = {
        "processes": count, "sets": sets, "rate": sets / seconds, "p50": sorted(int(answer[2]) for answer in answers)[count // 2],
        "p99": max(int(answer[3]) for answer in answers), "group": sets / seconds * elapsed / max(commits, 1),
        "server": of_server / elapsed, "clients": of_clients / elapsed, "busy": busy / total, **waits}
    return {**row, "bound": bound(row)}


def document(rows, options):
    """Returns the results as Markdown."""
    lines = [
        "# Sets per second and processes", "",
        "Written by `Proof/Scale/sets.py` on %s, at commit %s, with %d processors shared by the server and the processes, files on" % (
            output("date", "-u", "+%Y-%m-%d"), output("git", "rev-parse", "--short=12", "HEAD"), os.cpu_count()),
        "%s, %s. Each process has %d tasks, which replace values of 100" % (
            output("stat", "-f", "-c", "%T", "/tmp"), output("psql", "--version"), options.tasks),
        "bytes for %g seconds. Every transaction is flushed. The columns on the right are connections: how many of them are, on average, in that" % options.seconds,
        "state.", "",
        "| processes | sets/s | p50 | p99 | sets in a transaction | processors: server | clients | bound by | %s |" % " | ".join(WAITS),
        "|---:|---:|---:|---:|---:|---:|---:|---|" + "---:|" * len(WAITS)]
    for row in rows:
        lines.append("| %d | %s | %.1f ms | %.1f ms | %.1f | %.2f | %.2f | %s | %s |" % (
            row["processes"], format(round(row["rate"]), ","), row["p50"] / 1e3, row["p99"] / 1e3, row["group"], row["server"],
            row["clients"], row["bound"], " | ".join("%.2f" % row[name] for name in WAITS)))
    lines += [""] + ["* *%s*: connections that %s." % (name, words) for name, words in WAITS.items()]
    return "\n".join(lines + ["", "![Sets per second](sets.svg)", ""])


def picture(rows, options):
    """Returns the results as SVG."""
    def line(name):
        return [(row["processes"], row[name]) for row in rows]

    best = max(rows, key=lambda row: row["rate"])
    return draw(
        "Sets per second on one PostgreSQL server", "%d tasks in each process; %d processors for all of them and the server" % (
            options.tasks, os.cpu_count()),
        [Panel("sets per second", {"sets": line("rate")}),
         Panel("99th percentile in ms", {"p99": [(x, y / 1e3) for x, y in line("p99")]}),
         Panel("processors in use", {"server": line("server"), "clients": line("clients")}),
         Panel("connections that wait for …", {name: line(name) for name in WAITS})],
        "processes", "%d sets a second with %d processes, bounded by %s." % (best["rate"], best["processes"], best["bound"]),
        columns=[row["processes"] for row in rows])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--processes", type=int, nargs="+", default=list(range(1, 9)), metavar="N", help="(default: 1 to 8)")
    options.add_argument("--tasks", type=int, default=16, help="tasks of each process (default: 16)")
    options.add_argument("--seconds", type=float, default=10, help="duration of a measurement (default: 10)")
    options.add_argument("--program", default=TOP / ".build/release/Prove", help="the built program Prove")
    options.add_argument("--markdown", type=Path, help="write the results to a file")
    options.add_argument("--picture", type=Path, help="draw the results as SVG")
    options = options.parse_args()
    rows = []
    with temporary("sets.") as folder:
        os.chmod(folder, 0o755)
        server = PostgreSQL(os.path.join(folder, "server"))
        try:
            server.start()
            for count in options.processes:
                rows.append(measure(server, Path(folder), options.program, count, options.tasks, options.seconds))
                row = rows[-1]
                print("%d processes: %6d sets/s, p99 %.1f ms, %.1f sets in a transaction, processors %.2f + %.2f, bound by %s (%s)" % (
                    count, row["rate"], row["p99"] / 1e3, row["group"], row["server"], row["clients"], row["bound"],
                    ", ".join("%s %.2f" % (name, row[name]) for name in WAITS)), flush=True)
        finally:
            server.stop()
    if options.markdown:
        options.markdown.write_text(document(rows, options))
    if options.picture:
        options.picture.write_text(picture(rows, options))
    print("tried: %d numbers of processes, %d sets" % (len(rows), sum(row["sets"] for row in rows)))


if __name__ == "__main__":
    sys.exit(main())
