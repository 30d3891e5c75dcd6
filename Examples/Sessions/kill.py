#!/usr/bin/env python3
"""Kills the session server again and again, and counts what each store has lost. Scripts/demo sessions builds what it needs.

A life begins with the list in which version 1 stored 20 tokens. Clients create and end sessions, and set and remove
tokens, while wrk reads. At a random moment, the server is killed with SIGKILL and started again. Then each name is read:

* A session or token that was acknowledged, and is absent or has another value, is lost.
* One whose removal was acknowledged, and that is there, is resurrected.
* A change that was in flight at the kill may have happened or not: both are right.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from kills.clients import Counts
from kills.life import STORES, Life, empty_folder
from kills.picture import draw
from kills.processes import PostgreSQL

KILLS_OF_A_LIFE = 10


def parser():
    options = argparse.ArgumentParser(
        prog="Scripts/demo sessions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kills", type=int, default=10, metavar="N", help="kills of each store (default: 10)")
    options.add_argument("--store", nargs="+", choices=STORES, default=None, metavar="NAME", help="stores: %s" % ", ".join(STORES))
    options.add_argument("--processes", type=int, default=1, metavar="N", help="servers over one store (default: 1)")
    options.add_argument(
        "--database", choices=["sqlite", "postgresql"], default="sqlite",
        help="the database of LocalData; with postgresql, only LocalData is killed")
    options.add_argument("--seed", type=int, default=None, help="repeat the choices of an earlier run; the exact moments differ")
    options.add_argument("--json", metavar="FILE", help="write the counts to a file")
    options.add_argument("--picture", metavar="FILE", help="draw the counts as SVG")
    options.add_argument("--keep", action="store_true", help="keep the folders of lives that lost something")
    return options


def kill_store(store, options, seed, programs, folder, server):
    """Plays the lives of one store. Returns its counts as a dictionary."""
    counts, requests, done, lives = Counts(), 0, 0, 0
    started = time.monotonic()
    while done < options.kills:
        lives += 1
        kills = min(KILLS_OF_A_LIFE, options.kills - done)
        database = server.create("%s%d" % (store, lives)) if server else "sqlite"
        place = os.path.join(folder, "%s-%d" % (store, lives))
        with empty_folder(place):
            life = Life(place, store, "%d %s %d" % (seed, store, lives), programs, options.processes, database)
            found = life.run(kills)
            failures = found.sessions.lost + found.sessions.resurrected + found.tokens.lost + found.tokens.resurrected
            if options.keep and (failures or found.surprises):
                shutil.copytree(place, os.path.join(tempfile.gettempdir(), "sessions-kept-%s-%d" % (store, lives)), symlinks=True,
                                dirs_exist_ok=True, ignore=shutil.ignore_patterns("bus"))
        counts.add(found)
        requests += life.requests
        # A life ends early if a server does not start any more.
        done += max(1, life.kills)
        print("  %s: %d kills" % (STORES[store], done), flush=True)
    return {
        "kills": done, "lives": lives, "requests": requests, "seconds": round(time.monotonic() - started, 1),
        "sessions": vars(counts.sessions), "tokens": vars(counts.tokens), "surprises": counts.surprises}


def total(row, name):
    """Returns a count of the sessions and tokens together."""
    return row["sessions"][name] + row["tokens"][name]


def table(results):
    """Returns the counts as text."""
    lines = ["%-28s %6s %13s %6s %9s" % ("store", "kills", "acknowledged", "lost", "returned")]
    for store, row in results.items():
        numbers = [total(row, name) for name in ("acknowledged", "lost", "resurrected")]
        lines.append("%-28s %6d %13s %6s %9s" % (STORES[store], row["kills"], *(format(number, ",") for number in numbers)))
    return "\n".join(lines)


def revision():
    """Returns the date and the revision of the checkout."""
    found = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=os.path.dirname(__file__), capture_output=True, text=True)
    return "%s, revision %s" % (time.strftime("%Y-%m-%d"), found.stdout.strip() or "unknown")


def failures(row):
    """Returns the number of lost and resurrected values, and of answers that no state of the store explains."""
    return len(row["surprises"]) + total(row, "lost") + total(row, "resurrected")


def run(options, programs):
    """Kills each store and reports the counts. Returns the exit status: 1 if LocalData lost or resurrected a value."""
    if options.kills < 1 or options.processes < 1:
        sys.exit("--kills and --processes must be at least 1.")
    stores = options.store or list(STORES)
    if options.database == "postgresql":
        stores = ["localdata"]
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    print("%s, seed %d: %d kills of each store, %d process%s, database %s" % (
        revision(), seed, options.kills, options.processes, "" if options.processes == 1 else "es", options.database), flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    results, server = {}, None
    with tempfile.TemporaryDirectory(prefix="localdata-sessions.", ignore_cleanup_errors=True) as folder:
        try:
            if options.database == "postgresql":
                server = PostgreSQL(os.path.join(folder, "server"))
                server.start()
            for store in stores:
                results[store] = kill_store(store, options, seed, programs, folder, server)
        finally:
            if server:
                server.stop()
    print("\n" + table(results))
    print("\nacknowledged: changes that a server has confirmed. lost: confirmed, and not there. returned: removed, and there again.")
    for store, row in results.items():
        for surprise in row["surprises"][:5]:
            print("%s: %s" % (STORES[store], surprise))
    report = {"seed": seed, "processes": options.processes, "database": options.database, "stores": results}
    if options.json:
        with open(options.json, "w") as file:
            json.dump(report, file, indent=2)
            file.write("\n")
    if options.picture:
        with open(options.picture, "w") as file:
            file.write(draw(report))
    lost = failures(results["localdata"]) if "localdata" in results else 0
    if lost:
        print("LocalData failed: %d values or answers." % lost)
    return 1 if lost else 0


if __name__ == "__main__":
    own = parser()
    own.add_argument("--server", required=True, help="the program sessions")
    own.add_argument("--python", default=sys.executable, help="a Python that has keyring")
    given = own.parse_args()
    sys.exit(run(given, {"server": given.server, "python": given.python}))
