"""A life: a store that begins with the tokens of version 1, and is killed several times."""

import contextlib
import os
import plistlib
import random
import shutil
import sys
import threading
import time

from .clients import Client, Counts, together
from .processes import Keyring, Load, Server, StartFailure, free_port

# The stores, and their names in the tables.
STORES = {
    "localdata": "LocalData", "userdefaults": "UserDefaults", "handwritten": "hand-written migration", "keyring": "Python keyring"}
APPLICATION = "org.example.sessions"
CLIENTS = 3
LEGACY = 20


class Life:
    """The processes and clients of one life.

    folder      an empty folder
    store       a name of STORES
    programs    the paths of the server and of the Python that has keyring
    processes   the number of servers
    database    the URI of an empty database; "sqlite" for the store of the machine
    """

    def __init__(self, folder, store, seed, programs, processes, database):
        self.folder, self.store = folder, store
        self.random = random.Random(seed)
        self.startup = 0.3
        self.kills = self.requests = 0
        self.daemon_turn = False
        self.keyring = None
        preferences = os.path.join(folder, "preferences")
        os.makedirs(preferences, 0o700)
        self.legacy = {"user-%d" % index: "legacy-%016x" % self.random.getrandbits(64) for index in range(LEGACY)}
        self.write_list(os.path.join(preferences, APPLICATION + ".plist"))
        ports = [free_port() for _ in range(processes)]
        self.servers = [self.make_server(port, preferences, programs, database) for port in ports]
        users = list(self.legacy)
        self.clients = [
            Client(number, seed, ports, {user: self.legacy[user] for user in users[number::CLIENTS]}) for number in range(CLIENTS)]

    def write_list(self, path):
        """Writes the list in which version 1 stored its tokens, as Foundation's UserDefaults writes it."""
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            plistlib.dump({"tokens": self.legacy}, file)

    def make_server(self, port, preferences, programs, database):
        log = os.path.join(self.folder, "server-%d.log" % port)
        if self.store == "keyring":
            if self.keyring is None:
                self.keyring = Keyring(os.path.join(self.folder, "keyring"))
            script = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "rivals", "keyring_server.py")
            path = os.path.join(preferences, APPLICATION + ".plist")
            return Server([programs["python"], script, str(port), path], self.keyring.environment, port, log)
        environment = {
            name: value for name, value in os.environ.items()
            if name not in ("STATE_DIRECTORY", "CREDENTIALS_DIRECTORY") and not name.startswith(("XDG_", "SESSIONS_"))}
        environment.update(
            # The list of UserDefaults is the file that LocalData reads.
            HOME=self.folder, XDG_CONFIG_HOME=preferences, LOG_LEVEL="warning", SESSIONS_ROOT=self.folder, SESSIONS_PORT=str(port),
            SESSIONS_STORE=self.store, SESSIONS_DATABASE=database)
        return Server([programs["server"]], environment, port, log)

    # One kill after another

    def run(self, kills):
        """Kills a server several times. Returns the counts."""
        try:
            if self.keyring:
                self.keyring.start()
            for server in self.servers:
                server.start()
            self.kill_repeatedly(kills)
        except StartFailure as failure:
            print("  %s: %s" % (STORES[self.store], failure), file=sys.stderr)
            for client in self.clients:
                client.count_all_lost()
                client.counts.surprises.append(str(failure))
        finally:
            self.stop()
        counts = Counts()
        for client in self.clients:
            counts.add(client.counts)
        return counts

    def kill_repeatedly(self, kills):
        victim, during_launch = self.random.choice(self.servers), True
        for number in range(1, kills + 1):
            self.strike(victim, during_launch)
            self.kills = number
            self.relaunch(victim)
            # Some kills hit the launch after a kill, before anything was compared.
            during_launch = number < kills and self.random.random() < 0.2
            if during_launch:
                continue
            for server in self.servers:
                seconds = server.wait()
                if server is victim:
                    self.startup = seconds
            together(self.clients, lambda client: client.compare(victim.port))()
            if "load" not in self.clients[0].values["sessions"]:
                self.clients[0].send(victim.port, "sessions", "load", "load")
                with contextlib.suppress(ValueError):
                    self.clients[0].present.remove("load")
            for client in self.clients:
                client.release(1 / max(1, kills - number))
            victim = self.random.choice(self.servers)

    def strike(self, victim, during_launch):
        """Lets the clients work, and kills a server at a random moment."""
        load = None if during_launch else Load("http://127.0.0.1:%d/sessions/load" % victim.port)
        stop = threading.Event()
        join = together(self.clients, lambda client: client.run(stop))
        time.sleep(self.random.uniform(0, 1.5 * self.startup) if during_launch else self.random.uniform(0.05, 0.6))
        if self.keyring and self.daemon_turn:
            self.keyring.kill_daemon()
        victim.kill()
        stop.set()
        join()
        if load:
            self.requests += load.stop()

    def relaunch(self, victim):
        if self.keyring:
            if self.daemon_turn:
                self.keyring.start_daemon()
            self.daemon_turn = not self.daemon_turn
        victim.start()

    def stop(self):
        for client in self.clients:
            client.close()
        for server in self.servers:
            server.kill()
        if self.keyring:
            self.keyring.stop()


@contextlib.contextmanager
def empty_folder(path):
    """Creates a folder, and removes it at the end."""
    os.makedirs(path, 0o700)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
