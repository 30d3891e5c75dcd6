#!/usr/bin/env python3
"""Measures which past mends the searches would notice today, if they were taken back.

usage: Proof/Mends/measure.py FOLDER [NAME...]

FOLDER is a working copy of the revision that mends.json names. The script applies mends.patch there, builds, and
runs the searches once for each mend, with the mend taken back. It writes what noticed it to FOLDER/noticed.json, and goes
on there if it was stopped. Two hours on two cores.
"""
import json, os, subprocess, sys
from pathlib import Path

here = Path(__file__).resolve().parent
if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
    sys.exit(__doc__.strip())
folder, wanted = Path(sys.argv[1]), sys.argv[2:]
environment = os.environ | {"LOCALDATA_PROOF": "1"}
seeds, first, programs = 2000, 7_000_000, 20


def run(command, limit=None, **more):
    try:
        return subprocess.run(command, cwd=folder, env=environment | more, capture_output=True, text=True, timeout=limit).returncode
    except subprocess.TimeoutExpired:
        return 1


def prepare():
    subprocess.run(["Scripts/setup"], cwd=folder, check=True)
    if not (folder / "Sources/Backends/Contract/TakenBack.swift").exists():
        subprocess.run(["git", "apply", here / "mends.patch"], cwd=folder, check=True)
    for options in (["--build-tests"], ["-c", "release", "--product", "Prove"]):
        subprocess.run(["swift", "build", *options], cwd=folder, env=environment, check=True)


def noticing(mend):
    """Returns the search that notices a mend that was taken back; None if none does."""
    for search in ("records", "campaigns", "windows"):
        command = [".build/release/Prove", search, "--seeds", str(seeds), "--first", str(first)]
        if run(command, 400, LOCALDATA_TAKEN_BACK=mend):
            return search
    command = [".build/debug/LocalDataPackageTests.xctest", "--testing-library", "swift-testing", "--filter", "^StorageSearches.ComparisonTests"]
    # A program that waits for ever is noticed, too.
    if run(command, 400, LOCALDATA_TAKEN_BACK=mend, COMPARISON_FIRST="7000", COMPARISON_SEEDS=str(programs)):
        return "comparison"
    return None


prepare()
path = folder / "noticed.json"
noticed = json.loads(path.read_text()) if path.exists() else {}
assert noticing("none") is None, "The searches find something although no mend is taken back."
for mend in json.loads((here / "mends.json").read_text())["mends"]:
    if not mend["isTakenBack"] or mend["name"] in noticed or wanted and mend["name"] not in wanted:
        continue
    noticed[mend["name"]] = noticing(mend["name"])
    path.write_text(json.dumps(noticed, indent=1))
    print(mend["name"], noticed[mend["name"]], flush=True)
