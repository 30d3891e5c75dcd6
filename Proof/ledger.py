"""The ledger of the expensive steps. Proof/Checked.json has a record of the latest run of each slice, and Proof/Evidence.md is generated
from it.

usage: Proof/ledger.py --evidence    writes Proof/Evidence.md again, with the ages of HEAD
       Proof/ledger.py --test        tries the rules on ledgers and repositories in temporary folders
"""

import fcntl
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace as replaced
from datetime import datetime, timezone
from pathlib import Path

import steps

#: A record is too old if it is older than these days, and more lines of its step's inputs have changed.
DAYS, LINES = 7, 3000
#: Of these folders, fewer lines may have changed.
STRICT = ["Sources/Backends/Sealing", "Sources/Backends/CSealing", *steps.MIGRATION, "Sources/LocalData/Records", "Sources/LocalData/Sweeping"]
STRICT_LINES = 500
#: The results of a run that succeeded. `noticed` is that of a run with a planted mistake.
GREEN = ("nothing", "noticed")
#: The section of Docs/KnownLimits.md that names the slices whose findings are known.
SECTION = "## Open findings of the checks"


def now():
    return datetime.now(timezone.utc)


class Ledger:
    """The records, by the names of slices, in a file that several processes may write."""

    def __init__(self, top=steps.TOP, known_steps=steps.STEPS):
        self.top, self.steps = Path(top), known_steps
        self.path, self.evidence = self.top / "Proof/Checked.json", self.top / "Proof/Evidence.md"

    @property
    def records(self):
        return json.loads(self.path.read_text()) if self.path.exists() else {}

    def git(self, *words):
        """Returns what a command of git prints; nil if it fails."""
        run = subprocess.run(["git", *words], cwd=self.top, capture_output=True, text=True)
        return run.stdout.rstrip("\n") if run.returncode == 0 else None

    @contextmanager
    def locked(self):
        """Waits until no other process writes the ledger."""
        folder = self.top / ".build"
        folder.mkdir(exist_ok=True)
        with (folder / "checked.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def note(self, name, *, revision, seconds, tried, found):
        """Replaces the record of a slice. Call it after the run, so that a killed run changes nothing."""
        record = {
            "revision": revision, "date": now().strftime("%Y-%m-%dT%H:%M:%SZ"), "seconds": round(seconds), "tried": tried, "found": found,
        }
        with self.locked():
            records = self.records | {name: record}
            present = {slice.name for step in self.steps for slice in step.slices}
            for step in self.steps:
                if all(slice.name in records for slice in step.slices):
                    records = {other: record for other, record in records.items() if other in present or not is_earlier(other, step)}
            lines = [f"{json.dumps(other)}: {json.dumps(records[other], ensure_ascii=False)}" for other in sorted(records)]
            replace(self.path, "{\n" + ",\n".join(lines) + "\n}\n")

    def write_evidence(self):
        """Generates Evidence.md, which takes about two seconds."""
        with self.locked():
            replace(self.evidence, page(self))

    def is_accepted(self, name):
        """Whether the section of the known limits names the slice. A name is also that of its short and long runs."""
        path = self.top / "Docs/KnownLimits.md"
        _, _, text = (path.read_text() if path.exists() else "").partition(f"\n{SECTION}\n")
        return any(f"`{one}`" in text.partition("\n## ")[0] for one in (name, base(name)))

    def passed(self, name):
        """Whether a slice found nothing at this revision."""
        record = self.records.get(name)
        return record is not None and record["revision"] == self.git("rev-parse", "HEAD") and record["found"] in GREEN

    def red(self):
        """Returns the names of the records that found something that is not a known limit."""
        return [name for name, record in self.records.items() if record["found"] not in GREEN and not self.is_accepted(name)]


def replace(path, text):
    """Writes a file so that a reader sees the old text or the new one."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def base(name):
    """Returns the name of a slice from that of a short or long run."""
    return name.removesuffix(", quick").removesuffix(", long")


def is_earlier(name, step):
    """Whether a record without a slice is of an earlier division of a step into slices, and not of a short or long run."""
    return base(name) == name and is_of(name, step)


def is_of(name, step):
    """Whether a record belongs to a step, by its name."""
    name = base(name)
    names = (step.name, *(slice.name for slice in step.slices))
    return name in names or name.startswith((f"{step.name},", f"{step.name}:", f"{step.name} "))


@dataclass
class Age:
    """The age of a record. A slice without a record is as old as the ledger, and runs before all others."""

    days: float = math.inf
    lines: float = math.inf
    #: The changed lines of `STRICT`.
    strict: float = math.inf
    has_run: bool = True

    @property
    def share(self):
        """The changed lines as a share of the limit."""
        return max(self.lines / LINES, self.strict / STRICT_LINES)

    @property
    def is_due(self):
        return self.days > DAYS and self.share > 1

    @property
    def order(self):
        """Is largest for the slice that must run next."""
        return (0, min(self.days / DAYS, self.share), self.days) if self.has_run else (1, 0, 0)

    def __str__(self):
        return "no run" if not self.has_run else f"{self.days:.0f} days, {counted(self.lines)} lines"


def counted(lines):
    """Returns the text of a number of lines, which is unknown if a shallow clone lacks the commit."""
    return "unknown" if lines == math.inf else f"{lines:,}"


class Ages:
    """Computes the ages of records at HEAD."""

    def __init__(self, ledger):
        self.ledger, self.changes = ledger, {}
        begin = (ledger.git("log", "--diff-filter=A", "--format=%H %cI", "--", "Proof/Checked.json") or "").splitlines()
        #: The beginning of the ledger; nil if it is not committed.
        self.begin = dict(zip(("revision", "date"), begin[-1].split())) if begin else None

    def age(self, record, inputs):
        if record is None:
            return replaced(self.age(self.begin, inputs), has_run=False) if self.begin else Age(has_run=False)
        date = datetime.fromisoformat(record["date"].replace("Z", "+00:00"))
        days = (now() - (date if date.tzinfo else date.replace(tzinfo=timezone.utc))).total_seconds() / 86400
        changes = self.since(record)
        if changes is None:
            return Age(days)
        lines = {path: count for path, count in changes.items() if is_input(path, inputs)}
        return Age(days, sum(lines.values()), sum(count for path, count in lines.items() if is_below(path, STRICT)))

    def since(self, record):
        """Returns the changed lines of each file since a record; nil if the clone has no commit that old. If a rebase has
        removed the record's commit, its date decides."""
        revision, git = record["revision"], self.ledger.git
        if git("merge-base", "--is-ancestor", revision, "HEAD") is None:
            revision = git("rev-list", "-1", f"--before={record['date']}", "HEAD")
        if not revision:
            return None
        if revision not in self.changes:
            self.changes[revision] = changed_lines(git("diff", "--numstat", "-z", "--find-renames", revision, "HEAD"))
        return self.changes[revision]


def changed_lines(numstat):
    """Returns the inserted and deleted lines of each file, from the output of `git diff --numstat -z`."""
    changes, fields = {}, numstat.split("\0")
    while fields and fields[0]:
        inserted, deleted, path = fields.pop(0).split("\t")
        if not path:  # a renamed file: its two names follow
            _, path = fields.pop(0), fields.pop(0)
        # A binary file has no lines.
        changes[path] = sum(int(number) for number in (inserted, deleted) if number != "-")
    return changes


def is_below(path, folders):
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def is_input(path, inputs):
    """Whether a file is an input of a step. The guides are no input, unless the step names their folder."""
    named = [folder for folder in inputs if (".docc/" in f"{path}/") == (".docc" in folder)]
    return is_below(path, named)


# MARK: Evidence.md

HEAD = f"""# Evidence

The latest run of each expensive step. The scripts record a run in [Checked.json](Checked.json), and generate this page from it. A step has
one or more *slices*, which take at most eight minutes each. A planted mistake is one that the search must notice.

The age of a record is in days, and in the lines of its step's inputs (the folders of `steps.py`) that have changed since. A record is *too
old* after {DAYS} days and {LINES:,} lines, or {STRICT_LINES} lines of `Sealing` and of the rooms that move and keep values. `Scripts/check
--due` runs the oldest slices.

[Package.resolved](Package.resolved) has the exact versions of the packages with which the latest run was built. The scripts copy it,
and `git log -p Proof/Package.resolved` shows the versions of earlier runs.
"""

COLUMNS = "| slice | revision | date | duration | tried | found | days | changed lines | |\n|---|---|---|---|---|---|---:|---:|---|\n"


def page(ledger):
    """Returns the text of Evidence.md."""
    records, ages = ledger.records, Ages(ledger)
    rest = dict(records)

    def row(name, inputs, is_named):
        record = rest.pop(name, None)
        if record is None:
            return f"| {name} | | | | | no run | | | |\n"
        age, seconds = ages.age(record, inputs), record["seconds"]
        duration = f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds} s"
        remark = "too old" if age.is_due and not is_named else ""
        if record["found"] not in GREEN:
            remark = "known limit" if ledger.is_accepted(name) else "open"
        cells = [name, record["revision"][:8], record["date"][:10], duration, record["tried"].replace(", ", "; "), record["found"]]
        return f"| {' | '.join([*cells, f'{age.days:.0f}', counted(age.lines)])} |{remark and f' {remark}'} |\n"

    def rows(is_named):
        return "".join(row(slice.name, step.inputs, is_named) for step in ledger.steps if step.is_named == is_named for slice in step.slices)

    def inputs(name):
        return next((step.inputs for step in ledger.steps if is_of(name, step)), ["Sources"])

    ordinary, named = rows(False), rows(True)
    others = "".join(row(name, inputs(name), True) for name in sorted(rest))
    computed = f"The ages are those of revision {(ledger.git('rev-parse', 'HEAD') or '')[:8]} on {now():%Y-%m-%d}.\n"
    return (
        f"{HEAD}\n{computed}\n## Steps\n\n{COLUMNS}{ordinary}\n## Steps that run only if they are named\n\n{COLUMNS}{named}"
        f"\n## Short and long runs, and searches before they had slices\n\n{COLUMNS}{others}{power()}")


def power():
    """Returns the section about how soon the simulation notices planted mistakes; empty if that was not measured."""
    file = steps.TOP / "Proof/Mutants/Power.json"
    if not file.is_file():
        return ""
    numbers = json.loads(file.read_text())
    limit = numbers["limit"]

    def text(runs, name):
        return f"{runs[name]:,}" if runs.get(name) is not None else f"over {limit:,}"

    lines = "".join(
        f"| {subject} | {name} | {text(runs, 'median')} | {text(runs, 'low')} to {text(runs, 'high')} |\n"
        for subject, mutants in sorted(numbers["mutants"].items())
        for name, runs in sorted(mutants.items(), key=lambda item: -(item[1].get("median") or limit + 1)))
    faults = "".join(
        f"| {subject} | {fault} | {count:,} |\n"
        for subject, counts in sorted(numbers["faults"].items()) for fault, count in sorted(counts.items(), key=lambda item: item[1]))
    return f"""
## How soon the simulation notices planted mistakes

K is the median number of runs until a planted mistake is noticed, over {numbers["firsts"]} first seeds. The range leaves out the lowest and
the highest tenth. `Scripts/prove power` measures it.

| subject | planted mistake | K | range |
|---|---|---:|---:|
{lines}
How often a program read a value after a fault, in 2,000 runs of each subject:

| subject | fault | reads |
|---|---|---:|
{faults}"""


def main(arguments):
    if arguments == ["--test"]:
        import ledger_tests
        ledger_tests.test()
    elif arguments == ["--evidence"]:
        Ledger().write_evidence()
    else:
        print(__doc__.strip(), file=sys.stderr)
        return 64
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
