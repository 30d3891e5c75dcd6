"""Tries the rules of the ledger on temporary ledgers and repositories."""

import contextlib
import io
import math
import os
import re
import subprocess
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

import due
import steps
from ledger import SECTION, Age, Ages, Ledger, is_input
from prove import Runner


def test():
    """Tries the rules. Raises an AssertionError if one is broken."""
    # In a hook, these variables would lead git to the repository of the hook.
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        for name in ("Proof", "Docs", "Sources/LocalData/Records", "Sources/LocalData/Values"):
            (top / name).mkdir(parents=True)

        def commit(lines, path, date):
            (top / path).write_text("".join(f"{number}\n" for number in range(lines)))
            words = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
            environment = os.environ | {"GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date}
            subprocess.run(["git", "add", "-A"], cwd=top, check=True)
            subprocess.run(["git", *words, "commit", "-q", "-m", "A change"], cwd=top, check=True, env=environment)

        subprocess.run(["git", "init", "-q"], cwd=top, check=True)
        table = [steps.Step("one", [steps.Slice("one: first", "true"), steps.Slice("one: second", "true")], ["Sources/LocalData"])]
        ledger = Ledger(top, table)
        commit(1, "Sources/LocalData/Values/A.swift", "2020-01-01T00:00:00Z")

        def note(name, *, seconds=1, tried="-", found="nothing"):
            ledger.note(name, revision=ledger.git("rev-parse", "HEAD"), seconds=seconds, tried=tried, found=found)

        # A missing record is as old as the ledger, and has a row.
        assert Ages(ledger).age(None, ["Sources"]).is_due
        note("one: first", seconds=3, tried="2 calls", found="nothing")
        ledger.write_evidence()
        assert re.search(r"\| one: first \| \w{8} \| [\d-]{10} \| 3 s \| 2 calls \| nothing \| 0 \| 0 \| \|", ledger.evidence.read_text())
        assert "| one: second | | | | | no run |" in ledger.evidence.read_text()

        # Two writers at once lose no record, and leave no half of a file.
        children = []
        for number in range(2):
            children.append(os.fork())
            if children[-1] == 0:
                for index in range(20):
                    note(f"{number}: {index}")
                os._exit(0)
        assert all(os.waitpid(child, 0)[1] == 0 for child in children)
        assert len(ledger.records) == 41

        # A run that is killed leaves the old record, even if it is killed while it writes the new one.
        before = ledger.path.read_bytes()
        child = os.fork()
        if child == 0:
            # The process ends at the last moment before the new text is there.
            os.replace = lambda *_: os.kill(os.getpid(), 9)
            note("one: first", found="something")
        os.waitpid(child, 0)
        assert ledger.path.read_bytes() == before
        note("one: first")

        # A full run that goes on leaves out what passed at this revision: not a finding, not a record of an earlier revision.
        assert ledger.passed("one: first") and not ledger.passed("one: second")
        note("one: second", found="something")
        assert not ledger.passed("one: second")
        ledger.note("one: second", revision="0" * 40, seconds=1, tried="-", found="nothing")
        assert not ledger.passed("one: second")

        # An old record is due only after enough changed lines.
        def old(days, **changes):
            date = datetime.fromtimestamp(time.time() - days * 86400, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            return ledger.records["one: first"] | {"date": date} | changes

        def is_due(record, inputs):
            return Ages(ledger).age(record, inputs).is_due

        record = old(8)
        commit(3000, "Sources/LocalData/Values/A.swift", "2020-01-02T00:00:00Z")
        assert Ages(ledger).age(record, ["Sources"]).lines == 2999 and not is_due(record, ["Sources"])
        commit(2, "Sources/LocalData/Values/B.swift", "2020-01-02T00:00:00Z")
        assert is_due(record, ["Sources/LocalData"]) and is_due(record, ["Sources/LocalData/Values/"[:-1]])
        assert not is_due(old(6), ["Sources"]) and not is_due(record, ["Sources/LocalData/Records"]) and not is_due(record, ["Sourc"])
        # The rooms that move values have a lower limit, and the guides do not count.
        commit(501, "Sources/LocalData/Records/A.swift", "2020-01-03T00:00:00Z")
        assert is_due(record, ["Sources/LocalData/Records"])
        assert not is_input("Sources/LocalData/D.docc/A.md", ["Sources"])
        assert is_input("Sources/LocalData/D.docc/A.md", ["Sources/LocalData/D.docc"])
        assert not is_input("Sources/LocalData/A.swift", ["Sources/LocalData/D.docc"])
        # A renamed file has no changed lines.
        subprocess.run(["git", "mv", "Sources/LocalData/Records/A.swift", "Sources/LocalData/Records/B.swift"], cwd=top, check=True)
        middle = ledger.git("rev-parse", "HEAD")
        commit(1, "Docs/A.md", "2020-01-04T00:00:00Z")
        assert Ages(ledger).age(old(8, revision=middle), ["Sources"]).lines == 0
        # If the commit of a record is gone, its date decides. Without a commit that old, only the days count.
        gone = old(8, revision="0" * 40)
        assert Ages(ledger).age(gone | {"date": "2020-01-01T12:00:00Z"}, ["Sources"]).lines > 3000
        assert Ages(ledger).age(gone | {"date": "2019-01-01"}, ["Sources"]).lines == math.inf
        # A slice that never ran is due when the ledger is old enough, and enough lines have changed since its beginning.
        assert is_due(None, ["Sources"]) and not is_due(None, ["Docs"])
        # The oldest slice is the one that is nearest to its limits, and a slice without a record is before all others.
        ages = [Age(0, 0, 0, has_run=False), Age(8, 2000, 0), Age(30, 100, 0), Age(1, 90_000, 0)]
        assert sorted(reversed(ages), key=lambda age: age.order, reverse=True)[:2] == ages[:2]

        # A red record is accepted only if the section of open findings names its slice.
        note("one: first", found="SOMETHING, see a log")
        known = top / "Docs/KnownLimits.md"
        ledger.write_evidence()
        assert ledger.red() == ["one: first"] and "| open |" in ledger.evidence.read_text()
        known.write_text(f"# Known limits\n\nThe `one: first`.\n\n{SECTION}\n\n* `one: firsts`\n\n## Later\n\n`one: first`\n")
        assert ledger.red() == ["one: first"]
        known.write_text(f"# Known limits\n\n{SECTION}\n\n* `one: first`: a defect.\n")
        assert ledger.red() == []
        assert ledger.is_accepted("one: first, quick") and not ledger.is_accepted("one: first, short")
        known.write_text("")
        note("one: first", found="noticed")
        assert ledger.red() == []

        # The runner records what a command found. A run that was killed, or that lacks a package, leaves the old record.
        runner = Runner("default", is_brief=True, ledger=ledger)
        try:
            def recorded(command, **options):
                with contextlib.redirect_stdout(io.StringIO()) as output:
                    is_failure = runner.run(steps.Slice("one: first", command, **options))
                return is_failure, ledger.records["one: first"]["tried"], ledger.records["one: first"]["found"], output.getvalue()

            assert recorded("true --first 7; echo tried: {part} calls", parts=["2", "3"])[:3] == (False, "5 calls, first seed 7", "nothing")
            for killed in ("kill -KILL $$", "bash -c 'kill -TERM $$'; exit $?", "no-such-program"):
                assert recorded(killed)[:3] == (True, "5 calls, first seed 7", "nothing")
                assert recorded(killed, is_planted=True)[0]
            missing = recorded("echo 'Missing: gcc spin. As root, run: apt-get'; exit 1")
            assert missing[2] == "nothing" and "Missing: gcc spin" in missing[3]
            assert recorded("true", is_planted=True)[2] == "NOT noticed"
            assert recorded("echo tried: a call; false", is_planted=True)[2] == "noticed"
            # A command that fails before it has tried anything notices no planted mistake.
            assert recorded("echo no network; false", is_planted=True)[0]
            assert runner.obstacles == ["one: first"] * 8
            found = recorded("echo 'Test run with 7 tests in 2 suites'; exit 1")
            assert found[:2] == (True, "7 tests") and found[2].startswith("SOMETHING") and "Again: LOCALDATA_PROOF=1 echo" in found[3]
            assert recorded('test -z "${LOCALDATA_PROOF:-}"')[0] and not recorded("true")[0]

            # The oldest slice of those that need no other build runs, and a slice that is still due fails.
            table += [
                steps.Step("two", [steps.Slice("two", "true")], ["Sources"], needs="own"),
                steps.Step("three", [steps.Slice("three: a", "true"), steps.Slice("three: b", "false")], ["Sources"], needs=""),
                steps.Step("four", [steps.Slice("four", "true")], ["Sources"], needs="", is_named=True),
            ]
            table[0].needs = ""
            note("one: second")
            shift = due.Shift(runner)
            with contextlib.redirect_stdout(io.StringIO()) as output:
                shift.run_due(minutes=0, built=True)
                assert "three: a" in ledger.records and "three: b" not in ledger.records and not due.verdict(ledger)
                shift.run_due(minutes=None, built=False)
                assert {"three: b", "two"} <= ledger.records.keys() and "four" not in ledger.records
                assert not due.verdict(ledger) and "error: three: b found something" in output.getvalue()
                for name in ("one: first", "three: b"):
                    note(name)
                assert due.verdict(ledger)
        finally:
            runner.close()

        # When all slices have a record, those of an earlier division go.
        table += [steps.Step("other", [steps.Slice("one of another step", "true")], ["Sources"])]
        for name in ("one", "one, planted", "one, quick", "ones", "one of another step"):
            note(name)
        note("one: second")
        assert {"one: first", "one: second", "one, quick", "ones", "one of another step"} <= ledger.records.keys()
        assert not {"one", "one, planted"} & ledger.records.keys()
        assert not list((top / "Proof").glob(".Evidence*"))

    # The table names every operation of FaultWorker and no other one, and existing inputs.
    texts = "".join(path.read_text() for path in (steps.TOP / "Proof/FaultWorker").glob("Operation+*.swift"))
    declared = {f"lazy get: {name}" for name in re.findall(r'lazy\("([^"]+)"', texts)} | set(re.findall(r'referring\(\s*"([^"]+)"', texts))
    for name in re.findall(r'name: "([^"]+)"', texts):
        if name.startswith("\\(place)"):
            declared |= {name.replace("\\(place)", place) for place in ("list", "database")}
    # The names of keys and other texts are one word, or a description.
    declared |= {name for name in re.findall(r'Operation\(\s*name: "([^"\\]+)"', texts)}
    listed = [name for names in steps.OPERATIONS.values() for name in names]
    assert declared == set(listed) and len(listed) == len(declared), f"Proof/steps.py: OPERATIONS differs: {declared ^ set(listed)}"
    names = [slice.name for step in steps.STEPS for slice in step.slices]
    assert len(names) == len(set(names))
    missing = [path for step in steps.STEPS for path in step.inputs if not (steps.TOP / path).exists()]
    assert not missing, f"Proof/steps.py: the inputs {missing} do not exist"
