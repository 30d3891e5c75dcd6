"""A load for rounds.py without LocalData, which measures what the settings of the server do alone.

usage: plain.py write URI LEDGER NAME | plain.py read URI LEDGER CONTENT

`write` sets, replaces and removes values with one statement each, until its standard input ends. It notes each answer in LEDGER before it
goes on: see rounds.py for the format. `read` reads all keys of LEDGER, and writes a line for each into CONTENT. FailoverLoad.swift does the
same with LocalData.
"""

import os
import random
import select
import sys
import threading
import time

import psycopg2
import psycopg2.extensions
import psycopg2.extras

TASKS = 8
#: How long a call may take, in seconds. Half of the tasks are impatient.
DEADLINES = [3, 20]
PAUSE = 0.01
LOCAL = threading.local()


def wait(connection):
    """Waits for the server until the deadline of the thread."""
    while (state := connection.poll()) != psycopg2.extensions.POLL_OK:
        left = LOCAL.end - time.monotonic()
        readable = [connection] if state == psycopg2.extensions.POLL_READ else []
        writable = [connection] if state == psycopg2.extensions.POLL_WRITE else []
        if left <= 0 or not any(select.select(readable, writable, [], left)):
            # psycopg2 then closes the connection.
            raise psycopg2.OperationalError("The deadline has passed.")


class Ledger:
    """A file of answers. A line is durable before the next call of its task."""

    def __init__(self, path):
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(self, *words):
        os.write(self.file, f"{time.monotonic_ns() // 1_000_000} {' '.join(words)}\n".encode())
        if words[0] == "done" and words[1] != "read":
            os.fdatasync(self.file)


class Client:
    """A connection that is made when it is needed, and made again after it was lost."""

    def __init__(self, uri, deadline):
        self.uri, self.deadline, self.connection = uri, deadline, None

    def run(self, text, values):
        """Runs a statement. Returns "done", "failed" (nothing was changed) or "unknown", and the rows."""
        LOCAL.end = time.monotonic() + self.deadline
        is_sent = False
        try:
            if self.connection is None or self.connection.closed:
                self.connection = psycopg2.connect(self.uri)
                self.connection.autocommit = True
            with self.connection.cursor() as cursor:
                is_sent = True
                cursor.execute(text, values)
                return "done", cursor.fetchall() if cursor.description else []
        except psycopg2.Error as error:
            # The server answers with a state unless the connection was lost. Only class 57 leaves a commit open.
            is_refused = error.pgcode is not None and not error.pgcode.startswith("57")
            if self.connection is not None:
                self.connection.close()
            if not is_sent:
                time.sleep(0.05)
            return "unknown" if is_sent and not is_refused else "failed", []


def write(uri, path, name):
    ledger, is_over = Ledger(path), threading.Event()

    def task(number):
        client, dice, count = Client(uri, DEADLINES[number % 2]), random.Random(f"{name} {number}"), 0

        def change(verb, index, value):
            key = f"{name}.{number}.{index}"
            if verb == "set":
                text, values = "INSERT INTO plain VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, value)
            else:
                text, values = "DELETE FROM plain WHERE key = %s", (key,)
            ledger.note(client.run(text, values)[0], verb, key, value)

        while not is_over.is_set():
            change("set", count, f"first-{count}")
            if count % 4 == 3:
                change("set", count - 1, f"second-{count}")
                change("remove", count - 2, "absent")
            earlier = dice.randrange(count + 1)
            key = f"{name}.{number}.{earlier}"
            outcome, rows = client.run("SELECT value FROM plain WHERE key = %s", (key,))
            ledger.note(outcome, "read", key, rows[0][0] if rows else "absent")
            count += 1
            # The servers share the machine with the load.
            time.sleep(PAUSE)

    threads = [threading.Thread(target=task, args=[number]) for number in range(TASKS)]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    is_over.set()
    for thread in threads:
        thread.join()


def read(uri, path, content):
    client = Client(uri, 30)
    with open(path) as lines:
        keys = sorted({line.split()[3] for line in lines})
    with open(content, "w") as file:
        for start in range(0, len(keys), 500):
            some = keys[start:start + 500]
            outcome, rows = client.run("SELECT key, value FROM plain WHERE key = ANY (%s)", (some,))
            if outcome != "done":
                sys.exit("The values could not be read.")
            found = dict(rows)
            file.writelines(f"{key} {found.get(key, 'absent')}\n" for key in some)


def main(words):
    if len(words) != 4 or words[0] not in ("write", "read"):
        sys.exit(__doc__)
    psycopg2.extensions.set_wait_callback(wait)
    verb, uri, path, last = words
    if verb == "write":
        client = Client(uri, 30)
        if client.run("CREATE TABLE IF NOT EXISTS plain (key text PRIMARY KEY, value text NOT NULL)", None)[0] != "done":
            sys.exit("The table could not be made.")
        write(uri, path, last)
    else:
        read(uri, path, last)


if __name__ == "__main__":
    main(sys.argv[1:])
