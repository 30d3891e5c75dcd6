"""Kills and partitions the primary of a cluster under load, and counts what was lost. Scripts/prove patroni runs this.

usage: rounds.py [--rounds N] [--setting SETTING] [--load PROGRAM] [--kinds KIND,…] [--results FILE] [--folder FOLDER]

The kinds of a round follow each other:
  crash       SIGKILL for all processes of PostgreSQL on the primary; Patroni lives
  node        SIGKILL for all processes of the primary's node
  cut         no packets between the primary and the other nodes; clients still reach the primary
  pause       SIGSTOP for all processes of the primary's node, until another primary writes; PostgreSQL is continued before Patroni
  switchover  planned, through Patroni
Only if named:
  unplug      no packets from and to the primary's node, as if it had no power
  relapse     replication stalls, a process of the primary is killed so that PostgreSQL restarts itself, and the node is killed as soon as
              a write is acknowledged; with the setting `patient`, because Patroni must not notice the stall

--setting is one of:
  strict      synchronous replication, which never becomes asynchronous (`synchronous_mode_strict`)
  patient     the same, and the times of Patroni are its defaults instead of quick ones
  async       asynchronous replication; a standby may be promoted if it lacks at most 1 MB (`maximum_lag_on_failover`)
  local, off  as strict, with this `synchronous_commit`
  etcd3       as strict, with version 3 of etcd's interface, in which Patroni before 3.0.3 has a mistake

--load is the program that writes and reads: `.build/release/Prove failover-load`; without it, plain.py, which does not use LocalData.
--results keeps a line for each round. An interrupted run continues after the last round in this file.
--folder keeps the ledgers.

The load writes a ledger, one line for each call: TIME OUTCOME VERB KEY VALUE. TIME is in milliseconds of the monotonic clock. OUTCOME is
`done`, `failed` (nothing was changed), `unknown`, or `noticed` (nothing was changed, because LocalData has found that acknowledged changes
are lost; the load accepts that and goes on). VERB is `set`, `remove` or `read`. A removed or absent VALUE is `absent`. One task uses
a key, so the order of the lines is the order of the calls. After the round, the load reads all keys, and `judge` compares.
"""

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from cluster import NODES, POSTGRES_PORT, SETTINGS, Cluster, until

HERE = Path(__file__).resolve().parent
KINDS = ["crash", "node", "cut", "pause", "switchover"]
EXTRA = ["unplug", "relapse"]
#: How many calls must succeed before, after and between the steps of a round.
ENOUGH = 200


# The judge


def judge(ledger, content):
    """Compares the calls of a ledger with the values at its end. Returns the counts.

    The last acknowledged change of a key decides: its value, or that of a later change with an unknown outcome, must be there.
    """
    counts, states, last, gap = Counter(), {}, None, 0
    for line in ledger:
        when, outcome, verb, key, value = line.split()
        accepted, unknown, refused, older = states.setdefault(key, (["absent"], [], set(), set()))
        if verb == "read":
            if outcome == "done":
                counts["reads"] += 1
                counts["wrong reads"] += value not in accepted + unknown
            counts["noticed"] += outcome == "noticed"
            continue
        if outcome == "done":
            counts["acknowledged"] += 1
            older.update(accepted + unknown)
            accepted[:], unknown[:] = [value], []
            gap = max(gap, int(when) - last) if last else 0
            last = int(when)
        elif outcome == "unknown":
            counts["unknown"] += 1
            unknown.append(value)
        else:
            counts[outcome] += 1
            refused.add(value)
    found = dict(line.split() for line in content)
    for key, (accepted, unknown, refused, older) in states.items():
        value = found[key]
        counts["unknown applied"] += value in unknown and value not in accepted
        if value in accepted + unknown:
            continue
        if value in refused - older:
            counts["refused but applied"] += 1
        elif value != "absent" and value not in older:
            counts["made by no call"] += 1
        elif accepted == ["absent"]:
            counts["removed but returned"] += 1
        else:
            counts["lost"] += 1
    counts["pause"] = gap
    return counts


WRONG = ["lost", "removed but returned", "refused but applied", "made by no call"]


def summary(counts):
    return (
        f"{counts['acknowledged']} acknowledged writes, {counts['lost']} lost, {counts['removed but returned']} removed values returned, "
        f"{counts['unknown']} without an answer ({counts['unknown applied']} of them applied), "
        f"{counts['refused but applied'] + counts['made by no call']} wrong answers, "
        f"{counts['wrong reads']} reads of lost or older values, {counts['noticed']} calls that noticed a loss")


# A round


class Load:
    """The program that writes. It ends when its standard input does."""

    def __init__(self, program, uri, folder, name):
        self.program, self.uri, self.name = program, uri, name
        self.ledger, self.content = folder / f"{name}.ledger", folder / f"{name}.content"
        self.process = subprocess.Popen(
            [*program, "write", uri, str(self.ledger), name], stdin=subprocess.PIPE, start_new_session=True)
        self.offset, self.done = 0, 0

    def count(self):
        """Returns how many changes were acknowledged so far."""
        if self.process.poll() is not None:
            raise RuntimeError(f"The load ended with {self.process.returncode}.")
        if self.ledger.exists():
            with open(self.ledger, "rb") as file:
                file.seek(self.offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self.offset += len(line)
                    self.done += b" done set " in line or b" done remove " in line
        return self.done

    def wait(self, more, limit, what):
        goal = self.count() + more
        until(lambda: self.count() >= goal, limit, what)

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=90)

    def judge(self):
        subprocess.run([*self.program, "read", self.uri, str(self.ledger), str(self.content)], check=True, timeout=300)
        with open(self.ledger) as ledger, open(self.content) as content:
            return judge(ledger, content)

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Round:
    """One failure of the primary."""

    def __init__(self, cluster, kind, load):
        self.cluster, self.kind, self.load = cluster, kind, load
        self.primary = cluster.primary()
        self.timeline = cluster.rest(self.primary)["timeline"]
        self.begin = time.monotonic()
        #: The seconds until another node, or the same one again, was the primary of a later timeline.
        self.failover = None
        self.remarks = []

    def wait_primary(self, limit=45, other=False):
        """Waits for a primary after the failure."""

        def is_there():
            node = self.cluster.primary(other_than=self.primary if other else None)
            state = node and self.cluster.rest(node)
            return state and state.get("timeline", 0) > self.timeline

        until(is_there, limit, "a new primary")
        self.failover = time.monotonic() - self.begin

    def wait_writes(self, limit=12):
        """Waits until clients write again, unless they wait for the failed node."""
        try:
            self.load.wait(ENOUGH, limit, "writes after the failure")
        except TimeoutError:
            self.remarks.append(f"no {ENOUGH} writes within {limit} s of the new primary")

    def fail(self):
        cluster, primary = self.cluster, self.primary
        if self.kind == "crash":
            cluster.crash(primary)
            self.wait_primary()
            self.wait_writes()
        elif self.kind == "node":
            cluster.kill(primary)
            self.wait_primary(other=True)
            self.wait_writes()
            cluster.boot(primary)
        elif self.kind in ("cut", "unplug"):
            getattr(cluster, self.kind)(primary)
            self.wait_primary(other=True)
            self.wait_writes()
            cluster.heal(primary)
        elif self.kind == "pause":
            cluster.pause(primary)
            self.wait_primary(other=True)
            self.wait_writes()
            # The former primary accepts writes until Patroni notices that it has lost its lease.
            cluster.resume(primary, "postgres")
            until(lambda: cluster.sql(primary, "SELECT pg_is_in_recovery()", check=False) == "f", 10, "the former primary answers")
            self.wait_writes(3)
            cluster.resume(primary)
        elif self.kind == "switchover":
            until(lambda: "Successfully" in (cluster.switchover() or {}).get("text", ""), 60, "a switchover")
            self.wait_primary()
            self.wait_writes()
        else:
            self.relapse()

    def relapse(self):
        cluster, primary = self.cluster, self.primary
        cluster.cut(primary, POSTGRES_PORT)
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        until(lambda: int(cluster.sql(primary, waiting)) > 2, 10, "commits wait for the standby")
        # No change is in progress any more when two counts are equal.
        counts = [self.load.count()]
        until(lambda: counts.append(self.load.count()) or counts[-1] == counts[-2], 10, "the writes stop")
        cluster.crash_backend(primary)
        try:
            until(lambda: self.load.count() > counts[-1], 6, "a write is acknowledged")
            self.remarks.append("acknowledged without a standby")
        except TimeoutError:
            pass
        cluster.kill(primary)
        self.begin = time.monotonic()
        try:
            self.wait_primary(other=True)
        except TimeoutError:
            # Patroni has noticed the stall, and promotes no standby that may lack a change.
            self.remarks.append("no standby was promoted")
        cluster.heal(primary)
        cluster.boot(primary)
        if self.failover is None:
            self.wait_primary()
        self.wait_writes()

    def run(self):
        self.load.wait(ENOUGH, 60, "writes before the failure")
        self.begin = time.monotonic()
        self.fail()
        self.cluster.wait_healthy(120)
        self.load.wait(ENOUGH, 60, "writes after the repair")
        self.load.end()
        return self.load.judge()


# The run


def options(words):
    found = {"rounds": "30", "setting": "strict", "load": f"/usr/bin/python3 -B {HERE}/plain.py", "kinds": ",".join(KINDS), "results": None,
             "folder": None}
    while words:
        name, *rest = words
        if not name.startswith("--") or name[2:] not in found or not rest:
            sys.exit(__doc__)
        found[name[2:]], words = rest[0], rest[1:]
    if found["setting"] not in SETTINGS or not set(found["kinds"].split(",")) <= set(KINDS + EXTRA):
        sys.exit(__doc__)
    return found


def isolate():
    """Runs this program again in namespaces, so that all servers and interfaces end with it, even if it is killed."""
    enter = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--mount", "--net"]
    if os.geteuid() == 0 and os.environ.get("FAILOVER_IS_ISOLATED") is None and shutil.which("unshare") and subprocess.run(
            [*enter, "true"], stderr=subprocess.DEVNULL).returncode == 0:
        # The first process of the namespace must wait for orphans, as a shell does. The names of new network namespaces are files.
        shell = 'mkdir -p /run/netns && mount -t tmpfs none /run/netns && "$@"; exit $?'
        again = ["bash", "-c", shell, "bash", sys.executable, "-B", *sys.argv]
        os.execvpe(enter[0], [*enter, *again], {**os.environ, "FAILOVER_IS_ISOLATED": "1"})


def play(cluster, kind, program, folder, number):
    """Plays a round on a healthy cluster. Returns its row."""
    begin = time.monotonic()
    # The order of the hosts decides which one a client asks first.
    order = random.Random(number).sample(NODES, len(NODES))
    load = Load(program, cluster.uri(order=order), folder, f"r{number}")
    try:
        turn = Round(cluster, kind, load)
        counts = turn.run()
    except (TimeoutError, RuntimeError, subprocess.SubprocessError) as error:
        cluster.save_logs(folder)
        return {"kind": kind, "seconds": round(time.monotonic() - begin), "broken": f"{error}"}
    finally:
        load.kill()
    return {"kind": kind, "seconds": round(time.monotonic() - begin), "failover": round(turn.failover, 1), **counts,
            "primary": turn.primary, "order": order, "remarks": turn.remarks}


def line(number, row):
    head = f"{number:3} {row['kind']:10} {row['seconds']:3} s"
    if "broken" in row:
        return f"{head}, not completed: {row['broken']}"
    return (f"{head}, failover {row['failover']:4} s, clients paused {row['pause'] / 1000:.1f} s: {summary(Counter(row))}"
            + "".join(f"; {text}" for text in row["remarks"]))


def main(words):
    chosen = options(words)
    isolate()
    kinds, wanted, program = chosen["kinds"].split(","), int(chosen["rounds"]), shlex.split(chosen["load"])
    results = Path(chosen["results"]) if chosen["results"] else None
    rows = [json.loads(text) for text in results.read_text().splitlines()] if results and results.exists() else []
    if results:
        results.parent.mkdir(parents=True, exist_ok=True)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(130))
    # Servers create sockets in the folder, and the path of a socket has at most about a hundred bytes.
    folder = Path(chosen["folder"] or tempfile.mkdtemp(prefix="failover-", dir="/tmp"))
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    cluster, keeps = None, chosen["folder"] is not None
    try:
        while len(rows) < wanted:
            if cluster is None:
                cluster = Cluster(folder / "cluster")
                try:
                    cluster.start(chosen["setting"])
                except TimeoutError:
                    cluster.save_logs(folder)
                    keeps = True
                    print(f"The logs of the nodes are in {folder}", file=sys.stderr)
                    raise
            kind = kinds[len(rows) % len(kinds)]
            if kind in ("cut", "unplug", "relapse") and not cluster.has_namespaces:
                kind = "node"
            row = play(cluster, kind, program, folder, len(rows))
            rows.append(row)
            print(line(len(rows), row), flush=True)
            if results:
                with results.open("a") as file:
                    file.write(json.dumps(row) + "\n")
            if "broken" in row:
                # The next round gets a new cluster.
                keeps = True
                cluster.stop()
                cluster = None
    finally:
        if cluster:
            cluster.stop()
        if not keeps:
            shutil.rmtree(folder, ignore_errors=True)
    total = sum((Counter({key: value for key, value in row.items() if isinstance(value, int)}) for row in rows), Counter())
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(row["kind"] for row in rows).items())
    broken = sum("broken" in row for row in rows)
    slowest = max((row["failover"] for row in rows if "failover" in row), default=0)
    print(f"{kinds}: {summary(total)}, {broken} rounds not completed, failover within {slowest:.0f} s")
    wrong = total["refused but applied"] + total["made by no call"]
    print(
        f"tried: {len(rows)} rounds, {total['acknowledged']} acknowledged writes, {total['lost']} lost, "
        f"{total['removed but returned']} removed but returned, {wrong} wrong answers")
    return 1 if broken or any(total[name] for name in WRONG) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
