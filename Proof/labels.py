#!/usr/bin/env python3
"""Prints what the labels of an encrypted database reveal to a program that has the file and no key.

usage: Proof/labels.py [--json] file

A label is a keyed hash of a property of a row. The file shows which rows have the same label, and so how many rows share a property. It
does not show the property or its value.
"""
import json
import sqlite3
import sys
from collections import Counter


def look(path):
    """Returns the findings of a database file."""
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    rows = database.execute("SELECT count(*) FROM records").fetchone()[0]
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "labels" not in tables:
        return {"rows": rows, "labels": 0, "groups": [], "profiles": []}
    groups = Counter()
    labels_of = {}
    for label, slot in database.execute("SELECT label, slot FROM labels"):
        groups[label] += 1
        labels_of.setdefault(slot, set()).add(label)
    # Rows with the same labels cannot be distinguished by them.
    profiles = Counter(frozenset(labels) for labels in labels_of.values())
    return {
        "rows": rows,
        "labels": len(groups),
        "groups": sorted(groups.values(), reverse=True),
        "profiles": sorted(profiles.values(), reverse=True),
    }


def main(arguments):
    paths = [each for each in arguments if each != "--json"]
    if len(paths) != 1 or paths[0] in ("-h", "--help"):
        sys.exit(__doc__)
    found = look(paths[0])
    if "--json" in arguments:
        print(json.dumps(found))
        return
    print(f"{found['rows']} rows, {found['labels']} different labels")
    print("rows with one label, for each label:", *found["groups"][:40], "…" if len(found["groups"]) > 40 else "")
    print("rows with exactly the same labels, for each such group:", *found["profiles"][:40], "…" if len(found["profiles"]) > 40 else "")
    print("The property, its value and the content of the rows cannot be determined from the file.")


if __name__ == "__main__":
    main(sys.argv[1:])
