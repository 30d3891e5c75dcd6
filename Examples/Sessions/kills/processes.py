"""The programs that a life needs: servers, a private keyring, a private PostgreSQL and wrk."""

import contextlib
import glob
import http.client
import os
import re
import signal
import socket
import subprocess
import time


class StartFailure(Exception):
    """A program did not start, or does not answer."""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def end(process):
    """Kills a process that was started here, and waits for it."""
    if process is not None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait()


def until(what, seconds, holds):
    """Waits until a condition holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise StartFailure("%s did not start within %d s" % (what, seconds))
        time.sleep(0.005)


class Server:
    """One process of the session server."""

    def __init__(self, command, environment, port, log):
        self.command, self.environment, self.port, self.log = command, environment, port, log
        self.process = None
        self.started = 0.0

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.started = time.monotonic()

    def answers(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            # The server answers 404 without its store.
            connection.request("GET", "/")
            connection.getresponse().read()
            return True
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def wait(self, seconds=30):
        """Waits until the server answers. If it ends without a kill, it is started again, as systemd does.

        Returns the seconds since its last start.
        """
        for _ in range(5):
            until("the server", seconds, lambda: self.process.poll() is not None or self.answers())
            if self.process.poll() is None:
                return time.monotonic() - self.started
            self.start()
        raise StartFailure("the server ended five times: see its log")

    def kill(self):
        end(self.process)


class Keyring:
    """A private D-Bus session with a private gnome-keyring."""

    PASSWORD = b"only for this count"

    def __init__(self, folder):
        self.folder = folder
        self.bus = self.daemon = None
        run = os.path.join(folder, "run")
        os.makedirs(run, 0o700)
        self.socket = os.path.join(run, "bus")
        self.environment = {
            name: value for name, value in os.environ.items()
            if name not in ("DISPLAY", "WAYLAND_DISPLAY", "GNOME_KEYRING_CONTROL") and not name.startswith("XDG_")}
        self.environment.update(
            HOME=folder, XDG_RUNTIME_DIR=run, XDG_DATA_HOME=os.path.join(folder, "data"),
            XDG_CONFIG_HOME=os.path.join(folder, "config"), DBUS_SESSION_BUS_ADDRESS="unix:path=" + self.socket,
            PYTHON_KEYRING_BACKEND="keyring.backends.SecretService.Keyring")

    def start(self):
        # There is no folder of services, so the bus does not start a second, locked keyring on demand.
        configuration = os.path.join(self.folder, "bus.conf")
        with open(configuration, "w") as file:
            file.write("""<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
  "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=%s</listen>
  <auth>EXTERNAL</auth>
  <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>
""" % self.socket)
        self.bus = self.run(["dbus-daemon", "--config-file=" + configuration, "--nofork", "--nopidfile"], "bus.log")
        until("the bus", 10, lambda: os.path.exists(self.socket))
        self.start_daemon()

    def start_daemon(self):
        self.daemon = self.run(
            ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"], "keyring.log", self.PASSWORD)
        waiting = subprocess.run(
            ["gdbus", "wait", "--session", "--timeout", "10", "org.freedesktop.secrets"], env=self.environment, capture_output=True)
        if waiting.returncode != 0:
            raise StartFailure("the keyring did not start: %s" % waiting.stderr.decode())

    def kill_daemon(self):
        end(self.daemon)
        self.daemon = None

    def stop(self):
        end(self.daemon)
        end(self.bus)

    def run(self, command, log, text=b""):
        with open(os.path.join(self.folder, log), "ab") as output:
            process = subprocess.Popen(command, env=self.environment, stdin=subprocess.PIPE, stdout=output, stderr=output)
        # gnome-keyring-daemon takes the whole of its standard input as the password.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(text)
            process.stdin.close()
        return process


class PostgreSQL:
    """A private PostgreSQL server, which listens on a socket in its folder. Each life gets an empty database."""

    def __init__(self, folder):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
        if not found:
            raise StartFailure("PostgreSQL is not installed (Debian package postgresql)")
        self.programs, self.folder, self.process = found[-1], folder, None
        os.makedirs(folder)
        # The server refuses to run as root.
        self.as_user = []
        if os.geteuid() == 0:
            self.as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            os.chown(folder, 65534, 65534)
            os.chmod(os.path.dirname(folder), 0o755)

    def program(self, name, *arguments):
        return self.as_user + [os.path.join(self.programs, name), *arguments]

    def start(self):
        data = os.path.join(self.folder, "data")
        subprocess.run(
            self.program("initdb", "-D", data, "-A", "trust", "-U", "app", "--no-sync"), cwd="/", check=True,
            stdout=subprocess.DEVNULL)
        with open(self.folder + ".log", "ab") as log:
            self.process = subprocess.Popen(
                self.program("postgres", "-D", data, "-k", self.folder, "-c", "listen_addresses="), cwd="/",
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        ready = [os.path.join(self.programs, "pg_isready"), "-q", "-h", self.folder]
        until("PostgreSQL", 60, lambda: subprocess.run(ready).returncode == 0)

    def create(self, database):
        """Creates a database and returns its URI."""
        subprocess.run(
            [os.path.join(self.programs, "createdb"), "-h", self.folder, "-U", "app", database], cwd="/", check=True)
        return "postgresql:///%s?host=%s&user=app" % (database, self.folder.replace("/", "%2F"))

    def stop(self):
        if self.process is not None:
            # An immediate shutdown also ends the processes of the server.
            self.process.send_signal(signal.SIGQUIT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
            end(self.process)


class Load:
    """Requests of wrk in the background."""

    def __init__(self, url):
        self.process = subprocess.Popen(
            ["wrk", "-t1", "-c2", "-d60s", url], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def stop(self):
        """Ends wrk and returns the number of its requests."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGINT)
        try:
            output, _ = self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            end(self.process)
            return 0
        found = re.search(r"(\d+) requests in", output)
        return int(found[1]) if found else 0
