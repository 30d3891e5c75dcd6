"""A PostgreSQL cluster of three nodes for Proof/Failover/rounds.py: each node has Patroni, PostgreSQL and a member of etcd.

usage: cluster.py FOLDER start [SETTING] | status | kill NODE | crash NODE | cut NODE | unplug NODE | heal NODE | pause NODE |
                         resume NODE | boot NODE | switchover | uri | stop

FOLDER is created by `start`, and removed by `stop`. As root, each node has a network namespace, and the servers run as user 65534. Other
users, and machines that refuse namespaces, get loopback addresses, where `cut` and `unplug` are not possible.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

NODES = ["n1", "n2", "n3"]
USER = 65534
POSTGRES_PORT, REST_PORT, ETCD_PORT, PEER_PORT = 25432, 28008, 22379, 22380

SYNCHRONOUS = {"synchronous_mode": True, "synchronous_mode_strict": True}
#: A leader that does not renew its lease within `ttl` seconds loses it. Patroni requires loop_wait + 2 * retry_timeout <= ttl.
QUICK = {"ttl": 10, "loop_wait": 1, "retry_timeout": 3}
DEFAULT = {"ttl": 30, "loop_wait": 10, "retry_timeout": 10}
#: The settings of Patroni, and `synchronous_commit` of the server. With all but `etcd3`, Patroni uses version 2 of etcd's interface: with
#: version 3, Patroni 3.0.2 of Debian 12 takes the lease back from another node (github.com/patroni/patroni/pull/2689).
SETTINGS = {
    "strict": ({**SYNCHRONOUS, **QUICK}, "on"),
    "patient": ({**SYNCHRONOUS, **DEFAULT}, "on"),
    "async": ({"synchronous_mode": False, **QUICK}, "on"),
    "local": ({**SYNCHRONOUS, **QUICK}, "local"),
    "off": ({**SYNCHRONOUS, **QUICK}, "off"),
    "etcd3": ({**SYNCHRONOUS, **QUICK}, "on"),
}


def until(condition, limit, what):
    """Polls until a condition holds, and returns its value. Raises TimeoutError after `limit` seconds."""
    end = time.monotonic() + limit
    while True:
        if value := condition():
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {limit} s")
        time.sleep(0.1)


def run(*words, check=True, **options):
    """Runs a program, and returns what it printed."""
    result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/", **options)
    if check and result.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {result.stderr.strip()}")
    return result.stdout


class Cluster:
    """The nodes in a folder. An object of this class has no state, so another process can use the same folder."""

    def __init__(self, folder):
        self.folder = Path(folder)
        digest = hashlib.sha256(str(self.folder).encode()).hexdigest()
        #: The names of interfaces and namespaces begin with this.
        self.prefix = f"ldf{digest[:4]}"
        self.subnet = f"10.88.{int(digest[4:6], 16)}"
        self.is_root = os.geteuid() == 0
        versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
        if not versions or not all(shutil.which(program) for program in ("patroni", "etcd", "openssl")):
            sys.exit("Install: apt-get install --no-install-recommends postgresql patroni etcd-server openssl iproute2 iptables")
        self.programs = versions[-1].parent

    # Addresses

    @property
    def has_namespaces(self):
        return (self.folder / "namespaces").exists()

    @property
    def setting(self):
        return (self.folder / "setting").read_text()

    def address(self, node):
        number = NODES.index(node) + 1
        return f"{self.subnet}.{10 + number}" if self.has_namespaces else f"127.0.1.{number}"

    def namespace(self, node):
        return f"{self.prefix}-{node}"

    def uri(self, user="app", order=NODES):
        """The connection string of a client, which tries the nodes in an order."""
        hosts = ",".join(f"{node}:{POSTGRES_PORT}" for node in order)
        return (f"postgresql://{user}@{hosts}/postgres?hostaddr={','.join(map(self.address, order))}&target_session_attrs=read-write"
                f"&sslmode=verify-full&sslrootcert={self.folder}/tls/root.crt")

    def inside(self, node, *words):
        """Returns the command that runs a program on a node, as the user of the servers."""
        enter = ["ip", "netns", "exec", self.namespace(node)] if self.has_namespaces else []
        return enter + (["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if self.is_root else []) + list(words)

    # Starting and ending

    def start(self, setting="strict", limit=120):
        """Creates the cluster, and waits until it has a primary and two standbys."""
        self.folder.mkdir(mode=0o755, parents=True)
        (self.folder / "setting").write_text(setting)
        self._make_network()
        self._make_certificates()
        for node in NODES:
            (self.folder / node).mkdir()
            self._write_configuration(node)
            for path in (self.folder / node, *(self.folder / node).iterdir()):
                self._give(path)
        for node in NODES:
            self.boot(node)
        self.wait_healthy(limit)
        self.sql(self.primary(), "CREATE ROLE app LOGIN; GRANT CREATE ON DATABASE postgres TO app; GRANT CREATE ON SCHEMA public TO app")

    def boot(self, node):
        """Starts etcd and Patroni of a node, which starts PostgreSQL."""
        home = self.folder / node
        own, name = self.address(node), f"{self.prefix}{node}"
        members = ",".join(f"{self.prefix}{other}=http://{self.address(other)}:{PEER_PORT}" for other in NODES)
        self._spawn(node, "etcd", [
            "etcd", "--name", name, "--data-dir", f"{home}/etcd", "--initial-cluster", members, "--initial-cluster-token", self.prefix,
            "--listen-client-urls", f"http://{own}:{ETCD_PORT}", "--advertise-client-urls", f"http://{own}:{ETCD_PORT}",
            "--listen-peer-urls", f"http://{own}:{PEER_PORT}", "--initial-advertise-peer-urls", f"http://{own}:{PEER_PORT}",
            # Elections must not depend on a busy machine, and must be faster than the lease of the primary. A member that was cut off
            # must not cause one when it returns.
            "--heartbeat-interval", "200", "--election-timeout", "2000", "--pre-vote", "--enable-v2",
            "--logger", "zap", "--log-level", "error",
        ])
        self._spawn(node, "patroni", ["patroni", f"{home}/patroni.yml"])

    def stop(self):
        """Kills all processes and removes the network and the folder."""
        for node in NODES:
            until(lambda: not self._kill(node), 20, f"the processes of {node} end")
        for node in NODES if self.has_namespaces else []:
            run("ip", "netns", "del", self.namespace(node), check=False)
        if self.has_namespaces:
            run("ip", "link", "del", self.prefix, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _spawn(self, node, name, words):
        with open(self.folder / node / f"{name}.log", "ab") as log:
            process = subprocess.Popen(
                self.inside(node, *words), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True,
                env={"PATH": f"{self.programs}:{os.environ['PATH']}", "HOME": str(self.folder / node), "LC_ALL": "C.UTF-8"})
        (self.folder / node / f"{name}.pid").write_text(str(process.pid))

    def _give(self, path):
        if self.is_root:
            os.chown(path, USER, USER)

    def _make_network(self):
        if not self.is_root or not shutil.which("ip") or subprocess.run(
                ["ip", "link", "add", self.prefix, "type", "bridge"], stderr=subprocess.DEVNULL).returncode != 0:
            return
        try:
            run("ip", "link", "set", "lo", "up")
            run("ip", "addr", "add", f"{self.subnet}.1/24", "dev", self.prefix)
            run("ip", "link", "set", self.prefix, "up")
            for number, node in enumerate(NODES, 11):
                name, space = f"{self.prefix}-{number}", self.namespace(node)
                run("ip", "netns", "add", space)
                run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", space)
                run("ip", "link", "set", name, "master", self.prefix, "up")
                run("ip", "-n", space, "addr", "add", f"{self.subnet}.{number}/24", "dev", "eth0")
                for interface in ("eth0", "lo"):
                    run("ip", "-n", space, "link", "set", interface, "up")
        except RuntimeError:
            for node in NODES:
                run("ip", "netns", "del", self.namespace(node), check=False)
            run("ip", "link", "del", self.prefix, check=False)
            return
        (self.folder / "namespaces").touch()

    def _make_certificates(self):
        """Makes an issuer, and one certificate for the names of all nodes."""
        tls = self.folder / "tls"
        tls.mkdir()
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"]
        run("openssl", "req", "-x509", *key, "-subj", "/CN=failover", "-keyout", f"{tls}/root.key", "-out", f"{tls}/root.crt")
        names = ",".join(f"DNS:{node}" for node in NODES)
        run("openssl", "req", "-x509", *key, "-subj", "/CN=node", "-addext", f"subjectAltName={names}", "-CA", f"{tls}/root.crt",
            "-CAkey", f"{tls}/root.key", "-keyout", f"{tls}/node.key", "-out", f"{tls}/node.crt")
        self._give(tls / "node.key")

    def _write_configuration(self, node):
        patroni, commit = SETTINGS[self.setting]
        home, own = self.folder / node, self.address(node)
        # Connections between loopback addresses come from 127.0.0.1.
        networks = [f"{self.address(other)}/32" for other in NODES] if self.has_namespaces else ["127.0.0.0/8"]
        parameters = {
            "synchronous_commit": commit,
            "ssl": "on", "ssl_cert_file": f"{self.folder}/tls/node.crt", "ssl_key_file": f"{self.folder}/tls/node.key",
            # A commit that waits for a standby keeps its connection, even if the client has given up.
            "max_connections": 300,
            "shared_buffers": "32MB", "wal_keep_size": "256MB", "max_wal_size": "512MB", "wal_retrieve_retry_interval": "1s",
            "wal_sender_timeout": "5s", "wal_receiver_timeout": "5s",
        }
        text = {
            "scope": "failover", "name": node,
            "log": {"level": "INFO"},
            "restapi": {"listen": f"{own}:{REST_PORT}", "connect_address": f"{own}:{REST_PORT}"},
            "etcd3" if self.setting == "etcd3" else "etcd": {"hosts": [f"{self.address(other)}:{ETCD_PORT}" for other in NODES]},
            "bootstrap": {
                "dcs": {
                    **patroni, "maximum_lag_on_failover": 1_048_576,
                    "postgresql": {
                        "use_pg_rewind": True, "use_slots": True, "remove_data_directory_on_rewind_failure": True,
                        "remove_data_directory_on_diverged_timelines": True, "parameters": parameters,
                    },
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums"],
            },
            "postgresql": {
                "listen": f"{own}:{POSTGRES_PORT}", "connect_address": f"{own}:{POSTGRES_PORT}", "use_unix_socket": True,
                "data_dir": f"{home}/data", "bin_dir": str(self.programs), "pgpass": f"{home}/pgpass",
                "parameters": {"unix_socket_directories": str(home)},
                "authentication": {"superuser": {"username": "owner"}, "replication": {"username": "standby"}},
                # The nodes trust each other, and clients need TLS.
                "pg_hba": ["local all owner trust"] + [
                    f"host {what} {network} trust" for network in networks for what in ("all owner", "replication standby")
                ] + ["hostssl all app all trust"],
            },
            "watchdog": {"mode": "off"},
        }
        # YAML includes JSON.
        (home / "patroni.yml").write_text(json.dumps(text, indent=1))

    # Reports of the nodes

    def rest(self, node, path="/patroni", body=None, limit=2):
        """Asks Patroni of a node. Returns nil if it does not answer."""
        request = urllib.request.Request(
            f"http://{self.address(node)}:{REST_PORT}{path}", data=body and json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=limit) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            text = error.read().decode()
        except OSError:
            return None
        try:
            return json.loads(text)
        except ValueError:
            return {"text": text}

    def status(self):
        """Returns what Patroni reports for each node: role, state, timeline, and the standbys that stream from it."""
        return {node: self.rest(node) for node in NODES}

    def primary(self, other_than=None):
        """Returns the node that runs as the primary with the latest timeline; nil if there is none."""
        found = [
            (state.get("timeline", 0), node) for node, state in self.status().items()
            if state and state.get("role") in ("master", "primary") and state.get("state") == "running" and node != other_than]
        return max(found)[1] if found else None

    def is_healthy(self):
        """Returns whether there is one primary, and both standbys stream from it; one of them synchronously, if it must."""
        states = self.status()
        if not all(state and state.get("state") == "running" for state in states.values()):
            return False
        leaders = [state for state in states.values() if state["role"] in ("master", "primary")]
        if len(leaders) != 1 or len({state.get("timeline") for state in states.values()}) != 1:
            return False
        streams = [stream for stream in leaders[0].get("replication", []) if stream["state"] == "streaming"]
        # Only a standby that etcd names may be promoted. Until Patroni has written the name, commits wait for any standby.
        return len(streams) == 2 and (not self.is_synchronous or self.synchronous_standby() is not None)

    def wait_healthy(self, limit):
        until(self.is_healthy, limit, "a primary with two standbys")

    @property
    def is_synchronous(self):
        return SETTINGS[self.setting][0]["synchronous_mode"]

    def synchronous_standby(self):
        """Returns the standby that may be promoted; nil if there is none."""
        members = (self.rest(self.primary() or NODES[0], "/cluster") or {}).get("members", [])
        return next((member["name"] for member in members if member["role"] == "sync_standby"), None)

    def save_logs(self, folder):
        """Copies the logs of all nodes."""
        for node in NODES:
            for path in (self.folder / node).glob("*.log"):
                shutil.copy(path, Path(folder) / f"{node}-{path.name}")

    def sql(self, node, text, check=True, limit=10):
        """Runs SQL as the owner, through the socket of a node."""
        words = [f"{self.programs}/psql", "-X", "-q", "-A", "-t", "-h", f"{self.folder}/{node}", "-p", str(POSTGRES_PORT), "-U", "owner"]
        return run("timeout", str(limit), *words, "-d", "postgres", "-c", text, check=check).strip()

    # Processes

    def processes(self, node, only=None):
        """Returns the processes of a node; those of one program if `only` is `postgres`, `patroni` or `etcd`."""
        if self.has_namespaces:
            found = {int(text) for text in run("ip", "netns", "pids", self.namespace(node), check=False).split()}
        else:
            found = self._descendants(node)
        names = {process: self._program(process) for process in found}
        # A process without a program has ended, or was not yet started.
        return {process for process, name in names.items() if name and (only is None or name == only)}

    def _program(self, process):
        try:
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
            name = Path(os.readlink(f"/proc/{process}/exe")).name
        except OSError:
            return None
        return "patroni" if any(word.endswith(b"/patroni") for word in words[:3]) else name

    def _descendants(self, node):
        """Returns the processes that a node has started, from the files with their numbers."""
        parents = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
        files = [self.folder / node / name for name in ("etcd.pid", "patroni.pid", "data/postmaster.pid")]
        roots = [int(file.read_text().split()[0]) for file in files if file.exists()]
        found = {root for root in roots if str(self.folder) in self._words(root)}
        while more := {child for child, parent in parents.items() if parent in found} - found:
            found |= more
        return found

    @staticmethod
    def _words(process):
        try:
            return Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            return ""

    def signal(self, node, number, only=None):
        """Sends a signal to the processes of a node, and returns them."""
        found = self.processes(node, only)
        for process in found:
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass
        return found

    def _kill(self, node, only=None):
        # Stopped processes make no new ones.
        self.signal(node, signal.SIGSTOP, only)
        return self.signal(node, signal.SIGKILL, only)

    # Failures

    def kill(self, node):
        """Kills all processes of a node."""
        until(lambda: not self._kill(node), 20, f"the processes of {node} end")

    def crash(self, node):
        """Kills all processes of PostgreSQL on a node. Patroni goes on."""
        self._kill(node, "postgres")

    def crash_backend(self, node):
        """Kills one process of PostgreSQL that serves a client. PostgreSQL then restarts itself, without Patroni."""
        backend = self.sql(node, "SELECT pid FROM pg_stat_activity WHERE usename = 'app' LIMIT 1")
        os.kill(int(backend), signal.SIGKILL)

    def pause(self, node):
        """Stops all processes of a node, as a virtual machine is stopped that is moved."""
        self.signal(node, signal.SIGSTOP)

    def resume(self, node, only=None):
        self.signal(node, signal.SIGCONT, only)

    def cut(self, node, port=None):
        """Drops all packets between a node and the other nodes, or those of one port. Clients still reach it."""
        ports = [[]] if port is None else [["-p", "tcp", "--sport", str(port)], ["-p", "tcp", "--dport", str(port)]]
        # Block the outgoing packets first: a standby must not get changes whose acknowledgement is dropped.
        for chain, peer in [("OUTPUT", "-d"), ("INPUT", "-s")]:
            for words in ports:
                for other in NODES:
                    if other != node:
                        self._filter(node, "-A", chain, peer, self.address(other), *words, "-j", "DROP")

    def unplug(self, node):
        """Drops all packets from and to a node, as if it had no power."""
        for direction in ("INPUT", "OUTPUT"):
            self._filter(node, "-A", direction, "!", "-i" if direction == "INPUT" else "-o", "lo", "-j", "DROP")

    def heal(self, node):
        """Undoes `cut` and `unplug`."""
        if self.has_namespaces:
            self._filter(node, "-F")

    def _filter(self, node, *words):
        if not self.has_namespaces:
            raise RuntimeError("Nodes on loopback addresses cannot be partitioned.")
        run("ip", "netns", "exec", self.namespace(node), "iptables", "-w", *words)

    def switchover(self):
        """Asks the primary to give its role to another node. Returns the answer of Patroni."""
        primary = self.primary()
        return self.rest(primary, "/switchover", {"leader": primary}, limit=60)


def main(words):
    if len(words) < 2:
        sys.exit(__doc__)
    cluster, command, rest = Cluster(words[0]), words[1], words[2:]
    if command == "start":
        cluster.start(*rest)
    if command in ("start", "status"):
        for node, state in cluster.status().items():
            print(node, json.dumps(state))
    elif command == "uri":
        print(cluster.uri())
    elif command == "switchover":
        print(cluster.switchover())
    elif command in ("kill", "crash", "cut", "unplug", "heal", "pause", "resume", "boot"):
        getattr(cluster, command)(rest[0])
    elif command == "stop":
        cluster.stop()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
