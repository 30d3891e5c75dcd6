"""Runs the searches of Scripts/prove. Each run is a command that prints what it tried, and exits with 1 if it finds something."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import steps
from ledger import Ledger

USAGE = """usage: Scripts/prove [--quick | --long] [--list] [step…]

  --quick   four minutes once built: a part of every search that needs no other build
  (neither) every slice of every search (Proof/steps.py), about two hours
  --long    hours: every step is cut into parts; an interrupted run continues after the last part that ended
  --list    prints the commands of the steps instead of running them

steps: campaigns   simulated programs over the real router, by the thousand (Proof/Simulation)
       mutants     switches off one part of the protocol at a time, which a campaign must notice (Proof/Mutants)
       power       how soon the simulation notices each mutant (Proof/Mutants/Power.json); runs only if it is named
       faults      real operations on real files, killed, torn or failing at each of their calls (Proof/RealFaults)
       cuts        every disk that a power cut during a real operation can leave (Proof/RealFaults)
       flushes     real operations of which a flush fails and drops its pages, then a power cut (Proof/RealFaults)
       processes   several real processes on the same stores, killed and stopped at random
       server      a PostgreSQL server that is killed under load, and processes that are killed while they move a database to it
       attacks     every bit of every format flipped, every table exchanged (Proof/Searches)
       limits      a full disk, no memory, no open file left (needs root)
       age         a machine that lives for hundreds of days, compared with one that lives for a day: values, files, instructions
       laws        the laws of backends and of pure parts over more values than in the tests
       comparison  random programs, whose answers must be the same in every store and with every option (Searches/Storage)
       judges      the cryptography with the test vectors of Project Wycheproof and of RFC 9180 (Tests/SealingTests)
       model       the migration protocol in all its states, with spin (Proof/Models)
       fuzz        libFuzzer on every reader of foreign bytes (Proof/Fuzz)
       patroni     three PostgreSQL servers with Patroni whose primary is killed and cut off (Proof/Failover); runs only if it is named
       coverage    how much of Migration, Sealing and SQLite's writer the tests reach (Proof/coverage.py); runs only if it is named
       mutation    random mistakes of one line in Migration, Sealing and SQLite's writer, which the tests must notice (Proof/mutation.py);
                   runs only if it is named
       scale       one server with many machines: sets per second, a sweep of 100,000 keys (Proof/Scale); runs only if it is named
       soak        six hours under load with kills and locks, in parts that can be resumed (Proof/Scale); runs only if it is named
       porcupine   the histories of the simulation, processes and servers, with a judge that others wrote (Proof/Judge); runs only if it
                   is named
       providers   the real KeePassXC, KWallet and pass_secret_service, which it installs; runs only if it is named
       lazyfs      power cuts of LazyFS, a file system that it builds (Proof/lazyfs.py); needs root; runs only if it is named

The seeds are new for each revision. Each run writes its record into Proof/Checked.json and Proof/Evidence.md. A run that finds something prints
the command that repeats it; the exit status is then 1. Scripts/check --due runs the slices that have not run for the longest time."""

TOP = steps.TOP

#: The searches that run if none is named, of each length.
ORDINARY = {"quick": steps.QUICK, "default": [step.name for step in steps.STEPS if step.is_search and not step.is_named]}
ORDINARY["long"] = ORDINARY["default"]


def build(needs, length="default"):
    """Builds what steps need. The debug build is that of the tests, which .ci/run has made. Short and long runs always need Prove."""
    builds = {"tests": ["--build-tests"], "Prove": ["--product", "Prove"], "release": ["-c", "release", "--product", "Prove"]}
    if length == "long":
        builds["Prove"] = builds["release"]
    if length != "default":
        needs = {*needs, "Prove"}
    for options in [options for name, options in builds.items() if name in needs]:
        subprocess.run(["Scripts/build", "--quiet", *options], cwd=TOP, check=True, env={**os.environ, "LOCALDATA_PROOF": "1"})


class Interrupted(Exception):
    """The user or the system ended the run."""


class Runner:
    """Runs commands one after the other. At the end, removes all processes and folders, and generates Evidence.md."""

    def __init__(self, length, *, is_brief=False, ledger=None):
        self.length, self.ledger = length, ledger or Ledger()
        #: Whether to print the output of a command only if it failed.
        self.is_brief = is_brief
        self.process = None
        self.has_records = False
        #: The slices that did not run to their end.
        self.obstacles = []
        # The path must be short, because programs create sockets below it, and the path of a socket has at most about a
        # hundred bytes.
        self.temporary = tempfile.mkdtemp(prefix="prove-")
        # Servers that refuse to run as root use another user.
        os.chmod(self.temporary, 0o711)
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
        if self.has_records:
            self.ledger.write_evidence()

    def execute(self, command, is_proof):
        """Runs a command in a new process group. Returns its exit status and the lines it printed."""
        lines = []
        environment = {**os.environ, "TMPDIR": self.temporary}
        environment.pop("LOCALDATA_PROOF", None)
        if is_proof:
            environment["LOCALDATA_PROOF"] = "1"
        self.process = subprocess.Popen(
            ["bash", "-c", command], cwd=self.ledger.top, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", start_new_session=True, env=environment)
        for line in self.process.stdout:
            if not self.is_brief:
                print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
        return self.process.wait(), lines

    def run(self, run, is_proof=True):
        """Runs all parts of a slice that have not ended before, and records the result. Records nothing if a command did not run to
        its end. Returns whether it found something that is not a known limit, or did not run to its end."""
        # Commits may be added during the run.
        revision = self.ledger.git("rev-parse", "HEAD")
        log = self.ledger.top / ".build/prove" / self.length / (re.sub(r"[^a-z0-9]+", "-", run.name) + ".log")
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
            command = run.command.replace("{part}", part)
            print(f"== {run.name}: {command}", flush=True)
            begin = time.monotonic()
            status, lines = self.execute(command, is_proof)
            seconds = time.monotonic() - begin
            if reason := obstacle(status, lines, run.is_planted):
                print(f"{run.name} did not run to its end: {reason}", flush=True)
                self.obstacles.append(run.name)
                return True
            found = (status == 0) == run.is_planted
            if found:
                if self.is_brief:
                    print("\n".join(problems(lines)))
                prefix = "LOCALDATA_PROOF=1 " if is_proof else ""
                print(f"{run.name} {'noticed nothing' if run.is_planted else 'found something'}. Again: {prefix}{command}")
            ended[part] = (int(found), seconds, tried(lines))
            with log.open("a") as file:
                file.write(f"part {part}\t{int(found)}\t{seconds:.1f}\t{ended[part][2]}\n")
                file.writelines(f"    {line}\n" for line in lines[-200:])
        found = sum(status for status, _, _ in ended.values())
        text = joined([text for _, _, text in ended.values()]) + first_seed(run.command)
        seconds = sum(seconds for _, seconds, _ in ended.values())
        name = run.name if self.length == "default" else f"{run.name}, {self.length}"
        self.ledger.note(
            name, revision=revision, seconds=seconds, tried=text,
            found=("NOT noticed" if found else "noticed") if run.is_planted
            else (f"SOMETHING, see {log.relative_to(self.ledger.top)}" if found else "nothing"))
        self.has_records = True
        if (self.ledger.top / "Package.resolved").exists():
            shutil.copyfile(self.ledger.top / "Package.resolved", self.ledger.top / "Proof/Package.resolved")
        if self.is_brief:
            print(f"   {'FAILED' if found else 'ok'}, {seconds:.0f} s, {text}", flush=True)
        is_known = found > 0 and self.ledger.is_accepted(name)
        if is_known:
            print(f"{name} is named in Docs/KnownLimits.md.")
        return found > 0 and not is_known


def obstacle(status, lines, is_planted):
    """Returns why a command found nothing and missed nothing: it was killed, or the machine lacks something; nil if it ran to its end."""
    # The failure of a command that tried nothing is no planted mistake that was noticed.
    if status != 0 and is_planted and tried(lines) == "-":
        return f"it tried nothing: {(lines or ['no output'])[-1]}"
    if status == 0:
        return None
    for line in lines:
        if re.match(r"Missing: |apt-get failed|\S.* is missing\. As root", line):
            return line
    if status in (126, 127):
        return lines[-1] if lines else "there is no such program"
    # The parent reports a signal as a negative number, a shell as 128 and the number.
    number = -status if status < 0 else status - 128
    return f"it was ended by {signal.Signals(number).name}" if number in (signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM) else None


def problems(lines):
    """Returns the lines of a failed command that say what failed; if there are none, its last lines."""
    found = [line for line in lines if re.search(r"(error|warning): |✘|💔|WARNING: ThreadSanitizer| WRONG: |FAILED", line)]
    return list(dict.fromkeys(found))[:60] or lines[-40:]


def first_seed(command):
    """Returns the first seed of a command, for the text of what it tried."""
    match = re.search(r"(?: --(?:first|seed) |COMPARISON_FIRST=)(\d+)", command)
    return f", first seed {match[1]}" if match else ""


def tried(lines):
    """Returns what a command tried: its last line with `tried: `; of tests, their number and all these lines."""
    counts = [line.removeprefix("tried: ") for line in lines if line.startswith("tried: ")]
    tests = [match[1] for line in lines if (match := re.search(r"Test run with (\d+ tests?)", line))]
    return "; ".join(tests[-1:] + counts) if tests else counts[-1] if counts else "-"


def joined(texts):
    """Merges texts that differ only in their numbers, and adds the numbers."""
    numbers = [[int(number) for number in re.findall(r"\d+", text)] for text in texts]
    if len(texts) == 1 or len({re.sub(r"\d+", "#", text) for text in texts}) > 1:
        return "; ".join(texts)
    sums = iter([sum(column) for column in zip(*numbers)])
    return re.sub(r"\d+", lambda _: f"{next(sums)}", texts[0])


def main(arguments):
    every = {step.name: step for step in steps.STEPS if step.is_search}
    length, names, lists = "default", [], False
    for argument in arguments:
        if argument in ("--quick", "--long"):
            length = argument[2:]
        elif argument == "--list":
            lists = True
        elif argument in every:
            names.append(argument)
        else:
            asks = argument in ("-h", "--help")
            print(USAGE, file=sys.stdout if asks else sys.stderr)
            return 0 if asks else 64
    names, searches = names or ORDINARY[length], steps.searches(length)
    if lists:
        for name in names:
            for run in searches[name]:
                print(f"{name:12}{run.command}" + (f"   ({len(run.parts)} parts)" if len(run.parts) > 1 else ""))
        return 0
    build({every[name].needs for name in names}, length)
    runner, found = Runner(length), []
    try:
        for name in names:
            found += [run.name for run in searches[name] if runner.run(run)]
    except Interrupted:
        print("\nInterrupted." + (" The same command continues after the last part that ended." if length == "long" else ""))
        return 130
    finally:
        runner.close()
    if found:
        print(f"Found something, or did not run to their end: {', '.join(found)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
