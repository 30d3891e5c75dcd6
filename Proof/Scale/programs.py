"""The programs that the drivers in this folder start: workers, a private PostgreSQL and a private keyring. Reads their figures in /proc."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
TOP = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TOP / "Scripts"), str(TOP / "Examples/Sessions")]
from kills.processes import Keyring, PostgreSQL, end  # noqa: E402, F401: the drivers use them
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def temporary(prefix):
    """Returns a temporary folder. The server runs as another user, so every folder above it must be readable; sockets need a short path."""
    return tempfile.TemporaryDirectory(prefix=prefix, dir="/tmp", ignore_cleanup_errors=True)


class Worker:
    """A process that exchanges lines with its driver."""

    def __init__(self, words, environment=None, errors=None):
        self.process = subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, bufsize=1,
            env=environment)
        self.pid = self.process.pid

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def line(self):
        """Returns the next line. Exits with an error if the process has ended."""
        text = self.process.stdout.readline()
        if not text:
            raise ChildProcessError("A worker has ended with status %s" % self.process.wait())
        return text.rstrip("\n")

    def ask(self, line):
        self.send(line)
        return self.line()

    def finish(self, seconds=60):
        """Closes the standard input, and returns the status of the process; a process that does not end is killed."""
        try:
            self.process.stdin.close()
            return self.process.wait(seconds)
        except (OSError, subprocess.TimeoutExpired):
            end(self.process)
            return self.process.returncode


def children(pid):
    """Returns the ids of the processes that a process has started, without those that these have started."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = stat(int(name))
            if fields and int(fields[1]) == pid:
                found.append(int(name))
    return found


def stat(pid):
    """Returns the fields of /proc/PID/stat from the state on; none if the process is gone."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(") ", 1)[1].split()
    except OSError:
        return []


def processor_seconds(pid):
    """Returns the time that a process has used, and that its children had used before they ended."""
    fields = stat(pid)
    return sum(int(field) for field in fields[11:15]) / TICKS if fields else 0


def machine_seconds():
    """Returns the time of all processors since the start of the machine: busy, and all."""
    with open("/proc/stat") as file:
        numbers = [int(field) for field in file.readline().split()[1:9]]
    # The fourth number is idle time, and the fifth the idle time while the disk works.
    return (sum(numbers) - numbers[3] - numbers[4]) / TICKS, sum(numbers) / TICKS


def figures(pid):
    """Returns the resident memory in KiB, and the numbers of descriptors and threads of a process."""
    with open("/proc/%d/statm" % pid) as file:
        memory = int(file.read().split()[1]) * PAGE // 1024
    return memory, len(os.listdir("/proc/%d/fd" % pid)), len(os.listdir("/proc/%d/task" % pid))


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, cwd=TOP).stdout.strip()
