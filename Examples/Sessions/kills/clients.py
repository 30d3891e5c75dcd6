"""Clients that change sessions and tokens, remember what was acknowledged, and compare it with what a server has."""

import http.client
import random
import socket
import threading
import time
from dataclasses import dataclass, field


@dataclass
class Count:
    """What was acknowledged of one kind, and what became of it."""

    acknowledged: int = 0
    lost: int = 0
    resurrected: int = 0

    def add(self, other):
        self.acknowledged += other.acknowledged
        self.lost += other.lost
        self.resurrected += other.resurrected


@dataclass
class Counts:
    """The counts of one store."""

    sessions: Count = field(default_factory=Count)
    tokens: Count = field(default_factory=Count)
    # Answers that no state of the store explains, such as 409 for a new id.
    surprises: list = field(default_factory=list)

    def add(self, other):
        self.sessions.add(other.sessions)
        self.tokens.add(other.tokens)
        self.surprises += other.surprises


def judge(count, possible, found):
    """Counts a value that is not one of the possible ones. None is an absent value.

    A value that was acknowledged and is absent or different is lost. A value that is there although its removal was
    acknowledged is resurrected.
    """
    if found in possible:
        return
    if any(value is not None for value in possible):
        count.lost += 1
    else:
        count.resurrected += 1


class Client:
    """One client. It is the only one that changes its names, so it knows their values.

    The value of a name is a tuple of possible values: one value once it was acknowledged, and two while a change is in
    flight or was interrupted by a kill.
    """

    def __init__(self, number, seed, ports, tokens):
        self.number, self.ports = number, ports
        self.random = random.Random("%s %d" % (seed, number))
        self.counts = Counts()
        self.values = {"sessions": {}, "tokens": {user: (token,) for user, token in tokens.items()}}
        # Users whose token the clients may change: users without a token at first, and later those of version 1.
        self.users = ["new-%d-%d" % (number, index) for index in range(5)]
        self.kept = list(tokens)
        self.present = []
        self.made = 0
        self.connections = {}
        self.is_unreadable = False

    def release(self, part):
        """Allows changes of some more of the tokens of version 1. The others must keep their values."""
        count = max(1, round(len(self.kept) * part)) if self.kept else 0
        for _ in range(count):
            self.users.append(self.kept.pop(self.random.randrange(len(self.kept))))

    # Requests

    def connection(self, port):
        """Returns an open connection. Throws OSError if there is none: then nothing was sent."""
        if port not in self.connections:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.connect()
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections[port] = connection
        return self.connections[port]

    def close(self, port=None):
        for known in [port] if port else list(self.connections):
            connection = self.connections.pop(known, None)
            if connection:
                connection.close()

    def request(self, port, method, path, body=None):
        """Sends a request. Returns the status and the text; None and "" if the connection ended before the answer."""
        connection = self.connection(port)
        try:
            connection.request(method, path, body=body)
            response = connection.getresponse()
            text = response.read().decode()
        except (OSError, http.client.HTTPException):
            self.close(port)
            return None, ""
        if response.will_close:
            self.close(port)
        return response.status, text

    # Changes

    def run(self, stop):
        """Changes sessions and tokens until the event is set."""
        self.close()
        while not stop.is_set():
            port = self.random.choice(self.ports)
            try:
                self.connection(port)
            except OSError:
                time.sleep(0.005)
                continue
            self.change(port)

    def change(self, port):
        choice = self.random.random()
        if choice < 0.45 or (choice < 0.65 and not self.present):
            self.made += 1
            self.send(port, "sessions", "s-%d-%d" % (self.number, self.made), "user-%08x" % self.random.getrandbits(32))
        elif choice < 0.65:
            index = self.random.randrange(len(self.present))
            self.present[index], self.present[-1] = self.present[-1], self.present[index]
            self.send(port, "sessions", self.present.pop(), None)
        else:
            user = self.random.choice(self.users)
            # The outcome of its last change is not known before the next comparison.
            if len(self.values["tokens"].get(user, (None,))) > 1:
                return
            self.send(port, "tokens", user, None if choice > 0.88 else "token-%016x" % self.random.getrandbits(64))

    def send(self, port, kind, name, value):
        """Sends a change: a new value, or None for a removal."""
        (former,) = self.values[kind].get(name, (None,))
        self.values[kind][name] = (former, value)
        method = "DELETE" if value is None else "PUT"
        status, _ = self.request(port, method, "/%s/%s" % (kind, name), value)
        if status == (201 if kind == "sessions" and value is not None else 204):
            self.values[kind][name] = (value,)
            getattr(self.counts, kind).acknowledged += 1
            if kind == "sessions" and value is not None:
                self.present.append(name)
        elif status is not None and status < 500:
            self.counts.surprises.append("%s of %s/%s was answered with %d" % (method, kind, name, status))

    # Comparison

    def compare(self, port):
        """Compares every name with the server, and counts the differences. Then takes the server's values as the new truth."""
        self.close()
        self.is_unreadable = False
        for kind, values in self.values.items():
            for name, possible in values.items():
                found = self.read(port, kind, name)
                judge(getattr(self.counts, kind), possible, found)
                values[name] = (found,)
        self.present = [name for name, (value,) in self.values["sessions"].items() if value is not None and name != "load"]

    def read(self, port, kind, name):
        """Returns the value of a name; None if it is absent. A server that cannot answer for 30 s has lost all values."""
        if self.is_unreadable:
            return None
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                status, text = self.request(port, "GET", "/%s/%s" % (kind, name))
            except OSError:
                status, text = None, ""
            if status == 200:
                return text
            if status == 404:
                return None
            time.sleep(0.02)
        self.is_unreadable = True
        self.counts.surprises.append("%s/%s and the names after it cannot be read" % (kind, name))
        return None

    def count_all_lost(self):
        """Counts every value as lost, because no server starts any more."""
        for kind, values in self.values.items():
            for name, possible in values.items():
                if None not in possible:
                    judge(getattr(self.counts, kind), possible, None)
                    values[name] = (None,)


def together(clients, work):
    """Runs work for each client in its own thread, and raises the first error."""
    errors = []

    def guarded(client):
        try:
            work(client)
        except BaseException as error:  # reported by the main thread
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(client,), daemon=True) for client in clients]
    for thread in threads:
        thread.start()

    def join():
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    return join
