"""Runs the commands of a page in a shell, and compares what they print with the page."""
import os, re, select, shutil, signal, subprocess, sys, tempfile, time
from pathlib import Path

LONGEST = 3_600  # seconds for one command: the first one builds LocalData
END = "the command has ended"
STATUS = re.compile(r"#.*\bexit status (\d+)")

# `swift run` starts the program in the session of the tutorial. The builds use the caches of the user.
SWIFT = """#!/usr/bin/env bash
set -euo pipefail
export SWIFT_DETERMINISTIC_HASHING=1
case "$1" in
run)
    HOME=$TUTORIAL_HOME "$TUTORIAL_SWIFT" build -Xcc -O2 --product "$2" >&2
    exec ".build/debug/$2" "${@:3}"
    ;;
*) HOME=$TUTORIAL_HOME exec "$TUTORIAL_SWIFT" "$1" -Xcc -O2 "${@:2}" ;;
esac
"""


def commands(terminal):
    """Returns the commands of a terminal, each after "$ ", with the lines that they print. A command that ends with a backslash goes on."""
    found = []
    for line in terminal.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line}", [])
        else:
            found[-1][1].append(line)
    return found


def status(command):
    """Returns the exit status that the comment of a command names, as in "# exit status 66"."""
    found = STATUS.search(command)
    return int(found[1]) if found else 0


def matches(printed, expected):
    """Returns whether the printed lines are the expected ones. In these, "…" is any text, and a line "…" any lines."""
    parts = [r"(?:[^\n]*\n)*?" if line == "…" else re.escape(line).replace("…", "[^\n]*") + "\n" for line in expected]
    return re.fullmatch("".join(parts), "".join(f"{line}\n" for line in printed)) is not None


class Session:
    """A shell with a separate home folder, D-Bus session and unlocked keyring.

    Without a keyring, it has no D-Bus session either, as the session of a service.
    """

    def __init__(self, package, *, has_keyring=True, variables={}):
        self.folder = Path(tempfile.mkdtemp(prefix="page."))
        home, run, bin = (self.folder / name for name in ("home", "run", "bin"))
        for path in (home, run, bin):
            path.mkdir(mode=0o700)
        (bin / "swift").write_text(SWIFT)
        (bin / "swift").chmod(0o755)
        environment = {
            name: value for name, value in os.environ.items()
            if not name.startswith("XDG_") and name not in ("DISPLAY", "WAYLAND_DISPLAY", "GNOME_KEYRING_CONTROL", "LOCALDATA_PROOF")}
        environment.update(
            TUTORIAL_HOME=os.environ.get("HOME", "/"), TUTORIAL_SWIFT=shutil.which("swift"), HOME=str(home), XDG_RUNTIME_DIR=str(run),
            DBUS_SESSION_BUS_ADDRESS=f"unix:path={run}/bus", PATH=f"{bin}:{os.environ['PATH']}", **variables)
        self.processes, self.status = [], 0
        if has_keyring:
            self.start_keyring(run, environment)
        else:
            del environment["DBUS_SESSION_BUS_ADDRESS"]
        self.log = open(self.folder / "log", "w+b")
        self.shell = subprocess.Popen(
            ["bash", "--norc"], cwd=package, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, bufsize=0,
            start_new_session=True)

    def start_keyring(self, run, environment):
        self.start(["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address=unix:path={run}/bus"], environment)
        self.wait(["test", "-S", f"{run}/bus"], environment)
        # gnome-keyring-daemon takes its whole standard input as the password.
        keyring = self.start(["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"], environment, subprocess.PIPE)
        keyring.stdin.write(b"only for this walk")
        keyring.stdin.close()
        self.wait(["gdbus", "wait", "--session", "--timeout", "10", "org.freedesktop.secrets"], environment)

    def start(self, words, environment, input=subprocess.DEVNULL):
        process = subprocess.Popen(
            words, env=environment, stdin=input, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.processes.append(process)
        return process

    def wait(self, words, environment):
        for _ in range(200):
            if subprocess.run(words, env=environment, capture_output=True).returncode == 0:
                return
            time.sleep(0.05)
        sys.exit(f"error: this did not succeed: {' '.join(words)}")

    def run(self, command):
        """Runs a command and returns the lines that it prints to its standard output. `status` is then its exit status."""
        self.log.truncate(0)
        self.log.seek(0)
        self.shell.stdin.write(f"{command}\nprintf '\\n%s%s\\n' '{END}' $?\n".encode())
        text, deadline = b"", time.monotonic() + LONGEST
        while not (end := re.search(rf"\n{END}(\d+)\n$".encode(), text)):
            if not select.select([self.shell.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                return text.decode(errors="replace").splitlines() + ["(the command did not end)"]
            part = os.read(self.shell.stdout.fileno(), 65_536)
            if not part:
                return text.decode(errors="replace").splitlines() + ["(the shell has ended)"]
            text += part
        self.status = int(end[1])
        return text[:end.start()].decode(errors="replace").splitlines()

    def errors(self):
        """Returns the last lines that the latest command printed to its standard error."""
        self.log.seek(0)
        return self.log.read().decode(errors="replace").strip("\0").splitlines()[-30:]

    def end(self):
        for process in [self.shell, *self.processes]:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        self.log.close()
        shutil.rmtree(self.folder)


