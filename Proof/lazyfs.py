"""Runs real operations on LazyFS, a file system that keeps all content in memory until a program flushes it. At a random
moment the worker is killed, and LazyFS loses everything that was not flushed. Another worker checks what is left.

LazyFS is the work of others (github.com/dsrhaslab/lazyfs), so its power cuts do not depend on our models. It
loses content only: a change of names is on the disk at once. Scripts/lazyfs builds it and runs this program."""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


class LazyFS:
    """LazyFS, mounted on a folder. Its content is in another folder."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.mount, self.content = folder / "mount", folder / "content"
        self.commands, self.replies = folder / "commands", folder / "replies"
        for path in (self.mount, self.content):
            path.mkdir()
        for path in (self.commands, self.replies):
            os.mkfifo(path)
        (folder / "config.toml").write_text(
            f'[faults]\nfifo_path="{self.commands}"\nfifo_path_completed="{self.replies}"\n'
            '[cache]\napply_eviction=false\n[cache.simple]\ncustom_size="64mb"\nblocks_per_page=1\n'
            f'[filesystem]\nlog_all_operations=false\nlogfile="{folder}/log"\n')
        self.output = (folder / "output").open("w")
        self.process = self.reader = None

    def begin(self):
        # LazyFS opens this pipe for writing, and waits until it has a reader.
        self.reader = os.open(self.replies, os.O_RDWR | os.O_CLOEXEC)
        self.process = subprocess.Popen(
            [self.program, str(self.mount), "--config-path", str(self.folder / "config.toml"), "-o", "allow_other",
             "-o", "modules=subdir", "-o", f"subdir={self.content}", "-f"],
            stdout=self.output, stderr=self.output)
        deadline = time.monotonic() + 30
        while not os.path.ismount(self.mount):
            if self.process.poll() is not None or time.monotonic() > deadline:
                text = (self.folder / "output").read_text(errors="replace")
                raise SystemExit(f"LazyFS cannot be mounted. It needs root and /dev/fuse.\n{text[-500:]}")
            time.sleep(0.01)

    def clear(self):
        """Loses all content that was not flushed. Returns after that."""
        descriptor = os.open(self.commands, os.O_WRONLY)
        os.write(descriptor, b"lazyfs::clear-cache\n")
        os.close(descriptor)
        text = b""
        while b"finished::clear-cache\n" not in text:
            text += os.read(self.reader, 100)

    def end(self):
        """Kills LazyFS, which loses all content that was not flushed as well."""
        if self.process:
            self.process.kill()
            self.process.wait()
            os.close(self.reader)
            self.process = None
        subprocess.run(["umount", "-l", self.mount], stderr=subprocess.DEVNULL, check=False)


class Worker:
    """The program FaultWorker. If a shim is given, the operation makes no flush."""

    def __init__(self, program, shim):
        self.program, self.shim = program, shim
        lines = subprocess.run([program, "list"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        #: The name of each operation on files, and its manner.
        self.operations = {name: manner for manner, kind, name in (line.split(" ", 2) for line in lines) if kind == "files"}

    def start(self, verb, name, root, ending="close"):
        environment = {**os.environ, "SWIFT_BACKTRACE": "enable=no"}
        if verb == "act" and self.shim:
            # The shim reports every flush as made without making it.
            environment |= {"LD_PRELOAD": self.shim, "FAULT_ROOT": str(root), "FAULT_PLAN": "drop 1 on kept", "FAULT_IGNORE": "retries"}
        return subprocess.Popen(
            [self.program, verb, name, str(root), ending], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def run(self, verb, name, root):
        process = self.start(verb, name, root)
        try:
            output, _ = process.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            process.kill()
            raise SystemExit(f"{verb} of \"{name}\" does not end.") from None
        return answers(output) | {"status": process.returncode}


def answers(output):
    """Returns the answers of the worker: the text after the first word of each line."""
    return dict(line.partition(" ")[::2] for line in output.splitlines())


class Expectation:
    """The states of an operation before and after it, from runs on an ordinary file system."""

    def __init__(self, worker, name, folder):
        self.name, self.manner, self.base = name, worker.operations[name], folder / "base"
        self.base.mkdir(mode=0o700)
        if "prepared" not in worker.run("prepare", name, self.base):
            raise SystemExit(f'"{name}" cannot be prepared.')
        for state in ("untouched", "done"):
            shutil.copytree(self.base, folder / state)
        self.before = worker.run("check", name, folder / "untouched")["first"]
        begin = time.monotonic()
        worker.run("act", name, folder / "done")
        self.seconds = time.monotonic() - begin
        self.after = worker.run("check", name, folder / "done")["last"]

    def violations(self, told, found):
        """Returns the broken rules, as Expectation.swift states them."""
        broken = []
        state, refuses = found.get("first", "no answer"), self.manner == "refusing"
        if not state.startswith("state ") and not refuses:
            broken.append(f"cannot be read: {state}")
        elif told in ("acknowledged", "applied") and not refuses and state != self.after:
            broken.append(f"{state} after `{told}`")
        elif told == "notApplied" and self.manner == "atomic" and state != self.before:
            broken.append(f"{state} after `{told}`")
        elif state.startswith("state ") and state not in (self.before, self.after):
            known = set(self.before[6:].split("; ") + self.after[6:].split("; "))
            strange = [line for line in state[6:].split("; ") if line not in known]
            if strange or self.manner == "atomic":
                broken.append(f"neither before nor after: {state}")
        broken += [f"{word} {found[word]}" for word in ("unsettled", "restless", "left") if word in found and not refuses]
        if found.get("again") not in ("acknowledged", "nothing"):
            broken.append(f"cannot be done again: {found.get('again')}")
        if found.get("last") != self.after:
            broken.append(f"in the end: {found.get('last')}")
        if found["status"] != 0:
            broken.append(f"the next program ended with {found['status']}")
        return broken


def cut(system, worker, expectation, dice, way):
    """Runs an operation, and cuts the power during or after it. Returns the answer and the broken rules."""
    shutil.rmtree(system.content)
    shutil.copytree(expectation.base, system.content / "root")
    system.begin()
    try:
        root = system.mount / "root"
        process = worker.start("act", expectation.name, root, "abandon")
        if way == "during":
            # LazyFS makes calls slower.
            time.sleep(dice.uniform(0, 3 * expectation.seconds))
            process.send_signal(signal.SIGKILL)
        output, _ = process.communicate(timeout=300)
        answer = answers(output).get("told", "").partition(" ")[0] or None
        if way == "after" and dice.random() < 0.5:
            # LazyFS continues, without the content that it lost.
            system.clear()
        else:
            system.end()
            system.begin()
        return answer, expectation.violations(answer, worker.run("check", expectation.name, root))
    finally:
        system.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lazyfs")
    parser.add_argument("worker")
    parser.add_argument("shim", help="the library made from RealFaults/shim.c")
    parser.add_argument("--operation", default="", help="operations whose names contain this text only")
    parser.add_argument("--cuts", type=int, default=12, help="how many cuts of each operation")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--planted", action="store_true", help="flushes are not made, which must be noticed")
    options = parser.parse_args()
    worker, dice = Worker(options.worker, options.shim if options.planted else None), random.Random(options.seed)
    names = [name for name in worker.operations if options.operation in name]
    cuts = acknowledged = broken = 0
    for name in names:
        found = 0
        # LazyFS takes a path with "-o" for another option.
        with tempfile.TemporaryDirectory(prefix="lazyfs_") as temporary:
            folder = Path(temporary)
            system, expectation = LazyFS(options.lazyfs, folder), Expectation(worker, name, folder)
            for number in range(options.cuts):
                answer, violations = cut(system, worker, expectation, dice, "after" if number % 3 == 0 else "during")
                cuts += 1
                acknowledged += answer == "acknowledged"
                found += bool(violations)
                if violations:
                    print(f"  {name}, told {answer}: {'; '.join(violations)}"[:600], flush=True)
        broken += found
        print(f"{name}: {options.cuts} cuts, {found} broken", flush=True)
    print(f"seed {options.seed}")
    print(f"tried: {cuts} cuts, {acknowledged} of them after the acknowledgement, {len(names)} operations")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
