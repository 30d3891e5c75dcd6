#!/usr/bin/env python3
"""Measures how much of the code that moves, seals and writes values is run by the tests and by the simulations.

Swift's compiler counts regions: each branch of an `if`, `guard`, `switch` or `?:`, and each closure and function is one. The program
fails if the tests reach less than 95 % of the regions of a subject. `--missed` also prints the regions that nothing reaches.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import steps

TOP = Path(__file__).resolve().parent.parent
BUILD = TOP / ".build/coverage"
SUBJECTS = {
    "Migration": [f"{room}/" for room in steps.MIGRATION],
    "Sealing": ["Sources/Backends/Sealing/"],
    "SQLite's writer": ["Sources/Backends/SQLite/Writing/"],
}
GOAL = 0.95
SIMULATIONS = ["campaigns", "records", "windows"]


def run(*words, **environment):
    subprocess.run([str(word) for word in words], cwd=TOP, check=True, env={**os.environ, "LOCALDATA_PROOF": "1", **environment})


def tool(name):
    """Returns the path of a tool of LLVM that belongs to the compiler: another version cannot read its files."""
    swift = Path(subprocess.run(["which", "swift"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()).resolve()
    return swift.parent / name


def measure(seeds):
    """Builds, runs the tests and the simulations, and returns the merged profile."""
    options = ["--scratch-path", BUILD, "--enable-code-coverage"]
    run("Scripts/build", "--quiet", *options, "--build-tests")
    run("swift", "test", *options, "--skip-build", "--skip", "^[A-Za-z]+Searches[.]")
    profiles = [BUILD / "debug/codecov/default.profdata"]
    for name in SIMULATIONS if seeds else []:
        profile = BUILD / f"{name}.profraw"
        run(BUILD / "debug/Prove", name, "--seeds", seeds, LLVM_PROFILE_FILE=str(profile))
        profiles.append(profile)
    merged = BUILD / "merged.profdata"
    run(tool("llvm-profdata"), "merge", *profiles, "-o", merged)
    return merged


def export(merged):
    """Returns what llvm-cov says of each file, by its path in the repository."""
    words = [tool("llvm-cov"), "export", BUILD / "debug/LocalDataPackageTests.xctest", "-instr-profile", merged]
    words += [TOP / folder for folders in SUBJECTS.values() for folder in folders]
    text = subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE).stdout
    files = json.loads(text)["data"][0]["files"]
    return {str(Path(file["filename"]).relative_to(TOP)): file for file in files}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=2_000, help="seeds of each simulation (default: 2,000)")
    options.add_argument("--missed", action="store_true", help="print the regions that nothing reaches")
    options.add_argument("--again", action="store_true", help="read the profile of the last run instead of measuring")
    options = options.parse_args()
    merged = BUILD / "merged.profdata"
    files = export(merged if options.again else measure(options.seeds))
    shares = {}
    for name, folders in SUBJECTS.items():
        chosen = {path: file["summary"]["regions"] for path, file in files.items() if path.startswith(tuple(folders))}
        count, covered = (sum(summary[kind] for summary in chosen.values()) for kind in ("count", "covered"))
        shares[name] = (covered, count)
        for path, summary in sorted(chosen.items(), key=lambda item: item[1]["covered"] - item[1]["count"]):
            if summary["covered"] < summary["count"]:
                print("%-70s %4d of %4d" % (path, summary["covered"], summary["count"]))
            if options.missed:
                # A segment begins where the count changes: line, column, count, whether it has a count, whether a region begins.
                for line, column, times, has_count, begins, *_ in files[path]["segments"]:
                    if has_count and begins and times == 0:
                        print("    %s:%d:%d" % (path, line, column))
    print("tried: " + ", ".join(
        "%s %.1f %% of %d regions" % (name, 100 * covered / count, count) for name, (covered, count) in shares.items()))
    return 1 if any(covered < GOAL * count for covered, count in shares.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
