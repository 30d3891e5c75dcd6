#!/usr/bin/env python3
"""Stores and reads JSON values in SQLCipher 4, as a peer of the benchmarks in a separate process. Scripts/bench installs the wheel.

usage: Scripts/benchmarks/sqlcipher.py FOLDER ROWS JSON

Fills a sealed and a plain database with the rows, and prints `done`. Then it reads commands from its standard input, and prints `done`
after each: `get` or `set`, `sealed` or `plain`, and how many values. Each get decodes the JSON, and each set encodes it in a durable
transaction. Both databases are of the same library, so their difference is the cost of the cipher.
"""
import json, os, secrets, sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / ".build/sqlcipher"))
from sqlcipher3 import dbapi2 as sqlcipher


def opened(path, key):
    database = sqlcipher.connect(path, isolation_level=None)
    if key:
        # A raw key: no passphrase is stretched.
        database.execute(f"PRAGMA key = \"x'{key}'\"")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE note (name TEXT PRIMARY KEY, value BLOB NOT NULL)")
    return database


def put(database, index, value):
    database.execute("INSERT OR REPLACE INTO note VALUES (?, ?)", (f"note-{index}", json.dumps(value).encode()))


def main(folder, rows, value):
    rows, value = int(rows), json.loads(value)
    os.makedirs(folder, exist_ok=True)
    databases = {"sealed": opened(f"{folder}/sealed.db", secrets.token_hex(32)), "plain": opened(f"{folder}/plain.db", None)}
    if not databases["sealed"].execute("PRAGMA cipher_version").fetchone():
        sys.exit("The library has no cipher.")
    for database in databases.values():
        database.execute("BEGIN")
        for index in range(rows): put(database, index, value)
        database.execute("COMMIT")
    print("done", flush=True)
    for line in sys.stdin:
        operation, kind, count = line.split()
        database = databases[kind]
        for index in range(int(count)):
            if operation == "set":
                put(database, index % rows, value)
            else:
                json.loads(database.execute("SELECT value FROM note WHERE name = ?", (f"note-{index * 7919 % rows}",)).fetchone()[0])
        print("done", flush=True)


if len(sys.argv) != 4:
    sys.exit(__doc__)
main(*sys.argv[1:])
