"""Runs slices of the expensive steps for Scripts/check, and records them.

usage: Scripts/check --due [--minutes N] [--built] [--list]
       Scripts/check [--resume] STEP...

  --due        runs the slices that are due; with --minutes, the oldest ones until the minutes are used, at least one
  --built      only slices that need no other build than .ci/run has made
  --list       prints each slice with its age, and runs nothing
  --resume     leaves out the slices of the steps that passed at this revision

A slice is due if it has no record, or if its record is more than 7 days old and more than 3,000 lines of its inputs have changed since (500 of
Sealing, Migration and Records). Steps that run only if they are named are never due. Exits with 1 if a slice is still due or did not run to its
end, or if a record found something that Docs/KnownLimits.md does not name in its section of open findings.
"""

import argparse
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import ledger
import steps
from prove import Interrupted, Runner, build


@dataclass
class Candidate:
    """A slice with the age of its record."""

    step: steps.Step
    slice: steps.Slice
    age: ledger.Age

    @property
    def is_due(self):
        return self.age.is_due and not self.step.is_named


def candidates(book):
    """Returns the slices of a ledger, the oldest first."""
    records, ages = book.records, ledger.Ages(book)
    every = [Candidate(step, slice, ages.age(records.get(slice.name), step.inputs)) for step in book.steps for slice in step.slices]
    return sorted(every, key=lambda one: one.age.order, reverse=True)


class Shift:
    """Runs slices one after the other. Builds what several slices need once."""

    def __init__(self, runner):
        self.runner, self.built = runner, set()

    def run(self, step, slice):
        """Returns whether the slice found something that is not a known limit, or did not run to its end."""
        if step.needs not in self.built:
            build({step.needs})
            self.built.add(step.needs)
        return self.runner.run(slice, step.is_proof)

    def run_due(self, *, minutes, built):
        """Runs the oldest slices. Without minutes, runs those that are due."""
        begin, tried = time.monotonic(), set()

        def is_candidate(one):
            return one.slice.name not in tried and not one.step.is_named and (one.step.is_built or not built) and (minutes is not None or one.is_due)

        while minutes is None or not tried or time.monotonic() - begin < minutes * 60:
            chosen = next(filter(is_candidate, candidates(self.runner.ledger)), None)
            if chosen is None:
                break
            tried.add(chosen.slice.name)
            self.run(chosen.step, chosen.slice)


def verdict(book):
    """Prints what is wrong with the ledger. Returns whether that is nothing."""
    red, due = book.red(), [one for one in candidates(book) if one.is_due]
    for name in red:
        print(f"error: {name} found something. Mend it, or name `{name}` in Docs/KnownLimits.md below \"{ledger.SECTION[3:]}\".")
    for one in due:
        print(f"error: {one.slice.name} is due: {one.age}")
    if due:
        print("Scripts/check --due runs them, and Scripts/check --due --minutes 30 the oldest ones.")
    return not red and not due


def print_list(book):
    records = book.records
    print(f"{'slice':60} {'needs':8} {'latest':>7}  {'age':26} {'changed':>7}  (100 %: {ledger.LINES} lines, {ledger.STRICT_LINES} strict ones)")
    for one in candidates(book):
        record = records.get(one.slice.name)
        state = "named" if one.step.is_named else "DUE" if one.is_due else ""
        if record and record["found"] not in ledger.GREEN:
            state += " known limit" if book.is_accepted(one.slice.name) else " RED"
        if record and record["seconds"] > 480 and not one.step.is_named:
            state += " longer than 8 min"
        seconds = f"{record['seconds']} s" if record else "-"
        kind = "built" if one.step.is_built else one.step.needs
        print(f"{one.slice.name:60} {kind:8} {seconds:>7}  {one.age!s:26} {one.age.share:>7.0%}  {state.strip()}".rstrip())


def main(arguments):
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2])
    for option in ("--due", "--built", "--list", "--resume"):
        parser.add_argument(option, action="store_true")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("steps", nargs="*")
    options = parser.parse_args(arguments)
    if unknown := set(options.steps) - {step.name for step in steps.STEPS}:
        parser.error(f"there is no step {', '.join(sorted(unknown))}")
    if options.list:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        print_list(ledger.Ledger())
        return 0
    runner = Runner("default", is_brief=True)
    shift, found = Shift(runner), []
    try:
        if options.due:
            shift.run_due(minutes=options.minutes, built=options.built)
        chosen = [(step, slice) for step in steps.STEPS if step.name in options.steps for slice in step.slices]
        if options.resume:
            chosen = [(step, slice) for step, slice in chosen if not runner.ledger.passed(slice.name)]
        found += [slice.name for step, slice in chosen if shift.run(step, slice)]
    except Interrupted:
        print("\nInterrupted.")
        return 130
    except subprocess.CalledProcessError as error:
        print(f"error: this failed: {' '.join(error.cmd)}")
        return 1
    finally:
        runner.close()
    return 0 if not found and not runner.obstacles and (not options.due or verdict(runner.ledger)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
