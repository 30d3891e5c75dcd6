#!/usr/bin/python3
"""A small Secret Service for tests, with the quirks of the ones that people use; checked against those by `Scripts/prove providers`.

usage: service.py [quirk …]      on the bus that DBUS_SESSION_BUS_ADDRESS names; prints `ready` when it answers

  plain         knows no session algorithm but `plain`
  attributes    gives every item further attributes (KeePassXC)
  prompts       makes and removes items by a prompt, which ends by itself (KeePassXC)
  closes        ends every prompt as dismissed
  dies          ends when a prompt is performed
  late          looks for the session only when the item is made (KWallet)
  asks          asks for a password when it is searched while `main` is locked, and nobody answers (KeePassXC)
  cut           cuts a secret at its first NUL (KWallet)
  oo7           behaves as oo7-daemon 0.6 in each of the ways below, which come from its source; no real one was compared
  exact         with oo7: an item replaces only items with equal attributes, as in versions after 0.7.0.alpha

As oo7-daemon, it

  * gives each item the attribute `xdg:content-type` when it is made and when its secret is set
  * calls the default collection `Login`
  * finds no item of a locked collection, and does not return the attributes of a locked item
  * does not know the path of an alias in `Unlock`
  * keeps each collection in `$XDG_DATA_HOME/keyrings/v1/<name>.keyring`, which it replaces by a rename, and reads it when it starts
  * writes that file when an item is made or deleted. `SetSecret` changes only the item in memory
  * makes an item that replaces others in place of every item with at least its attributes. `Delete` takes every such item out of the file

It has two collections, both unlocked: `main`, which is the default, and `other`. Commands on the standard input, one line each, are
answered by one line:

  sessions            forgets the sessions, as a service that was started again has
  fail METHOD         the next call of the method fails before it does anything
  wrong               the next session has another key than the client's: it refuses what it cannot decode (KWallet)
  noise               the same, and what it decodes happens to be well-formed (KWallet, once in 256 times)
  lock COLLECTION     unlock COLLECTION
  add COLLECTION JSON attributes and secret of an item that another program makes; `change PATH TEXT` and `remove PATH` change it
  items               the items, as JSON
  calls METHOD        how often the method was called
  restart METHOD      the service is started again while the next call of the method is answered: the answer is the old one's, the new one has
                      the name, knows no session, and has numbered the items anew, so that each path is another item's (KWallet)
  leave METHOD        the service gives its name back then, and goes on (KeePassXC, where its setting is switched off)
"""
import base64
import hashlib
import hmac
import json
import os
import secrets
import sys

import gi

gi.require_version("Gio", "2.0")
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7
from gi.repository import Gio, GLib

ROOT = "/org/freedesktop/secrets"
NAME = "org.freedesktop.secrets"
SECRET = "org.freedesktop.Secret."
QUIRKS = set(sys.argv[1:])
OO7 = "oo7" in QUIRKS
DEFAULT = "Login" if OO7 else "main"
CONTENT_TYPE = "xdg:content-type"
# The second Oakley group (RFC 2409, section 6.2).
PRIME = int(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B302B0A6DF25F14374FE1"
    "356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7EDEE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF", 16)

INTERFACES = Gio.DBusNodeInfo.new_for_xml("""
<node>
 <interface name="org.freedesktop.Secret.Service">
  <method name="OpenSession"><arg type="s" direction="in"/><arg type="v" direction="in"/><arg type="v" direction="out"/>
   <arg type="o" direction="out"/></method>
  <method name="SearchItems"><arg type="a{ss}" direction="in"/><arg type="ao" direction="out"/><arg type="ao" direction="out"/></method>
  <method name="Unlock"><arg type="ao" direction="in"/><arg type="ao" direction="out"/><arg type="o" direction="out"/></method>
  <method name="GetSecrets"><arg type="ao" direction="in"/><arg type="o" direction="in"/><arg type="a{o(oayays)}" direction="out"/></method>
  <method name="ReadAlias"><arg type="s" direction="in"/><arg type="o" direction="out"/></method>
 </interface>
 <interface name="org.freedesktop.Secret.Collection">
  <method name="CreateItem"><arg type="a{sv}" direction="in"/><arg type="(oayays)" direction="in"/><arg type="b" direction="in"/>
   <arg type="o" direction="out"/><arg type="o" direction="out"/></method>
  <property name="Locked" type="b" access="read"/>
 </interface>
 <interface name="org.freedesktop.Secret.Item">
  <method name="GetSecret"><arg type="o" direction="in"/><arg type="(oayays)" direction="out"/></method>
  <method name="SetSecret"><arg type="(oayays)" direction="in"/></method>
  <method name="Delete"><arg type="o" direction="out"/></method>
  <property name="Attributes" type="a{ss}" access="read"/><property name="Locked" type="b" access="read"/>
  <property name="Label" type="s" access="read"/><property name="Created" type="t" access="read"/>
  <property name="Modified" type="t" access="read"/>
 </interface>
 <interface name="org.freedesktop.Secret.Prompt">
  <method name="Prompt"><arg type="s" direction="in"/></method><method name="Dismiss"/>
 </interface>
</node>""")


class Silence(Exception):
    """The call is not answered."""


class Refusal(Exception):
    """An error that the caller is answered with: its name and text."""


class Session:
    def __init__(self, theirs):
        private = secrets.randbelow(PRIME - 2) + 1
        self.public = pow(2, private, PRIME).to_bytes(128, "big")
        shared = pow(int.from_bytes(theirs, "big"), private, PRIME).to_bytes(128, "big")
        mixed = hmac.new(bytes(32), shared, hashlib.sha256).digest()
        self.key = hmac.new(mixed, b"\1", hashlib.sha256).digest()[:16]

    def encode(self, secret):
        vector, padder = os.urandom(16), PKCS7(128).padder()
        coder = Cipher(algorithms.AES(self.key), modes.CBC(vector)).encryptor()
        return vector, coder.update(padder.update(secret) + padder.finalize()) + coder.finalize()

    def decode(self, vector, coded):
        coder, padder = Cipher(algorithms.AES(self.key), modes.CBC(vector)).decryptor(), PKCS7(128).unpadder()
        text = padder.update(coder.update(coded) + coder.finalize())
        return text + padder.finalize()


class Wrong(Session):
    def __init__(self, theirs):
        super().__init__(theirs)
        self.key = os.urandom(16)

    def decode(self, vector, coded):
        raise ValueError("another key")


class Noise(Session):
    def encode(self, secret):
        return super().encode(b"\xff" + os.urandom(40))

    def decode(self, vector, coded):
        return b"\xff" + os.urandom(40)


class Plain:
    def encode(self, secret):
        return b"", secret

    def decode(self, vector, coded):
        return coded


class Item:
    def __init__(self, path, attributes, label):
        self.path, self.attributes, self.label, self.secret, self.modified = path, attributes, label, b"", 0


class Files:
    """The files of the collections, as oo7-daemon writes them: a header of the format, and then the items. Here each is a line of base64."""

    HEADER = b"GnomeKeyring\n\r\0\n\1\0"

    def __init__(self):
        self.folder = os.path.join(os.environ["XDG_DATA_HOME"], "keyrings", "v1")
        self.items = {}

    def path(self, collection):
        return os.path.join(self.folder, f"{collection.lower()}.keyring")

    def load(self, collection):
        self.items[collection] = []
        if os.path.exists(self.path(collection)):
            with open(self.path(collection), "rb") as file:
                lines = file.read().removeprefix(self.HEADER).split()
            self.items[collection] = [json.loads(base64.b64decode(line)) | {"line": line} for line in lines]
        return self.items[collection]

    def add(self, collection, attributes, label, secret):
        item = {"attributes": attributes, "label": label, "secret": secret.decode("latin-1")}
        self.items[collection].append(item | {"line": base64.b64encode(json.dumps(item).encode())})

    def drop(self, collection, is_dropped):
        self.items[collection] = [item for item in self.items[collection] if not is_dropped(item["attributes"])]

    def write(self, collection):
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        temporary = os.path.join(self.folder, f".tmpkeyring{secrets.token_hex(8)}")
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            # Not flushed to the disk: tests kill the service, and not the machine.
            file.write(self.HEADER + b"\n".join(item["line"] for item in self.items[collection]))
        os.rename(temporary, self.path(collection))


class Service:
    def __init__(self, bus):
        self.bus, self.count, self.kind = bus, 0, Session
        self.sessions, self.items, self.prompts, self.failing, self.calls = {}, {}, {}, set(), {}
        self.restarting, self.leaving = None, None
        self.locked = {DEFAULT: False, "other": False}
        self.numbers = {name: 0 for name in self.locked}
        self.files = Files() if OO7 else None
        if OO7:
            for name in self.locked:
                for kept in self.files.load(name):
                    path = self.item_path(name)
                    self.items[path] = Item(path, dict(kept["attributes"]), kept["label"])
                    self.items[path].secret = kept["secret"].encode("latin-1")
        self.appear()

    def appear(self):
        self.registered = {}
        self.register(ROOT, "Service")
        for name in self.locked:
            self.register(f"{ROOT}/collection/{name}", "Collection")
        self.register(f"{ROOT}/aliases/default", "Collection")
        for path in self.items:
            self.register(path, "Item")
        own_name(self.bus)

    def start_again(self):
        self.bus, self.sessions = connect(), {}
        paths, items = list(self.items), list(self.items.values())
        self.items = dict(zip(paths, items[1:] + items[:1]))
        for path, item in self.items.items():
            item.path = path
        self.appear()

    # Objects

    def register(self, path, interface):
        info = INTERFACES.lookup_interface(SECRET + interface)
        self.registered[path] = self.bus.register_object(path, info, self.called, self.property, None)

    def unregister(self, path):
        self.bus.unregister_object(self.registered.pop(path))

    def item_path(self, collection):
        if not OO7:
            return self.path(f"collection/{collection}/")
        self.numbers[collection] += 1
        return f"{ROOT}/collection/{collection}/{self.numbers[collection]}"

    def path(self, kind):
        self.count += 1
        return f"{ROOT}/{kind}{self.count}"

    def called(self, bus, sender, path, interface, method, arguments, invocation):
        self.calls[method] = self.calls.get(method, 0) + 1
        try:
            if method in self.failing:
                self.failing.remove(method)
                raise Refusal("org.freedesktop.DBus.Error.Failed", "this call was to fail")
            answer = getattr(self, method)(path, *arguments)
            if method == self.restarting:
                self.restarting = None
                self.start_again()
                GLib.timeout_add(100, bus.close, None, None)
            if method == self.leaving:
                self.leaving = None
                call_bus(bus, "ReleaseName", GLib.Variant("(s)", (NAME,)))
            kinds = "".join(part.signature for part in INTERFACES.lookup_interface(interface).lookup_method(method).out_args)
            invocation.return_value(GLib.Variant(f"({kinds})", answer) if kinds else None)
        except Silence:
            pass
        except Refusal as refusal:
            invocation.return_dbus_error(*refusal.args)

    def property(self, bus, sender, path, interface, name):
        if interface == SECRET + "Collection":
            return GLib.Variant("b", self.locked[self.name(path)])
        item = self.items[path]
        if OO7 and self.is_locked(path) and name != "Locked":
            # An error in the answer to Get, and left out of the answer to GetAll.
            return None
        return {
            "Attributes": lambda: GLib.Variant("a{ss}", item.attributes), "Locked": lambda: GLib.Variant("b", self.is_locked(path)),
            "Label": lambda: GLib.Variant("s", item.label), "Created": lambda: GLib.Variant("t", 0),
            "Modified": lambda: GLib.Variant("t", item.modified),
        }[name]()

    def name(self, collection):
        name = collection.rsplit("/", 1)[-1]
        return DEFAULT if name in ["default", "main"] else name

    def is_locked(self, path):
        return self.locked[path.split("/")[5]]

    def tell(self, signal, path):
        collection = path.rsplit("/", 1)[0]
        self.bus.emit_signal(None, collection, SECRET + "Collection", signal, GLib.Variant("(o)", (path,)))

    # Service

    def OpenSession(self, _, algorithm, theirs):
        if algorithm == "plain":
            session, answer = Plain(), GLib.Variant("s", "")
        elif algorithm == "dh-ietf1024-sha256-aes128-cbc-pkcs7" and "plain" not in QUIRKS:
            session, self.kind = self.kind(bytes(theirs)), Session
            answer = GLib.Variant("ay", session.public)
        else:
            raise Refusal("org.freedesktop.DBus.Error.NotSupported", f"{algorithm} is not supported")
        path = self.path("session/s")
        self.sessions[path] = session
        return answer, path

    def SearchItems(self, _, attributes):
        if "asks" in QUIRKS and self.locked[DEFAULT]:
            raise Silence()
        found = [path for path, item in self.items.items() if attributes.items() <= item.attributes.items()]
        if OO7:
            found = [path for path in found if not self.is_locked(path)]
        return [path for path in found if not self.is_locked(path)], [path for path in found if self.is_locked(path)]

    def Unlock(self, _, paths):
        if OO7:
            paths = [path for path in paths if path in self.items or path in [f"{ROOT}/collection/{name}" for name in self.locked]]
            if not any(self.is_locked(path) for path in paths):
                return paths, "/"
        prompt = self.prompt(lambda: self.unlock(paths))
        return [], prompt

    def unlock(self, paths):
        for path in paths:
            self.locked[path.split("/")[5]] = False
        return GLib.Variant("ao", paths)

    def GetSecrets(self, _, paths, session):
        coder = self.session(session, "org.freedesktop.DBus.Error.UnknownObject")
        coded = {}
        for path in paths:
            if path in self.items and not self.is_locked(path):
                vector, text = coder.encode(self.items[path].secret)
                coded[path] = (session, vector, text, "text/plain")
        return (coded,)

    def ReadAlias(self, _, name):
        return (f"{ROOT}/collection/{DEFAULT}" if name == "default" else "/",)

    def session(self, path, error):
        if path in self.sessions:
            return self.sessions[path]
        raise Refusal(error if "late" in QUIRKS else SECRET + "Error.NoSession", f"Can't find session {path}")

    # Collections and items

    def CreateItem(self, collection, properties, secret, replace):
        name = self.name(collection)
        if self.locked[name] and OO7:
            return "/", self.prompt(lambda: self.unlock_and(name, lambda: self.make(name, properties, secret, replace)))
        if self.locked[name]:
            raise Refusal(SECRET + "Error.IsLocked", "locked")
        if "late" not in QUIRKS:
            self.session(secret[0], "")
        if "prompts" in QUIRKS:
            return "/", self.prompt(lambda: GLib.Variant("o", self.make(name, properties, secret, replace)))
        return self.make(name, properties, secret, replace), "/"

    def unlock_and(self, collection, work):
        self.locked[collection] = False
        return GLib.Variant("o", work())

    def make(self, collection, properties, secret, replace):
        attributes, label = dict(properties[SECRET + "Item.Attributes"]), properties.get(SECRET + "Item.Label", "")
        if OO7:
            session, vector, coded, kind = secret
            text = self.session(session, "").decode(bytes(vector), bytes(coded))
            return self.make_durably(collection, attributes, label, text, kind, replace)
        if replace:
            for path in [path for path, item in self.items.items() if attributes.items() <= item.attributes.items()]:
                self.remove(path)
        path = self.path(f"collection/{collection}/")
        if "attributes" in QUIRKS:
            attributes.update({name: "" for name in ["Title", "URL", "UserName", "Uuid", "Path", "Notes"]})
        self.items[path] = Item(path, attributes, label)
        self.register(path, "Item")
        self.keep(path, secret, "org.qtproject.QtDBus.Error.InvalidObjectPath")
        self.tell("ItemCreated", path)
        return path

    def make_durably(self, collection, attributes, label, text, kind, replace):
        attributes.setdefault(CONTENT_TYPE, kind)

        def is_replaced(others):
            return attributes == others if "exact" in QUIRKS else attributes.items() <= others.items()

        if replace:
            self.files.drop(collection, is_replaced)
        self.files.add(collection, attributes, label, text)
        self.files.write(collection)
        if replace:
            for path in [path for path, item in self.items.items() if path.split("/")[5] == collection and is_replaced(item.attributes)]:
                self.remove(path)
        path = self.item_path(collection)
        self.items[path] = Item(path, dict(attributes), label)
        self.items[path].secret = text
        self.register(path, "Item")
        self.tell("ItemCreated", path)
        return path

    def keep(self, path, secret, error):
        session, vector, coded, kind = secret
        coder = self.session(session, error)
        try:
            text = coder.decode(bytes(vector), bytes(coded))
        except ValueError:
            raise Refusal(error, f"Can't find session {session}")
        self.items[path].secret = text.split(b"\0")[0] if "cut" in QUIRKS else text
        self.items[path].modified += 1
        if OO7:
            self.items[path].attributes[CONTENT_TYPE] = kind

    def GetSecret(self, path, session):
        if self.is_locked(path):
            raise Refusal(SECRET + "Error.IsLocked", "locked")
        coder = self.session(session, "org.freedesktop.DBus.Error.UnknownObject")
        vector, text = coder.encode(self.items[path].secret)
        return ((session, vector, text, "text/plain"),)

    def SetSecret(self, path, secret):
        if self.is_locked(path):
            raise Refusal(SECRET + "Error.IsLocked", "locked")
        self.keep(path, secret, "org.freedesktop.DBus.Error.UnknownObject")
        self.tell("ItemChanged", path)

    def Delete(self, path):
        if self.is_locked(path) and OO7:
            return (self.prompt(lambda: self.unlock_and(path.split("/")[5], lambda: self.delete_durably(path))),)
        if OO7:
            return (self.delete_durably(path),)
        if self.is_locked(path):
            raise Refusal(SECRET + "Error.IsLocked", "locked")
        if "prompts" in QUIRKS:
            return (self.prompt(lambda: GLib.Variant("s", self.remove(path))),)
        self.remove(path)
        return ("/",)

    def delete_durably(self, path):
        collection, attributes = path.split("/")[5], self.items[path].attributes
        self.files.drop(collection, lambda others: attributes.items() <= others.items())
        self.files.write(collection)
        self.remove(path)
        return "/"

    def remove(self, path):
        del self.items[path]
        self.unregister(path)
        self.tell("ItemDeleted", path)
        return ""

    # Prompts

    def prompt(self, work):
        path = self.path("prompt/p")
        self.prompts[path] = work
        self.register(path, "Prompt")
        return path

    def Prompt(self, path, _):
        if "dies" in QUIRKS:
            os._exit(1)
        GLib.idle_add(lambda: self.end(path, "closes" in QUIRKS))
        return ()

    def Dismiss(self, path):
        self.end(path, True)
        return ()

    def end(self, path, is_dismissed):
        if path not in self.prompts:
            return False
        work = self.prompts.pop(path)
        result = GLib.Variant("s", "") if is_dismissed else work()
        answer = GLib.Variant("(bv)", (is_dismissed, result))
        self.bus.emit_signal(None, path, SECRET + "Prompt", "Completed", answer)
        self.unregister(path)
        return False

    # Commands

    def obey(self, line):
        command, *words = line.split(" ", 2)
        if command == "sessions":
            self.sessions = {}
        elif command == "fail":
            self.failing.add(words[0])
        elif command in ["wrong", "noise"]:
            self.kind = {"wrong": Wrong, "noise": Noise}[command]
        elif command in ["lock", "unlock"]:
            self.locked[self.name(words[0])] = command == "lock"
            changed = GLib.Variant("(o)", (f"{ROOT}/collection/{self.name(words[0])}",))
            self.bus.emit_signal(None, ROOT, SECRET + "Service", "CollectionChanged", changed)
        elif command == "add":
            told = json.loads(words[1])
            if OO7:
                text = told["secret"].encode("latin-1")
                return self.make_durably(self.name(words[0]), told["attributes"], "", text, "text/plain", False)
            path = self.path(f"collection/{words[0]}/")
            self.items[path] = Item(path, told["attributes"], "")
            self.items[path].secret = told["secret"].encode("latin-1")
            self.register(path, "Item")
            self.tell("ItemCreated", path)
            return path
        elif command == "change":
            self.items[words[0]].secret = words[1].encode()
            self.items[words[0]].modified += 1
            self.tell("ItemChanged", words[0])
        elif command == "remove":
            self.remove(words[0])
        elif command == "items":
            return json.dumps([
                {"path": item.path, "attributes": item.attributes, "secret": item.secret.decode("latin-1")} for item in self.items.values()])
        elif command == "restart":
            self.restarting = words[0]
        elif command == "leave":
            self.leaving = words[0]
        elif command == "calls":
            return str(self.calls.get(words[0], 0))
        else:
            return "unknown command"
        return "done"


def connect():
    flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    bus = Gio.DBusConnection.new_for_address_sync(os.environ["DBUS_SESSION_BUS_ADDRESS"], flags, None, None)
    bus.set_exit_on_close(False)
    return bus


def call_bus(bus, method, arguments):
    place = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
    return bus.call_sync(*place, method, arguments, None, Gio.DBusCallFlags.NONE, -1, None)


def own_name(bus):
    # 1 lets another one take the name, 2 takes it from another.
    if call_bus(bus, "RequestName", GLib.Variant("(su)", (NAME, 3))).unpack() != (1,):
        sys.exit("the name is taken")


def main():
    loop = GLib.MainLoop()
    service = Service(connect())

    def read(channel, _):
        line = sys.stdin.readline()
        if not line:
            loop.quit()
            return False
        print(service.obey(line.rstrip("\n")), flush=True)
        return True

    # Unbuffered reading: a line that waits in a buffer would not wake the loop.
    GLib.io_add_watch(GLib.IOChannel.unix_new(0), GLib.IOCondition.IN | GLib.IOCondition.HUP, read)
    print("ready", flush=True)
    loop.run()


main()
