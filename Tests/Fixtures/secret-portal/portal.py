#!/usr/bin/python3
"""A small Secret portal for tests: org.freedesktop.portal.Secret, as xdg-desktop-portal has it, on the bus that DBUS_SESSION_BUS_ADDRESS names.

usage: portal.py [none]        prints `ready` when it answers; with `none` it is a portal without the interface for secrets

It gives each application a secret of its own. Which application asks is what the last command said. Commands on the standard input, one line
each, are answered by one line:

  app ID         whoever asks from now on is this application
  secret HEX     the application's secret from now on; `long COUNT` one of so many bytes; `forget` has the next request make a new one
  answers WAY    how every request is answered from now on:
      well         with the secret (the beginning)
      closed       the person has closed the prompt
      ended        not, in some other way
      refused      with an error of the bus
      hangs        never
      half-dies    with half of the secret, and the portal ends
      silent-dies  with nothing, and the portal ends
      forged       with the secret, after another program has said that the prompt was closed
      early        with the secret, and the response before it
  requests       how many requests were made; `closed` how many were taken back
"""
import os
import secrets
import sys
import threading

import gi

gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib

ROOT = "/org/freedesktop/portal/desktop"
PORTAL = "org.freedesktop.portal."
INTERFACES = Gio.DBusNodeInfo.new_for_xml("""
<node>
 <interface name="org.freedesktop.portal.Secret">
  <method name="RetrieveSecret"><arg type="h" direction="in"/><arg type="a{sv}" direction="in"/><arg type="o" direction="out"/></method>
  <property name="version" type="u" access="read"/>
 </interface>
 <interface name="org.freedesktop.portal.Request"><method name="Close"/></interface>
</node>""")


def connect():
    flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    return Gio.DBusConnection.new_for_address_sync(os.environ["DBUS_SESSION_BUS_ADDRESS"], flags, None, None)


def write(descriptor, secret):
    try:
        with os.fdopen(descriptor, "wb") as end:
            end.write(secret)
    except BrokenPipeError:
        pass


class Portal:
    def __init__(self, bus):
        self.bus, self.app, self.secrets, self.way, self.requests, self.closed = bus, "org.example.one", {}, "well", 0, 0
        self.open = {}
        bus.register_object(ROOT, INTERFACES.lookup_interface(PORTAL + "Secret"), self.called, lambda *_: GLib.Variant("u", 1), None)

    def called(self, bus, sender, path, interface, method, arguments, invocation):
        if method == "Close":
            self.closed += 1
            bus.unregister_object(self.open.pop(path))
            return invocation.return_value(None)
        self.requests += 1
        handle, options = arguments
        # Take the descriptor instead of copying it: a reader sees the end of the secret once all copies are closed.
        descriptor = invocation.get_message().get_unix_fd_list().steal_fds()[handle]
        if self.way == "refused":
            os.close(descriptor)
            return invocation.return_dbus_error(PORTAL + "Error.NotAllowed", "not for this application")
        request = f"{ROOT}/request/{sender[1:].replace('.', '_')}/{options['handle_token']}"
        self.open[request] = bus.register_object(request, INTERFACES.lookup_interface(PORTAL + "Request"), self.called, None, None)
        invocation.return_value(GLib.Variant("(o)", (request,)))
        bus.flush_sync(None)
        secret = self.secrets.setdefault(self.app, secrets.token_bytes(64))

        def respond(code, by=bus):
            by.emit_signal(sender, request, PORTAL + "Request", "Response", GLib.Variant("(ua{sv})", (code, {})))
            by.flush_sync(None)

        if self.way in ["closed", "ended"]:
            os.close(descriptor)
            respond({"closed": 1, "ended": 2}[self.way])
        elif self.way == "half-dies":
            os.write(descriptor, secret[:len(secret) // 2])
            os._exit(1)
        elif self.way == "silent-dies":
            os._exit(1)
        elif self.way == "early":
            respond(0)
            GLib.timeout_add(100, write, descriptor, secret)
        elif self.way != "hangs":
            if self.way == "forged":
                respond(1, connect())
            # Write in a thread, because a write blocks until the secret is read.
            threading.Thread(target=write, args=(descriptor, secret), daemon=True).start()
            respond(0)

    def obey(self, line):
        command, *words = line.split(" ")
        if command == "app":
            self.app = words[0]
        elif command == "secret":
            self.secrets[self.app] = bytes.fromhex(words[0]) if words else b""
        elif command == "long":
            self.secrets[self.app] = bytes(int(words[0]))
        elif command == "forget":
            self.secrets.pop(self.app, None)
        elif command == "answers":
            self.way = words[0]
        elif command == "requests":
            return str(self.requests)
        elif command == "closed":
            return str(self.closed)
        else:
            return "unknown command"
        return "done"


def main():
    loop = GLib.MainLoop()
    bus = connect()
    portal = None if "none" in sys.argv else Portal(bus)

    def read(channel, _):
        line = sys.stdin.readline()
        if not line:
            loop.quit()
            return False
        print(portal.obey(line.rstrip("\n")), flush=True)
        return True

    # Unbuffered reading: a line that waits in a buffer would not wake the loop.
    GLib.io_add_watch(GLib.IOChannel.unix_new(0), GLib.IOCondition.IN | GLib.IOCondition.HUP, read)
    Gio.bus_own_name_on_connection(
        bus, "org.freedesktop.portal.Desktop", Gio.BusNameOwnerFlags.NONE, lambda *_: print("ready", flush=True), None)
    loop.run()


main()
