#!/usr/bin/env python3
"""Kills the session server again and again, and counts what each store has lost. Scripts/demo-sessions builds what it needs.

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
        prog="Scripts/demo-sessions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
        print("  %-22s %4d kills, %6d sessions and %5d tokens acknowledged, %3d lost, %3d resurrected" % (
            STORES[store], done, counts.sessions.acknowledged, counts.tokens.acknowledged, counts.sessions.lost + counts.tokens.lost,
            counts.sessions.resurrected + counts.tokens.resurrected), flush=True)
    return {
        "kills": done, "lives": lives, "requests": requests, "seconds": round(time.monotonic() - started, 1),
        "sessions": vars(counts.sessions), "tokens": vars(counts.tokens), "surprises": counts.surprises}


def table(results):
    """Returns the counts as text."""
    lines = ["%-22s %6s  %28s  %28s" % ("", "", "sessions", "tokens"),
             "%-22s %6s  %12s %5s %9s  %12s %5s %9s" % (
                 "store", "kills", "acknowledged", "lost", "returned", "acknowledged", "lost", "returned")]
    for store, row in results.items():
        numbers = [row[kind][name] for kind in ("sessions", "tokens") for name in ("acknowledged", "lost", "resurrected")]
        lines.append("%-22s %6d  %12d %5d %9d  %12d %5d %9d" % (STORES[store], row["kills"], *numbers))
    return "\n".join(lines)


def failures(row):
    """Returns the number of lost and resurrected values, and of answers that no state of the store explains."""
    return len(row["surprises"]) + sum(row[kind][name] for kind in ("sessions", "tokens") for name in ("lost", "resurrected"))


def run(options, programs):
    """Kills each store and reports the counts. Returns the exit status: 1 if LocalData lost or resurrected a value."""
    if options.kills < 1 or options.processes < 1:
        sys.exit("--kills and --processes must be at least 1.")
    stores = options.store or list(STORES)
    if options.database == "postgresql":
        stores = ["localdata"]
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    print("Seed %d, %d kills of each store, %d process%s, database %s" % (
        seed, options.kills, options.processes, "" if options.processes == 1 else "es", options.database), flush=True)
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
    print("\nwrk has sent %d requests." % sum(row["requests"] for row in results.values()))
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
