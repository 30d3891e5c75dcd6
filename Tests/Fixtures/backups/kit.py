#!/usr/bin/env python3
"""An independent reader of LocalData's backups and exports, format 1.

Written from the description in Docs/Formats.md alone. Needs Python 3.9 and `cryptography` (Debian: python3-cryptography).

  kit.py open FILE             checks everything, prints the content as JSON; the first line of standard input is the passphrase, or a
                               recovery key's text
  kit.py lines FILE            prints the lines of an export

Exit status: 0 sound, 1 damaged, 2 another passphrase or key.
"""

import argparse
import base64
import hashlib
import hmac
import json
import os
import sqlite3
import struct
import sys
import tempfile
import unicodedata

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sealed-sqlite"))
from reader import APPLICATION_ID, Kek, RecoveryKey, Refused, counted, dump, fields, hkdf, unseal  # noqa: E402

CHUNK = 65536
PURPOSES = {"backup": 1, "export": 2}
MANIFEST, KEY, STORE, PART, STORE_END, END = range(1, 7)


def damaged(sentence):
    return Refused(1, sentence)


class Cursor:
    """Reads counted fields and numbers."""

    def __init__(self, data):
        self.data, self.place = data, 0

    def take(self, count):
        if self.place + count > len(self.data):
            raise damaged("Something ends too early.")
        self.place += count
        return self.data[self.place - count : self.place]

    def number(self, count):
        return int.from_bytes(self.take(count), "big")

    def counted(self):
        return self.take(self.number(4))

    @property
    def at_end(self):
        return self.place == len(self.data)


def open_header(data, secret, purpose):
    """The file key, the id, the tag, and the length of the header."""
    cursor = Cursor(data)
    if cursor.take(4) != b"LDK\x01" or cursor.number(1) != purpose:
        raise damaged("This is no file of format 1 for this purpose.")
    identity = cursor.take(16)
    recipients = [(cursor.number(1), cursor.counted()) for _ in range(cursor.number(1))]
    length = cursor.place
    tag = cursor.take(32)
    key = None
    for kind, content in recipients:
        try:
            if kind == 1 and not RecoveryKey.FORM.fullmatch(secret.encode()):
                key = open_passphrase(content, secret, purpose, identity)
            elif kind == 2 and RecoveryKey.FORM.fullmatch(secret.encode()):
                key = open_recovery(content, RecoveryKey(secret), purpose, identity)
        except InvalidTag:
            pass
        if key:
            break
    if key is None:
        raise Refused(2, "Neither a recipient of the file.")
    expected = hmac.new(hkdf(key, identity, b"LocalData stream 1 header", 32), data[:length], hashlib.sha256).digest()
    if not hmac.compare_digest(tag, expected):
        raise damaged("The header's tag is wrong.")
    return key, identity, tag, length + 32


def open_passphrase(content, passphrase, purpose, identity):
    cursor = Cursor(content)
    logarithm, block, passes, salt = cursor.number(1), cursor.number(4), cursor.number(4), cursor.take(32)
    derived = hashlib.scrypt(
        unicodedata.normalize("NFC", passphrase).encode(), salt=salt, n=1 << logarithm, r=block, p=passes, maxmem=(1 << 31) - 1, dklen=32
    )
    return unseal(derived, content[41:], fields("LocalData stream 1 passphrase", bytes([purpose]), identity, content[:41]))


def open_recovery(content, recovery, purpose, identity):
    if content[:32] != recovery.public:
        return None
    if not recovery.is_tag(content[112:], "LocalData stream 1 recovery tag", bytes([purpose]), identity, content[:112]):
        raise damaged("The file was not made by somebody who has the recovery key.")
    text = "LocalData stream 1 recovery"
    return recovery.open(content[32:112], text, fields(text, bytes([purpose]), identity, recovery.public))


def open_file(path, secret, purpose):
    """The content of the sealed stream."""
    with open(path, "rb") as file:
        data = file.read()
    key, identity, tag, start = open_header(data, secret, PURPOSES[purpose])
    cipher = AESGCM(hkdf(key, identity, b"LocalData stream 1 chunks", 32))
    content, number = b"", 0
    while True:
        sealed = data[start : start + CHUNK + 16]
        start += CHUNK + 16
        is_last = start >= len(data)
        try:
            chunk = cipher.decrypt(number.to_bytes(11, "big") + bytes([is_last]), sealed, tag)
        except (InvalidTag, ValueError):
            raise damaged("Chunk %d does not open." % number)
        if is_last and number and not chunk:
            raise damaged("The last chunk is empty.")
        content += chunk
        number += 1
        if is_last:
            return content


def entries(content):
    cursor = Cursor(content)
    while not cursor.at_end:
        yield cursor.number(1), cursor.counted()


def database_content(parts, keys):
    """The rows of a database, read by the reader of databases."""
    cursor, statements = Cursor(parts[0]), []
    while not cursor.at_end:
        statements.append(cursor.counted().decode())
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "database")
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA page_size = 4096")
        connection.execute("PRAGMA application_id = %d" % APPLICATION_ID)
        connection.execute("PRAGMA user_version = 1")
        connection.execute("PRAGMA journal_mode = WAL")
        for statement in statements:
            connection.execute(statement)
        for part in parts[1:]:
            cursor = Cursor(part)
            while not cursor.at_end:
                table = statements[cursor.number(4)].split()[2]
                row = []
                for _ in range(cursor.number(1)):
                    kind = cursor.number(1)
                    if kind == 1:
                        row.append(struct.unpack(">q", cursor.take(8))[0])
                    else:
                        row.append({2: bytes.decode, 3: bytes}[kind](cursor.counted()))
                connection.execute('INSERT INTO "%s" VALUES (%s)' % (table, ", ".join("?" * len(row))), row)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        recipients = {row[0] for row in connection.execute("SELECT recipient FROM wraps")}
        connection.close()
        key_path = os.path.join(folder, "key")
        key = next((key for key in keys if key.id in recipients), None)
        if key is None:
            raise damaged("There is no key for a database.")
        with open(key_path, "w") as file:
            file.write(key.text())
        return dump(path, key_path)


def open_backup(path, secret):
    content = open_file(path, secret, "backup")
    result, keys, stores, parts, hashed = {"keys": []}, [], [], None, None
    names = []
    for number, (kind, data) in enumerate(entries(content)):
        if (kind == MANIFEST) != (number == 0) or "end" in result:
            raise damaged("The entries are not in their order.")
        if kind == MANIFEST:
            result["manifest"] = json.loads(data)
            names = [(store["kind"], store["scope"]) for store in result["manifest"]["stores"]]
        elif kind == KEY and not stores and parts is None:
            cursor = Cursor(data)
            form, service, name = (cursor.counted().decode() for _ in range(3))
            held = cursor.counted()
            if not held or len(held) % 32:
                raise damaged("The keys of a source have another length.")
            held = [Kek(held[start : start + 32]) for start in range(0, len(held), 32)]
            keys += held
            # The first key seals. The others only open.
            result["keys"].append({"form": form, "service": service, "name": name, "id": held[0].id.hex()})
        elif kind == STORE and parts is None:
            cursor = Cursor(data)
            name = (cursor.counted().decode(), cursor.counted().decode())
            if name != names[len(stores)]:
                raise damaged("The manifest names another store.")
            parts, hashed = [], hashlib.sha256()
        elif kind == PART and parts is not None:
            parts.append(data)
            hashed.update(counted(data))
        elif kind == STORE_END and parts is not None:
            cursor = Cursor(data)
            if cursor.take(40) != struct.pack(">Q", len(parts)) + hashed.digest():
                raise damaged("The digest of a store is wrong.")
            state = cursor.number(1)
            problem = cursor.counted().decode() if state == 2 else None
            if state > 2 or not cursor.at_end:
                raise damaged("A store's end says what nobody knows.")
            store = {"kind": name[0], "scope": name[1], "digest": hashed.hexdigest(), "bytes": sum(map(len, parts))}
            if problem is not None:
                store["problem"] = problem
            elif state == 1:
                # A damaged database: the unchanged file follows the parts that describe how to open it.
                store["file"] = base64.b64encode(b"".join(part[4:] for part in parts if part[:4] == b"\xff" * 4)).decode()
            elif name[0] in ("encryptedSQLite", "vault"):
                store["database"] = database_content(parts, keys)
            elif name[0] == "keychain":
                store["items"] = []
                for part in parts:
                    cursor = Cursor(part)
                    store["items"].append(
                        {"namespace": cursor.counted().decode(), "name": cursor.counted().decode(), "secret": cursor.counted().decode()}
                    )
            else:
                store["content"] = base64.b64encode(b"".join(parts)).decode()
            stores.append(store)
            parts = None
        elif kind == END and parts is None:
            result["end"] = json.loads(data)
            found = [(store["kind"], store["scope"], store["digest"], store["bytes"]) for store in stores]
            if [(store["kind"], store["scope"], store["digest"], store["bytes"]) for store in result["end"]["stores"]] != found:
                raise damaged("The end names other stores.")
        else:
            raise damaged("The entries are not in their order.")
    if "end" not in result or len(stores) != len(names):
        raise damaged("The backup has no end.")
    result["stores"] = stores
    return result


def main():
    parser = argparse.ArgumentParser(description="Reads LocalData's backups and exports.")
    parser.add_argument("command", choices=("open", "lines"))
    parser.add_argument("file")
    arguments = parser.parse_args()
    secret = sys.stdin.readline().rstrip("\n")
    try:
        if arguments.command == "open":
            print(json.dumps(open_backup(arguments.file, secret), sort_keys=True, ensure_ascii=False))
        else:
            sys.stdout.write(open_file(arguments.file, secret, "export").decode())
    except Refused as error:
        print(error, file=sys.stderr)
        sys.exit(error.status)


if __name__ == "__main__":
    main()
