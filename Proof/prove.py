"""Runs the searches of Scripts/prove. Each run is a command that prints what it tried, and exits with 1 if it finds something."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

USAGE = """usage: Scripts/prove [--quick | --long] [--list] [step…]

  --quick   at most 4 minutes once built: a part of every search that needs no other build
  (neither) at most 90 minutes
  --long    hours: every step is cut into parts; an interrupted run continues after the last part that ended
  --list    prints the commands of the steps instead of running them

steps: campaigns   simulated programs over the real router, by the thousand (Proof/Simulation)
       mutants     switches off one part of the protocol at a time, which a campaign must notice (Proof/Mutants)
       faults      real operations on real files, killed, torn or failing at each of their calls (Proof/RealFaults)
       cuts        every disk that a power cut during a real operation can leave (Proof/RealFaults)
       flushes     real operations of which a flush fails and drops its pages, then a power cut (Proof/RealFaults)
       processes   several real processes on the same stores, killed and stopped at random
       server      a PostgreSQL server that is killed under load, and processes that are killed while they move a database to it
       attacks     every bit of every format flipped, every table exchanged (Proof/Searches)
       limits      a full disk, no memory, no open file left (needs root)
       laws        the laws of backends and of pure parts over more values than in the tests
       judges      the cryptography with the test vectors of Project Wycheproof and of RFC 9180 (Tests/SealingTests)
       model       the migration protocol in all its states, with spin (Proof/Models)
       fuzz        libFuzzer on every reader of foreign bytes (Proof/Fuzz)
       patroni     three PostgreSQL servers with Patroni whose primary is killed and cut off (Proof/Failover); runs only if it is named
       coverage    how much of Migration, Sealing and SQLite's writer the tests reach (Proof/coverage.py); runs only if it is named
       mutation    random mistakes of one line in Migration, Sealing and SQLite's writer, which the tests must notice (Proof/mutation.py);
                   runs only if it is named
       scale       one server with many machines: sets per second, a sweep of 100,000 keys (Proof/Scale); runs only if it is named
       soak        six hours under load with kills and locks, in parts that can be resumed (Proof/Scale); runs only if it is named
       providers   the real KeePassXC, KWallet and pass_secret_service, which it installs; runs only if it is named
       lazyfs      power cuts of LazyFS, a file system that it builds (Proof/lazyfs.py); needs root; runs only if it is named

Each run writes its row into Proof/Evidence.md. A run that finds something prints the command that repeats it; the exit status is then 1."""

TOP = Path(__file__).resolve().parent.parent
EVIDENCE = TOP / "Proof/Evidence.md"
PACKAGES = TOP / "Proof/Package.resolved"
WORK = TOP / ".build/prove"


@dataclass
class Run:
    """One command of a step."""

    name: str
    command: str
    #: Whether the command must find a planted mistake. Then exit status 0 is the failure.
    is_planted: bool = False
    #: The texts that stand for `{part}` in the command. A long run has several, and runs the command once for each.
    parts: list = field(default_factory=lambda: [""])


def steps(length):
    """Returns the runs of each step, for "quick", "default" or "long"."""
    quick, long = length == "quick", length == "long"
    prove = ".build/debug/Prove" if quick else ".build/release/Prove"
    today = datetime.now(timezone.utc).strftime("%Y%m%d")

    def pick(*choices):
        return choices[("quick", "default", "long").index(length)]

    def campaign(name, default):
        if long:
            parts = [f"{today}{part:02}000000" for part in range(20)]
            return Run(name, f"{prove} {name} --seeds 100000 --first {{part}}", parts=parts)
        return Run(name, f"{prove} {name} --seeds 4000" if quick else f"{prove} {name} --seeds {default} --covers")

    def patroni(name, setting, rounds, load=f"{prove} failover-load", kinds=None, loses=False):
        # The results have the revision in their name, so that a run continues only with the same program.
        results = f".build/prove/failover/$(git rev-parse --short HEAD)-{re.sub(r'[^a-z0-9]+', '-', name.lower())}-{length}.jsonl"
        options = [f"--rounds {min(5, rounds) if quick else rounds} --setting {setting} --results {results}"]
        options += ([f"--kinds {kinds}"] if kinds else []) + ([f"--load '{load}'"] if load else [])
        return Run(name, f"python3 -B Proof/Failover/rounds.py {' '.join(options)}", loses)

    # A soak of five minutes.
    short = "--minutes 5 --total 5 --interval 10"
    operations = ["list: set", "database: set"]
    # Only a long run needs the names of the operations, and only the built program can list them.
    operation_parts = listed(f"{prove} faults --list") if long else [""]
    return {
        "campaigns": [campaign("campaigns", 100_000), campaign("records", 40_000), campaign("windows", 40_000)],
        "mutants": [Run("mutants", pick(
            f"{prove} mutants --recorded", "Scripts/mutate mutants --recorded", "Scripts/mutate mutants --every-kind --seeds 1000000"))],
        "faults": (
            [Run(f"faults: {name}", f"{prove} faults --operation '{name}' --exactly --width 8") for name in operations]
            if quick
            else [Run("faults", f"{prove} faults " + pick("", "--every 20", "--operation {part} --exactly"), parts=operation_parts)]
        ),
        "cuts": (
            [Run("cuts: list: set", f"{prove} cuts --operation 'list: set' --exactly")]
            if quick
            else [
                Run("cuts", f"{prove} cuts " + pick("", "", "--operation {part} --exactly"), parts=operation_parts),
                Run("cuts of a real ext4", f"{prove} cuts --ext4"),
                Run("cuts, torn as in ALICE", f"{prove} cuts --model alice " + pick("", "--every 3", "--operation {part} --exactly"),
                    parts=operation_parts),
            ]
        )
        + [
            Run("cuts, flushes of folders left out", f"{prove} cuts --operation 'list: first set' --planted directories", True),
            Run("cuts, flushes of logs left out", f"{prove} cuts --operation 'database: set' --planted logs", True),
            Run("cuts, renames divided", f"{prove} cuts --operation 'list: set' --exactly --model dividedNames", True),
        ],
        "flushes": [
            Run("flushes that fail", f"{prove} flushes " + pick(
                "--operation 'list: set' --exactly --disks 8", "--every 12 --disks 24", "--operation {part} --exactly"),
                parts=operation_parts),
            Run("flushes that fail, reported as made",
                f"{prove} flushes --operation 'list: set' --exactly --disks 8 --planted retries", True),
        ],
        "processes": [
            Run(
                "processes",
                f"{prove} processes " + pick("--seconds 6 --rounds 1", "--seconds 60 --rounds 4", "--seconds 60 --rounds 1 --seed {part}"),
                parts=[f"{today}{part:02}" for part in range(30)] if long else [""],
            ),
            Run("processes, changes acknowledged but not made", f"{prove} processes --seconds 6 --rounds 1 --planted forgetful", True),
            Run("processes, increments made twice", f"{prove} processes --seconds 6 --rounds 1 --planted twice", True),
        ],
        "server": [
            Run("failover", "swift test --skip-build --filter '^ServerSearches[.](FailoverTests|HistoryTests|KeyTableTests)'"),
            Run("server", f"{prove} server " + pick("--kills 3", "--kills 200", "--kills 200 --seed {part}"),
                parts=[f"{today}{part:02}" for part in range(5)] if long else [""]),
            Run("server, moves", f"{prove} server-moves " + pick("--keys 600 --kills 4", "", "--seed {part}"),
                parts=[f"{today}{part:02}" for part in range(5)] if long else [""]),
        ]
        + [
            Run(f"server, {what}", f"{prove} server --kills 1 --planted {name}", True)
            for name, what in [
                ("lost", "writes acknowledged but not made"), ("twice", "writes made twice"), ("stale", "reads of earlier values"),
                ("returned", "removed values put back"),
            ]
        ],
        "patroni": [
            patroni("patroni", "strict", pick(5, 30, 300)),
            patroni("patroni, with a restart before it", "patient", 5, kinds="relapse"),
            patroni("patroni, synchronous_commit=local", "local", 5),
            patroni("patroni, asynchronous replication", "async", 5, loses=True),
        ]
        + [
            patroni(f"patroni, without LocalData, synchronous_commit={setting}", setting, 5, load=None, loses=True)
            for setting in ("local", "off")
        ],
        "coverage": [Run("coverage", "Proof/coverage.py")],
        "mutation": [Run("mutation", "Proof/mutation.py --resume " + pick("--count 12", "--count 60", "--count 300"))],
        "scale": [
            Run(
                "scale, sets",
                f"Proof/Scale/sets.py --program {prove} "
                + ("--processes 1 2 --seconds 3" if quick else "--markdown Proof/Scale/Sets.md --picture Proof/Scale/sets.svg")),
            Run("scale, sweep", f"{prove} server-sweep " + pick("--keys 2000", "", "")),
            Run("scale, sweep, writes acknowledged but not made", f"{prove} server-sweep --keys 2000 --planted", True),
        ],
        "soak": [
            Run(
                "soak",
                f"Proof/Scale/soak.py --program {prove} "
                + (f"--fresh --folder .build/soak-quick {short}" if quick else "--picture Proof/Scale/soak.svg")),
            Run(
                "soak, descriptors and memory that leak",
                f"Proof/Scale/soak.py --program {prove} --planted --fresh --folder .build/soak-planted {short}", True),
        ],
        "limits": [Run("limits", f"{prove} limits")],
        "attacks": [Run("attacks", "swift test --skip-build --filter '^(Simulation|Storage|Database|Server|Fuzz)Searches[.]'")],
        "laws": [
            Run("laws", f"LOCALDATA_LAWS={pick(1, 3, 100)} swift test --skip-build --filter 'LawTests|ConformanceTests'")
        ],
        "judges": [
            Run(
                "judges: 883 vectors of Wycheproof, 514 messages of RFC 9180",
                "swift test --skip-build --filter '^SealingTests[.](Wycheproof|HPKEVector)Tests'")
        ],
        "model": [Run("model", "Scripts/check-model")],
        "fuzz": [Run("fuzz", f"Scripts/fuzz --seconds {pick(5, 30, 1200)} {{part}}", parts=listed("Scripts/fuzz --list") if long else [""])],
        "providers": [Run("providers", "Scripts/providers")],
        "lazyfs": [
            Run("cuts of LazyFS", "Scripts/lazyfs " + pick("--operation ': set'", "--cuts 24", "--cuts 200")),
            Run("cuts of LazyFS, flushes not made", "Scripts/lazyfs --operation 'list: set' --planted", True),
        ],
    }


#: The steps of each length, if none is named.
ORDINARY = {
    "quick": ["campaigns", "mutants", "faults", "cuts", "flushes", "processes", "server"],
    "default": ["campaigns", "mutants", "faults", "cuts", "flushes", "processes", "server", "attacks", "limits", "laws", "judges", "model", "fuzz"],
}
ORDINARY["long"] = ORDINARY["default"]

#: The steps that run only if they are named.
NAMED = ["patroni", "coverage", "mutation", "scale", "soak", "providers", "lazyfs"]

#: The product that must be built for a step.
PRODUCTS = dict.fromkeys(["campaigns", "mutants", "faults", "cuts", "flushes", "processes", "limits", "server", "patroni", "scale", "soak"], "Prove")


def listed(command):
    """Returns the lines that a command prints."""
    return subprocess.run(["bash", "-c", command], cwd=TOP, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def build(names, length):
    """Builds the programs of the steps. A quick run builds without optimisation, so it shares the build folder of the tests."""
    if any(PRODUCTS.get(name) for name in names):
        configuration = ["--product", "Prove"] if length == "quick" else ["-c", "release", "--product", "Prove"]
        subprocess.run(["Scripts/build", "--quiet", *configuration], cwd=TOP, check=True)
    if {"attacks", "laws", "judges", "server"} & set(names):
        subprocess.run(["Scripts/build", "--quiet", "--build-tests"], cwd=TOP, check=True)


class Interrupted(Exception):
    """The user or the system ended the run."""


class Runner:
    """Runs commands one after the other, and removes all processes and folders at the end."""

    def __init__(self, length):
        self.length = length
        self.process = None
        # The path must be short, because programs create sockets below it, and the path of a socket has at most about a
        # hundred bytes.
        self.temporary = tempfile.mkdtemp(prefix="prove-")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.interrupted)

    def interrupted(self, *_):
        raise Interrupted

    def close(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.temporary, ignore_errors=True)

    def execute(self, command):
        """Runs a command in a new process group. Returns its exit status and the lines it printed."""
        lines = []
        self.process = subprocess.Popen(
            ["bash", "-c", command], cwd=TOP, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", start_new_session=True, env={**os.environ, "TMPDIR": self.temporary})
        for line in self.process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
        return self.process.wait(), lines

    def run(self, run):
        """Runs all parts of a run that have not ended before. Returns whether it found something."""
        revision = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=TOP, stdout=subprocess.PIPE, text=True).stdout.strip()
        log = WORK / self.length / (re.sub(r"[^a-z0-9]+", "-", run.name) + ".log")
        log.parent.mkdir(parents=True, exist_ok=True)
        # A long run continues an earlier log only if that log began at the same revision of the checkout.
        ended = {}
        if self.length == "long" and log.exists() and log.read_text().startswith(f"{revision}\n"):
            for line in log.read_text().splitlines():
                if line.startswith("part "):
                    part, status, seconds, text = line.removeprefix("part ").split("\t")
                    ended[part] = (int(status), float(seconds), text)
        else:
            log.write_text(f"{revision}\n")
        for part in run.parts:
            if part in ended:
                continue
            command = run.command.replace("{part}", shlex.quote(part) if part else "")
            print(f"== {run.name}{': ' + part if part else ''}", flush=True)
            begin = time.monotonic()
            status, lines = self.execute(command)
            seconds = time.monotonic() - begin
            found = (status == 0) == run.is_planted
            if found:
                print(f"{run.name} {'noticed nothing' if run.is_planted else 'found something'}. Again: LOCALDATA_PROOF=1 {command}")
            ended[part] = (int(found), seconds, tried(lines))
            with log.open("a") as file:
                file.write(f"part {part}\t{int(found)}\t{seconds:.1f}\t{ended[part][2]}\n")
                file.writelines(f"    {line}\n" for line in lines[-200:])
        found = sum(status for status, _, _ in ended.values())
        note(
            run.name, self.length, revision, sum(seconds for _, seconds, _ in ended.values()),
            joined([text for _, _, text in ended.values()]),
            ("NOT noticed" if found else "noticed") if run.is_planted else (f"SOMETHING, see {log.relative_to(TOP)}" if found else "nothing"))
        return found > 0


def tried(lines):
    """Returns what a command tried: its last line with `tried: `; of tests, their number and all these lines."""
    counts = [line.removeprefix("tried: ") for line in lines if line.startswith("tried: ")]
    tests = [match[1] for line in lines if (match := re.search(r"Test run with (\d+ tests?)", line))]
    return "; ".join(tests[-1:] + counts) if tests else counts[-1] if counts else "?"


def joined(texts):
    """Merges texts that differ only in their numbers, and adds the numbers."""
    numbers = [[int(number) for number in re.findall(r"\d+", text)] for text in texts]
    if len(texts) == 1 or len({re.sub(r"\d+", "#", text) for text in texts}) > 1:
        return "; ".join(texts)
    sums = iter([sum(column) for column in zip(*numbers)])
    return re.sub(r"\d+", lambda _: f"{next(sums)}", texts[0])


HEAD = """# Evidence

The searches of `Scripts/prove` and the results of their latest runs. `Scripts/prove` writes this table. A planted mistake is one that the
search must notice.

[Package.resolved](Package.resolved) has the exact versions of the packages with which the latest run was built. `Scripts/prove` copies it,
and `git log -p Proof/Package.resolved` shows the versions of earlier runs.

| search | length | revision | date | duration | tried | found |
|---|---|---|---|---|---|---|
"""


def note(name, length, revision, seconds, tried, found):
    """Replaces the row of a search and a length in Proof/Evidence.md, and copies the versions of the packages."""
    rows = {}
    if EVIDENCE.exists():
        for line in EVIDENCE.read_text().splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if len(cells) == 7 and cells[0] not in ("search", "---"):
                rows[(cells[0], cells[1])] = line
    date = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    duration = f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"
    rows[(name, length)] = f"| {name} | {length} | {revision} | {date} | {duration} | {tried} | {found} |"
    EVIDENCE.write_text(HEAD + "".join(f"{row}\n" for row in rows.values()))
    if (TOP / "Package.resolved").exists():
        shutil.copyfile(TOP / "Package.resolved", PACKAGES)


def main(arguments):
    length, names, lists = "default", [], False
    for argument in arguments:
        if argument in ("--quick", "--long"):
            length = argument[2:]
        elif argument == "--list":
            lists = True
        elif argument in ORDINARY["default"] + NAMED:
            names.append(argument)
        else:
            asks = argument in ("-h", "--help")
            print(USAGE, file=sys.stdout if asks else sys.stderr)
            return 0 if asks else 64
    names = names or ORDINARY[length]
    os.environ["LOCALDATA_PROOF"] = "1"
    build(names, length)
    every = steps(length)
    if lists:
        for name in names:
            for run in every[name]:
                print(f"{name:12}{run.command}" + (f"   ({len(run.parts)} parts)" if len(run.parts) > 1 else ""))
        return 0
    runner, found = Runner(length), []
    try:
        for name in names:
            found += [run.name for run in every[name] if runner.run(run)]
    except Interrupted:
        print("\nInterrupted." + (" The same command continues after the last part that ended." if length == "long" else ""))
        return 130
    finally:
        runner.close()
    if found:
        print(f"Found something: {', '.join(found)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
