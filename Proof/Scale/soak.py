#!/usr/bin/python3
"""Runs processes for hours, kills some of them, locks and unlocks the keyring, and shows that nothing grows.

Two processes last for a whole part of the run, and two others are killed at random and started again. All four use the same property
list, encrypted database, keyring and PostgreSQL server at a steady rate. Each minute, the driver notes the memory, descriptors and
threads of the two that last, and the durations of their calls. It also notes how long a bare write with a flush takes: other programs of
the machine delay both.

The run consists of parts. Files and keyring stay from part to part; processes and server are new. After an interruption, the same
command goes on after the last part that ended. `soak.csv` has the notes, `state.json` the parts that ended.
"""

import argparse
import csv
import json
import os
import random
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

from programs import TOP, Keyring, PostgreSQL, Worker, end, figures, output, temporary
from drawing import Panel, draw

FIELDS = ["part", "minute", "process", "memory", "descriptors", "threads", "calls", "refused", "p50", "p99", "bare"]
LASTING, KILLED = 2, 2
COLLECTION = "/org/freedesktop/secrets/collection/login"
# The first rows of a process are not judged: caches are filled, and connections are made.
WARM_UP, LEAST = 5, 20


class Lock:
    """Locks and unlocks the private keyring. The connection is kept, because a session of the Secret Service ends with its connection."""

    def __init__(self, keyring):
        from gi.repository import Gio, GLib

        self.glib = GLib
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        address = keyring.environment["DBUS_SESSION_BUS_ADDRESS"]
        self.bus = Gio.DBusConnection.new_for_address_sync(address, flags, None, None)
        self.none = Gio.DBusCallFlags.NONE

    def call(self, method, signature, *arguments):
        interface, name = method.rsplit(".", 1)
        return self.bus.call_sync(
            "org.freedesktop.secrets", "/org/freedesktop/secrets", interface, name, self.glib.Variant(signature, arguments), None,
            self.none, 20_000, None).unpack()

    def lock(self):
        self.call("org.freedesktop.Secret.Service.Lock", "(ao)", [COLLECTION])

    def unlock(self):
        _, session = self.call("org.freedesktop.Secret.Service.OpenSession", "(sv)", "plain", self.glib.Variant("s", ""))
        self.call(
            "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface.UnlockWithMasterPassword", "(o(oayays))", COLLECTION,
            (session, b"", Keyring.PASSWORD, "text/plain"))


class BareWrites(threading.Thread):
    """Writes 100 bytes to a file and flushes them, twenty times a second. No program can answer a durable call in less time."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.durations = path, []
        self.is_over = threading.Event()

    def run(self):
        with open(self.path, "wb", buffering=0) as file:
            while not self.is_over.wait(0.05):
                begin = time.monotonic()
                file.write(bytes(100))
                os.fdatasync(file.fileno())
                self.durations.append(time.monotonic() - begin)

    def p99(self):
        """Returns the 99th percentile since the last call, in microseconds."""
        durations, self.durations = sorted(self.durations), []
        return round(1e6 * durations[len(durations) * 99 // 100]) if durations else 0


class Part:
    """One part of the run: a server, a keyring, processes, and a schedule of kills and locks."""

    def __init__(self, number, options):
        self.number, self.options = number, options
        self.random = random.Random("%d %d" % (options.seed, number))
        self.calls = self.kills = self.locks = 0
        self.lasting, self.killed, self.bare = [], [], None

    def run(self, add):
        """Runs for the minutes of a part. Calls `add` with each row."""
        with temporary("soak.") as folder:
            os.chmod(folder, 0o755)
            server = PostgreSQL(os.path.join(folder, "server"))
            keyring = Keyring(os.path.join(folder, "keyring"))
            # The collection must last longer than the part: it has the key of the database.
            keyring.environment["XDG_DATA_HOME"] = str(self.options.folder / "keyring")
            try:
                server.start()
                keyring.start()
                self.uri, self.environment = server.create("soak"), keyring.environment
                with open(self.options.folder / "errors", "a") as self.errors:
                    self.work(Lock(keyring), add)
            finally:
                for worker in self.lasting + self.killed:
                    end(worker.process)
                if self.bare:
                    self.bare.is_over.set()
                keyring.stop()
                server.stop()

    def start(self):
        words = [self.options.program, "soak-process", self.options.folder / "machine", self.uri, self.random.getrandbits(32)]
        return Worker(words + (["--leaking"] if self.options.planted else []), self.environment, self.errors)

    def work(self, lock, add):
        self.bare = BareWrites(self.options.folder / "bare")
        self.bare.start()
        self.lasting = [self.start() for _ in range(LASTING)]
        self.killed = [self.start() for _ in range(KILLED)]
        begin = time.monotonic()
        kill, turn, is_locked, sample = begin + 10, begin + 20, False, begin + self.options.interval
        while time.monotonic() < begin + 60 * self.options.minutes:
            now = time.monotonic()
            if now >= kill:
                index = self.random.randrange(KILLED)
                if self.killed[index].process.poll() is not None:
                    raise ChildProcessError("A worker has ended before its kill: see %s" % self.errors.name)
                end(self.killed[index].process)
                self.killed[index] = self.start()
                self.kills += 1
                kill = now + self.random.uniform(2, 30)
            if now >= turn:
                if is_locked:
                    lock.unlock()
                else:
                    lock.lock()
                    self.locks += 1
                is_locked = not is_locked
                turn = now + (self.random.uniform(1, 8) if is_locked else self.random.uniform(10, 40))
            if now >= sample:
                self.sample((sample - begin) / 60, add)
                sample += self.options.interval
            time.sleep(0.2)
        if is_locked:
            lock.unlock()
        for worker in self.lasting:
            if worker.finish() != 0:
                raise ChildProcessError("A worker has ended with status %s: see %s" % (worker.process.returncode, self.errors.name))

    def sample(self, minute, add):
        bare = self.bare.p99()
        for index, worker in enumerate(self.lasting):
            calls, refused, p50, p99 = (int(word) for word in worker.ask("report").split())
            memory, descriptors, threads = figures(worker.pid)
            self.calls += calls
            add(dict(zip(FIELDS, [
                self.number, round(minute, 3), index, memory, descriptors, threads, calls, refused, p50, p99, bare])))


def middle(values):
    return sorted(values)[len(values) // 2]


def judge(rows):
    """Returns what has grown: the last third of the rows of each process against the first third."""
    findings = []
    for part, process in sorted({(row["part"], row["process"]) for row in rows}):
        own = [row for row in rows if (row["part"], row["process"]) == (part, process)]
        if len(own) < LEAST:
            continue
        judged = own[WARM_UP:]
        third = len(judged) // 3
        first, last = judged[:third], judged[-third:]

        def grew(name, factor, more):
            before, after = middle([row[name] for row in first]), middle([row[name] for row in last])
            if after > before * factor + more:
                findings.append("part %d, process %d: the %s grew from %d to %d" % (part, process, name, before, after))

        grew("memory", 1.05, 2_048)
        # The number at one moment varies by ten, with the connections that calls have open. A part has tens of thousands of calls.
        grew("descriptors", 1, 10)
        grew("threads", 1, 3)
        # Other programs use the machine, too. They delay a bare write as well.
        before, after = (middle([row["p99"] / max(row["bare"], 1) for row in rows]) for rows in (first, last))
        if after > before * 2:
            findings.append("part %d, process %d: p99 grew from %.1f to %.1f bare writes" % (part, process, before, after))
        if middle([row["calls"] for row in last]) == 0:
            findings.append("part %d, process %d: no call succeeds" % (part, process))
    return findings


def picture(rows, state):
    """Returns the rows as SVG, with a gap between two parts."""
    begins, minutes = {}, 0
    for number, part in enumerate(state["parts"]):
        begins[number] = minutes
        minutes += part["minutes"]

    def line(name, process, scale):
        points, last = [], None
        for row in rows:
            if row["process"] == process and row["part"] in begins:
                if last is not None and row["part"] != last:
                    points.append((begins[row["part"]], None))
                points.append((begins[row["part"]] + row["minute"], row[name] * scale))
                last = row["part"]
        return points

    def panel(title, name, scale=1):
        lines = {"process %d" % (number + 1): line(name, number, scale) for number in range(LASTING)}
        return Panel(title, lines, list(begins.values())[1:])

    total = {name: sum(part[name] for part in state["parts"]) for name in ("minutes", "calls", "kills", "locks")}
    return draw(
        "Processes under load for %s" % (
            "%g hours" % round(total["minutes"] / 60, 1) if total["minutes"] >= 120 else "%g minutes" % total["minutes"]),
        "%s kills of other processes, %s locks of the keyring; a dashed line is a new start" % (
            format(total["kills"], ","), format(total["locks"], ",")),
        [panel("resident memory in MiB", "memory", 1 / 1024), panel("open descriptors", "descriptors"), panel("threads", "threads"),
         Panel("99th percentile in ms", {
             **{"call of process %d" % (number + 1): line("p99", number, 1e-3) for number in range(LASTING)},
             "bare write and flush": line("bare", 0, 1e-3)}, list(begins.values())[1:], is_log=True)],
        "minutes", "%d minutes, %d kills, %d locks. %s" % (
            total["minutes"], total["kills"], total["locks"], "; ".join(judge(rows)) or "Nothing grows."))


def read(path):
    """Returns the rows of the file; none if there is no file."""
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return [{name: float(text) if name == "minute" else int(text) for name, text in row.items()} for row in csv.DictReader(file)]


def arguments():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--minutes", type=float, default=30, metavar="N", help="duration of a part (default: 30)")
    options.add_argument("--total", type=float, default=360, metavar="N", help="minutes of all parts (default: 360)")
    options.add_argument("--parts", type=int, default=1_000, metavar="N", help="parts of this command at most")
    options.add_argument("--interval", type=float, default=60, metavar="N", help="seconds between two notes (default: 60)")
    options.add_argument("--folder", type=Path, default=TOP / ".build/soak", help="what remains from part to part")
    options.add_argument("--program", default=TOP / ".build/release/Prove", help="the built program Prove")
    options.add_argument("--picture", type=Path, help="draw the notes as SVG")
    options.add_argument("--seed", type=int, default=1, help="the seed of the kills and locks")
    options.add_argument("--planted", action="store_true", help="let the processes leak, which must be noticed")
    options.add_argument("--fresh", action="store_true", help="begin again")
    return options.parse_args()


def main():
    options = arguments()
    # The parts end their processes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options.folder = options.folder.absolute()
    if options.fresh:
        shutil.rmtree(options.folder, ignore_errors=True)
    for name in ("", "machine", "keyring"):
        (options.folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    notes, saved = options.folder / "soak.csv", options.folder / "state.json"
    state = json.loads(saved.read_text()) if saved.exists() else {"parts": []}
    # The rows of a part that was interrupted are dropped: the part is run again.
    rows = [row for row in read(notes) if row["part"] < len(state["parts"])]
    with open(notes, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)

        def add(row):
            rows.append(row)
            writer.writerow(row)
            file.flush()
            print("part %(part)d, %(minute)5.1f min, process %(process)d: %(memory)d KiB, %(descriptors)d descriptors, "
                  "%(threads)d threads, %(calls)d calls, %(refused)d refused, p99 %(p99)d µs" % row, flush=True)

        for _ in range(options.parts):
            if sum(part["minutes"] for part in state["parts"]) >= options.total:
                break
            part = Part(len(state["parts"]), options)
            part.run(add)
            state["parts"].append({
                "minutes": options.minutes, "calls": part.calls, "kills": part.kills, "locks": part.locks,
                "revision": output("git", "rev-parse", "--short", "HEAD"), "date": output("date", "-u", "+%Y-%m-%d")})
            saved.write_text(json.dumps(state, indent=1))
    if options.picture:
        options.picture.write_text(picture(rows, state))
    # The errors of the library's log are in the same file.
    lines = (options.folder / "errors").read_text(errors="replace").splitlines() if (options.folder / "errors").exists() else []
    findings = judge(rows) + [line for line in lines if line.startswith("unexpected: ")]
    for finding in findings[:20]:
        print(finding)
    print("tried: %d minutes in %d parts, %d calls, %d kills, %d locks" % (
        sum(part["minutes"] for part in state["parts"]), len(state["parts"]),
        *(sum(part[name] for part in state["parts"]) for name in ("calls", "kills", "locks"))))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
