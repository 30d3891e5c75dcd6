#!/usr/bin/env python3
"""An independent reader and writer of LocalData's encrypted SQLite, format 1.

Written from the description in Docs/Formats.md alone, so that a fault in the Swift code and a fault in the description both show.
Needs Python 3.9 and `cryptography` (Debian: python3-cryptography).

  reader.py dump DATABASE KEYFILE      checks everything, prints the content as JSON; the key file may hold a recovery key's text
  reader.py make DATABASE KEYFILE      writes a new database from a list of records on standard input
  reader.py vectors                    prints golden vectors as JSON
  reader.py selftest                   checks the primitives against published vectors

Exit status of dump: 0 sound, 1 a promise of the format is broken, 2 the wrong key, 3 another format or an unknown feature.
"""

import argparse
import base64
import binascii
import hashlib
import hmac
import json
import math
import os
import re
import sqlite3
import struct
import sys
import unicodedata
import urllib.parse

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

APPLICATION_ID = 0x4C444231
FORMAT = 1
SCHEMA = {
    "header": "CREATE TABLE header (name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL) WITHOUT ROWID",
    "keys": "CREATE TABLE keys (key BLOB PRIMARY KEY NOT NULL, state INTEGER NOT NULL) WITHOUT ROWID",
    "wraps": "CREATE TABLE wraps (key BLOB NOT NULL, recipient BLOB NOT NULL, source BLOB NOT NULL, verifier BLOB NOT NULL,"
    " wrapped BLOB NOT NULL, PRIMARY KEY (key, recipient)) WITHOUT ROWID",
    "records": "CREATE TABLE records (id INTEGER PRIMARY KEY, slot BLOB NOT NULL, version INTEGER NOT NULL, sealed BLOB NOT NULL)",
    "state": "CREATE TABLE state (id INTEGER PRIMARY KEY, sealed BLOB NOT NULL)",
}
LABELS = "CREATE TABLE labels (label BLOB NOT NULL, slot BLOB NOT NULL, PRIMARY KEY (label, slot)) WITHOUT ROWID"
COUNTS = "CREATE TABLE counts (label BLOB PRIMARY KEY NOT NULL, sealed BLOB NOT NULL) WITHOUT ROWID"
STATES = {1: "active", 2: "decrypt-only", 3: "destroyed"}
STATE_NUMBERS = {name: number for number, name in STATES.items()}
KINDS = {1: "value", 3: "tombstone"}
KIND_NUMBERS = {name: number for number, name in KINDS.items()}
# The demands of a feature on a program that does not know it.
NEEDS = {1: "must know to read", 2: "must know to write", 3: "neither"}
KNOWN_FEATURES = {"labels": (2, [LABELS, COUNTS])}
ROW_OVERHEAD = 1 + 8 + 24 + 16
CONTEXT = "LocalData store context 1"


class Refused(Exception):
    """Why a file is not read: a sentence, and the exit status."""

    def __init__(self, status, sentence):
        super().__init__(sentence)
        self.status = status


def broken(sentence):
    return Refused(1, sentence)


def wrong_key(sentence):
    return Refused(2, sentence)


def unknown(sentence):
    return Refused(3, sentence)


# Primitives


def hmac_sha256(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


def hkdf(key, salt, info, length):
    """HKDF-SHA256 (RFC 5869)."""
    pseudorandom = hmac_sha256(salt, key)
    output, block, counter = b"", b"", 1
    while len(output) < length:
        block = hmac_sha256(pseudorandom, block + info + bytes([counter]))
        output += block
        counter += 1
    return output[:length]


def xaes_subkey(key, nonce):
    """XAES-256-GCM (c2sp.org/XAES-256-GCM): the key and the nonce for AES-256-GCM."""
    assert len(key) == 32 and len(nonce) == 24
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    zero = int.from_bytes(encryptor.update(bytes(16)), "big")
    mask = (zero << 1) & ((1 << 128) - 1)
    if zero >> 127:
        mask ^= 0x87
    derived = b""
    for counter in (1, 2):
        message = int.from_bytes(bytes([0, counter, 0x58, 0]) + nonce[:12], "big")
        derived += encryptor.update((message ^ mask).to_bytes(16, "big"))
    return derived, nonce[12:]


def seal(key, nonce, plaintext, associated):
    """Nonce, ciphertext, tag."""
    subkey, rest = xaes_subkey(key, nonce)
    return nonce + AESGCM(subkey).encrypt(rest, plaintext, associated)


def unseal(key, sealed, associated):
    """The plaintext of nonce, ciphertext, tag. Raises InvalidTag."""
    subkey, rest = xaes_subkey(key, sealed[:24])
    return AESGCM(subkey).decrypt(rest, sealed[24:], associated)


# Encoding


def counted(data):
    return struct.pack(">I", len(data)) + data


def fields(*parts):
    return b"".join(counted(part.encode() if isinstance(part, str) else part) for part in parts)


def size_class(length):
    """The padded size of `length` bytes, the 4 bytes of the content's length among them."""
    step = 128
    exponent = length.bit_length() - 1 - 3
    if exponent > 7:
        step = 1 << exponent
    return -(-length // step) * step


def padded(content):
    plaintext = counted(content)
    return plaintext + bytes(size_class(len(plaintext)) - len(plaintext))


class Cursor:
    """Reads a content from front to back."""

    def __init__(self, data, what):
        self.data, self.at, self.what = data, 0, what

    def take(self, count):
        if count > len(self.data) - self.at:
            raise broken("%s ends too early." % self.what)
        self.at += count
        return self.data[self.at - count : self.at]

    def byte(self):
        return self.take(1)[0]

    def length(self):
        return struct.unpack(">I", self.take(4))[0]

    def counted(self):
        return self.take(self.length())

    def text(self):
        return utf8(self.counted(), self.what)

    def end(self):
        if self.at != len(self.data):
            raise broken("%s has %d bytes too many." % (self.what, len(self.data) - self.at))


def utf8(data, what):
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise broken("%s holds text that is not UTF-8." % what)


# Metadata, as in record format 1: (tag, name, type)

METADATA = [
    (1, "serializer", "text"),
    (2, "typeTag", "text"),
    (3, "schemaVersion", "integer"),
    (4, "origin", "bytes"),
    (5, "sealing", "text"),
    (6, "createdAt", "time"),
    (7, "modifiedAt", "time"),
    (8, "expiresAt", "time"),
    (9, "attributes", "dictionary"),
    (10, "indexesAttributes", "no"),
]


def encode_dictionary(texts):
    entries = sorted((name.encode(), value.encode()) for name, value in texts.items())
    return b"\x09" + struct.pack(">I", len(entries)) + b"".join(counted(name) + b"\x01" + counted(value) for name, value in entries)


def decode_dictionary(data, what):
    cursor = Cursor(data, what)
    if cursor.byte() != 9:
        raise broken("%s is not a dictionary." % what)
    result, previous = {}, None
    for _ in range(cursor.length()):
        name = cursor.counted()
        if previous is not None and name <= previous:
            raise broken("%s has names out of order." % what)
        previous = name
        if cursor.byte() != 1:
            raise broken("%s has a value that is not a text." % what)
        result[utf8(name, what)] = cursor.text()
    cursor.end()
    return result


def encode_metadata(metadata):
    left, encoded = dict(metadata), []
    for tag, name, kind in METADATA:
        if name not in left:
            continue
        value = left.pop(name)
        if kind == "text":
            content = value.encode()
        elif kind == "integer":
            content = struct.pack(">q", value)
        elif kind == "bytes":
            content = base64.b64decode(value, validate=True)
        elif kind == "time":
            content = struct.pack(">d", value)
        elif kind == "no":
            if value:
                continue
            content = b""
        else:
            content = encode_dictionary(value)
        encoded.append(bytes([tag]) + counted(content))
    if left:
        raise SystemExit("Unknown metadata: %s" % ", ".join(sorted(left)))
    return bytes([len(encoded)]) + b"".join(encoded)


def decode_metadata(cursor):
    known = {tag: (name, kind) for tag, name, kind in METADATA}
    result, previous = {}, 0
    for _ in range(cursor.byte()):
        tag = cursor.byte()
        if tag <= previous:
            raise broken("%s has metadata tags out of order." % cursor.what)
        previous = tag
        if tag not in known:
            raise broken("%s has metadata with the unknown tag %d." % (cursor.what, tag))
        name, kind = known[tag]
        content = cursor.counted()
        what = "%s, metadata %s," % (cursor.what, name)
        if kind in ("integer", "time") and len(content) != 8:
            raise broken("%s does not have 8 bytes." % what)
        if kind == "text":
            result[name] = utf8(content, what)
        elif kind == "integer":
            result[name] = struct.unpack(">q", content)[0]
        elif kind == "bytes":
            result[name] = base64.b64encode(content).decode()
        elif kind == "time":
            number = struct.unpack(">d", content)[0]
            result[name] = number if math.isfinite(number) else "bits:" + content.hex()
        elif kind == "no":
            if content:
                raise broken("%s has a content." % what)
            result[name] = False
        else:
            result[name] = decode_dictionary(content, what)
    return result


# Content of a record


# A flag in the byte of the kind: the row was sealed again without a change, and its kept revision follows.
KEEPS = 0x80


def encode_content(kind, namespace, name, metadata, payload, revision=b""):
    first = kind | (KEEPS if revision else 0)
    return bytes([first]) + revision + counted(namespace) + counted(name) + encode_metadata(metadata) + counted(payload)


def decode_content(plaintext, what):
    """Undoes the padding, reads the content: kind, kept revision or None, namespace, name, metadata, payload."""
    cursor = Cursor(plaintext, what)
    content = cursor.counted()
    if len(plaintext) != size_class(len(content) + 4):
        raise broken("%s is padded to %d bytes, but its class is %d." % (what, len(plaintext), size_class(len(content) + 4)))
    if any(plaintext[4 + len(content) :]):
        raise broken("%s is padded with something else than zeros." % what)
    cursor = Cursor(content, what)
    first = cursor.byte()
    kind, revision = first & ~KEEPS, cursor.take(24) if first & KEEPS else None
    if kind not in KINDS:
        raise broken("%s has the unknown kind %d." % (what, kind))
    namespace, name = cursor.counted(), cursor.counted()
    if not 1 <= len(name) <= 1024:
        raise broken("%s has a name of %d bytes." % (what, len(name)))
    if len(namespace) > 1024:
        raise broken("%s has a namespace of %d bytes." % (what, len(namespace)))
    if any(unicodedata.category(character) == "Cc" for character in utf8(namespace, what) + utf8(name, what)):
        raise broken("%s has a control character in its name." % what)
    metadata = decode_metadata(cursor)
    payload = cursor.counted()
    cursor.end()
    if kind == 3 and payload:
        raise broken("%s is a tombstone with a payload." % what)
    return kind, revision, namespace, name, metadata, payload


# Keys


def key_id(key):
    """A key's id, computed from the key."""
    return hkdf(key, b"", b"LocalData key id 1", 8)


def key_commitment(key):
    """What a ledger records of a key."""
    return hkdf(key, b"", b"LocalData key commitment 1", 32)


class Kek:
    """The key-encryption key, from its text form."""

    FORM = re.compile(rb"LocalData-key-1 ([0-9a-f]{16}) ([A-Za-z0-9+/]{43}=)\n?")

    def __init__(self, key):
        self.id, self.key = key_id(key), key

    @classmethod
    def read(cls, path):
        try:
            with open(path, "rb") as file:
                text = file.read()
        except OSError as error:
            raise wrong_key("The key file cannot be read: %s." % error.strerror)
        match = cls.FORM.fullmatch(text)
        if not match and RecoveryKey.FORM.fullmatch(text):
            return RecoveryKey(text.decode())
        if not match:
            raise wrong_key("The key file does not hold a key in the form LocalData-key-1.")
        try:
            kek = cls(base64.b64decode(match.group(2), validate=True))
        except (binascii.Error, ValueError):
            raise wrong_key("The key file does not hold a key in the form LocalData-key-1.")
        if kek.id.hex() != match.group(1).decode():
            raise wrong_key("The id in the key file is not that of the key.")
        return kek

    def text(self):
        return "LocalData-key-1 %s %s\n" % (self.id.hex(), base64.b64encode(self.key).decode())

    def wrapping_key(self, database):
        return hkdf(self.key, database, b"LocalData SQLite 1 wrap", 32)

    def verifier(self, database):
        return hkdf(self.key, database, b"LocalData SQLite 1 verifier", 32)

    def wrap(self, key, source, nonce):
        """The row of wraps: key, recipient, source, verifier, wrapped."""
        associated = wrap_associated(key.database, key.id, self.id, source)
        wrapped = seal(self.wrapping_key(key.database), nonce, key.data, associated)
        return key.id, self.id, source, self.verifier(key.database), wrapped

    def unwrap(self, database, key, source, wrapped):
        return unseal(self.wrapping_key(database), wrapped, wrap_associated(database, key, self.id, source))


class RecoveryKey:
    """A recovery key: a pair of X25519, written down in characters."""

    FORM = re.compile(rb"(?:[0-9A-HJKMNP-TV-Z]{4}-){13}[0-9A-HJKMNP-TV-Z]{4}\n?")
    ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    SOURCE = b"recovery key"
    PURPOSE = "LocalData SQLite 1 recovery wrap"

    def __init__(self, text):
        bits = "".join(f"{self.ALPHABET.index(character):05b}" for character in text.strip().replace("-", ""))
        secret = int(bits[:256], 2).to_bytes(32, "big")
        check = hashlib.sha256(b"LocalData recovery key 1" + secret).digest()
        if bits[256:260] != "0000" or int(bits[260:], 2) != int.from_bytes(check[:3], "big") >> 4:
            raise wrong_key("The checksum of the recovery key is wrong.")
        self.private = X25519PrivateKey.from_private_bytes(secret)
        self.tagging = hkdf(secret, b"", b"LocalData recovery 1 tag", 32)
        self.public = self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.id = hashlib.sha256(b"LocalData recovery recipient 1" + self.public).digest()[:8]

    def verifier(self, database):
        return self.public

    def is_tag(self, tag, *parts):
        """Whether the tag of some fields is this key's."""
        return hmac.compare_digest(hmac_sha256(self.tagging, fields(*parts)), tag)

    def unwrap(self, database, key, source, wrapped):
        origin, sender, tag, sealed = wrapped[:16], wrapped[16:48], wrapped[48:80], wrapped[80:]
        if not self.is_tag(tag, "LocalData SQLite 1 recovery voucher", origin, sender):
            raise broken("The recovery key has not confirmed the sender of its data keys.")
        associated = fields(self.PURPOSE, database, key, self.public)
        return self.open(sealed, self.PURPOSE, associated, sender)

    def open(self, sealed, purpose, associated, sender=None):
        """What was sealed for this key, by a sender or by anybody."""
        shared = self.private.exchange(X25519PublicKey.from_public_bytes(sealed[:32]))
        if sender is not None:
            shared += self.private.exchange(X25519PublicKey.from_public_bytes(sender))
        return hpke_open(shared, sealed, self.public, purpose.encode(), associated, sender)


def hpke_open(shared, sealed, public, info, associated, sender=None):
    """RFC 9180: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM. With a sender its authenticated mode, else its base mode."""

    def extract(salt, suite, label, data):
        return hmac_sha256(salt or bytes(32), b"HPKE-v1" + suite + label + data)

    def expand(key, suite, label, data, length):
        data = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + data
        return hmac_sha256(key, data + b"\1")[:length]

    kem = b"KEM" + (0x20).to_bytes(2, "big")
    secret = expand(extract(b"", kem, b"eae_prk", shared), kem, b"shared_secret", sealed[:32] + public + (sender or b""), 32)
    suite = b"HPKE" + b"".join(number.to_bytes(2, "big") for number in (0x20, 0x01, 0x02))
    mode = b"\0" if sender is None else b"\2"
    context = mode + extract(b"", suite, b"psk_id_hash", b"") + extract(b"", suite, b"info_hash", info)
    key = extract(secret, suite, b"secret", b"")
    nonce = expand(key, suite, b"base_nonce", context, 12)
    return AESGCM(expand(key, suite, b"key", context, 32)).decrypt(nonce, sealed[32:], associated)


def wrap_associated(database, key, recipient, source):
    return fields("LocalData SQLite 1 wrap", database, key, recipient, source)


def encode_features(features):
    """Features as {name: (need, tables)}."""
    encoded = b""
    for name in sorted(features, key=str.encode):
        need, tables = features[name]
        encoded += counted(name.encode()) + bytes([need]) + struct.pack(">I", len(tables)) + fields(*tables)
    return encoded


def decode_features(data):
    cursor, features, previous = Cursor(data, "The list of features"), {}, None
    while cursor.at < len(data):
        name = cursor.counted()
        if previous is not None and name <= previous:
            raise broken("The features are not in order.")
        previous, name = name, utf8(name, "The list of features")
        need = cursor.byte()
        if need not in NEEDS:
            raise broken("The feature %s demands something unknown." % name)
        tables = [cursor.text() for _ in range(cursor.length())]
        if not all(table.startswith("CREATE TABLE ") for table in tables):
            raise broken("The feature %s brings something that is no table." % name)
        if name in KNOWN_FEATURES and (need, tables) != KNOWN_FEATURES[name]:
            raise broken("The feature %s is not declared as it must be." % name)
        if name not in KNOWN_FEATURES and need == 1:
            raise unknown("The file needs the feature %s, which is not known." % name)
        features[name] = (need, tables)
    return features


class DataKey:
    """A data key and its derived keys. If `data` is None, the key was destroyed, and has no derived keys."""

    def __init__(self, database, identifier, state, data):
        self.database, self.id, self.state, self.data = database, identifier, state, data
        if data is not None:
            self.sealing = hkdf(data, database, b"LocalData SQLite 1 seal", 32)
            self.indexing = hkdf(data, database, b"LocalData SQLite 1 index", 32)
            self.integrity = hkdf(data, database, b"LocalData SQLite 1 integrity", 32)
            self.labels = hkdf(data, database, b"LocalData SQLite 1 labels", 32)
            self.days = hkdf(data, database, b"LocalData SQLite 1 days", 32)
            self.counts = hkdf(data, database, b"LocalData SQLite 1 counts", 32)
            self.members = hkdf(data, database, b"LocalData SQLite 1 members", 32)
            self.state_key = hkdf(data, database, b"LocalData SQLite 1 state", 32)
            self.rows = hkdf(data, database, b"LocalData SQLite 1 rows", 32)

    def slot(self, namespace, name):
        return hmac_sha256(self.indexing, fields("LocalData SQLite 1 slot", "records", namespace, name))[:16]

    def label(self, namespace, kind, *parts):
        return hmac_sha256(self.labels, fields("LocalData SQLite 1 label", "records", namespace, kind, *parts))[:16]

    def hidden_day(self, day, label):
        block = bytes(a ^ b for a, b in zip(label, bytes(8) + struct.pack(">q", day)))
        encryptor = Cipher(algorithms.AES(self.days), modes.ECB()).encryptor()
        return encryptor.update(block) + encryptor.finalize()

    def count(self, label, slots):
        """What a count is sealed from: the number of slots, and the sum of their terms."""
        terms = [hmac_sha256(self.members, fields("LocalData SQLite 1 member", label, slot)) for slot in slots]
        total = sum(int.from_bytes(term, "big") for term in terms) % (1 << 256)
        return struct.pack(">q", len(terms)) + total.to_bytes(32, "big")

    def count_associated(self, label):
        return fields("LocalData SQLite 1 count", self.database, label, self.id)

    def row_term(self, slot, version, sealed):
        """What stands for a row in the sum of all rows."""
        nonce, tag = sealed[9:33], sealed[-16:]
        return hmac_sha256(self.rows, fields("LocalData SQLite 1 row", slot, struct.pack(">Q", version), nonce, tag))

    def state_associated(self):
        return fields("LocalData SQLite 1 state", self.database, self.id)

    def associated(self, slot, version):
        return fields("LocalData SQLite 1 record", self.database, "records", slot, struct.pack(">Q", version), self.id)

    def seal_row(self, slot, version, nonce, plaintext):
        return b"\x01" + self.id + seal(self.sealing, nonce, plaintext, self.associated(slot, version))


def state_of(rows, keys, commits, header, is_anchored=False):
    """What the state is sealed from: the commits, the number of rows with a term and the sum of their terms, whether there is an anchor, the header's tag."""
    terms = []
    for _, slot, version, sealed in rows:
        key = keys.get(sealed[1:9])
        if key is not None and STATES[key.state] != "destroyed":
            terms.append(int.from_bytes(key.row_term(slot, version, sealed), "big"))
    total = sum(terms) % (1 << 256)
    return struct.pack(">qq", commits, len(terms)) + total.to_bytes(32, "big") + bytes([is_anchored]) + header


class ServerKey:
    """A data key of a store on a server, and the store's index key, which no rotation replaces."""

    def __init__(self, context, database, data, index):
        self.id = key_id(data)
        self.salt = fields("LocalData server 1 store", *context, database)
        self.sealing = hkdf(data, self.salt, b"LocalData server 1 seal", 32)
        self.indexing = hkdf(index, self.salt, b"LocalData server 1 index", 32)

    def namespace(self, namespace):
        return hmac_sha256(self.indexing, fields("LocalData server 1 namespace", namespace))[:16]

    def slot(self, namespace, name):
        return hmac_sha256(self.indexing, fields("LocalData server 1 slot", namespace, name))[:16]

    def label(self, namespace, *parts):
        return hmac_sha256(self.indexing, fields("LocalData server 1 label", namespace, *parts))[:16]

    def associated(self, namespace, slot, revision):
        return fields("LocalData server 1 record", self.salt, namespace, slot, revision, self.id)

    def seal(self, place, revision, nonce, plaintext):
        return b"\x01" + self.id + seal(self.sealing, nonce, plaintext, self.associated(*place, revision))

    def open(self, place, revision, key, sealed):
        """The content of a row, if it belongs here."""
        if sealed[:9] != b"\x01" + key or key != self.id:
            raise broken("The row names another key.")
        try:
            plaintext = unseal(self.sealing, sealed[9:], self.associated(*place, revision))
        except InvalidTag:
            raise broken("The row cannot be opened: it was changed, or belongs to another store.")
        content = decode_content(plaintext, "The row")
        if (self.namespace(content[2]), self.slot(*content[2:4])) != place:
            raise broken("The row is in another slot than its name's.")
        return content


def natural_id(slot):
    return int.from_bytes(slot[:8], "big") >> 2


def tag_input(header, keys, wraps):
    """What the header's tag is over: `header` a dictionary, `keys` and `wraps` the rows."""
    entries = ["entries"]
    for name, value in sorted((name.encode(), value) for name, value in header.items() if name != "tag"):
        entries += [name, value]
    of_keys = ["keys"]
    for key, state in sorted(keys):
        of_keys += [key, bytes([state])]
    of_wraps = ["wraps"]
    for row in sorted(wraps):
        of_wraps += row
    return fields("LocalData SQLite 1 header", fields(*entries), fields(*of_keys), fields(*of_wraps))


# dump


def open_read_only(path):
    if not os.path.isfile(path):
        raise broken("There is no file %s." % path)
    with open(path, "rb") as file:
        start = file.read(100)
    if start[:16] != b"SQLite format 3\0" or len(start) < 100:
        raise broken("This is not an SQLite database.")
    if start[18:20] != b"\x02\x02":
        raise broken("The file is not in WAL mode.")
    uri = "file:%s?mode=ro" % urllib.parse.quote(os.path.abspath(path))
    if not os.path.exists(path + "-wal"):
        # No program has the file open. Without this option SQLite would create a -wal and a -shm, and leave them there.
        uri += "&immutable=1"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    connection.text_factory = bytes
    for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "query_only=ON"):
        connection.execute("PRAGMA " + pragma)
    connection.execute("BEGIN")
    return connection


def check_file(connection):
    """Whether the file is one of ours; returns the features that the header names, with which the schema has to agree."""

    def pragma(name):
        value = connection.execute("PRAGMA " + name).fetchone()[0]
        return value.decode() if isinstance(value, bytes) else value

    if pragma("application_id") != APPLICATION_ID:
        raise unknown("This is a foreign file: its application_id is 0x%08X." % (pragma("application_id") & 0xFFFFFFFF))
    if pragma("user_version") != FORMAT:
        raise unknown("This file has format %d; only format %d is known." % (pragma("user_version"), FORMAT))
    for name, expected in (("page_size", 4096), ("encoding", "UTF-8")):
        if pragma(name) != expected:
            raise broken("%s is %s, not %s." % (name, pragma(name), expected))
    findings = [row[0] for row in connection.execute("PRAGMA integrity_check")]
    if findings != [b"ok"]:
        raise broken("SQLite finds the file damaged: %s." % findings[0].decode("utf-8", "replace"))
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    features = b""
    if b"header" in tables:
        features = (connection.execute("SELECT value FROM header WHERE name = 'features'").fetchone() or (b"",))[0]
    features = decode_features(bytes(features))
    expected = sorted([*SCHEMA.values(), *(table for _, brought in features.values() for table in brought)])
    found = []
    for kind, name, table, sql in connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"):
        if kind != b"table" or table != name:
            raise broken("The schema has something that does not belong there: %s %s." % (kind.decode(), name.decode("utf-8", "replace")))
        found.append(utf8(sql, "The schema"))
    if sorted(found) != expected:
        raise broken("The tables are not declared as they must be, or not those of the features.")
    return features


def typed(connection, table, columns):
    """The rows of a table, each column checked to be of its storage class."""
    names = list(columns)
    query = "SELECT %s, %s FROM %s" % (", ".join("typeof(%s)" % name for name in names), ", ".join(names), table)
    for row in connection.execute(query):
        for name, found in zip(names, row):
            if found.decode() != columns[name]:
                raise broken("In %s, %s is stored as %s, not as %s." % (table, name, found.decode(), columns[name]))
        yield row[len(names) :]


def read_header(connection):
    header = {}
    for name, value in typed(connection, "header", {"name": "text", "value": "blob"}):
        header[utf8(name, "The header")] = value
    names = ("context", "database", "features", "formats", "tag")
    for name in header:
        if name not in names and name != "sender":
            raise broken("The header has the unknown entry %s." % name)
    for name in names:
        if name not in header:
            raise broken("The header has no entry %s." % name)
    if len(header["database"]) != 16:
        raise broken("The database's id has %d bytes." % len(header["database"]))
    if len(header["tag"]) != 32:
        raise broken("The tag has %d bytes." % len(header["tag"]))
    if not header["formats"] or sorted(set(header["formats"])) != list(header["formats"]):
        raise broken("The row formats are not in order.")
    return header


def read_context(data):
    """Application, kind and scope."""
    cursor = Cursor(data, "The context")
    if cursor.text() != CONTEXT:
        raise broken("The context is of another purpose.")
    parts = [cursor.text(), cursor.text(), cursor.text()]
    cursor.end()
    return parts


def read_keys(connection, header, kek):
    """The rows of both tables, and the data keys by their ids."""
    database = header["database"]
    keys = sorted(typed(connection, "keys", {"key": "blob", "state": "integer"}))
    columns = {"key": "blob", "recipient": "blob", "source": "blob", "verifier": "blob", "wrapped": "blob"}
    wraps = sorted(typed(connection, "wraps", columns))
    for key, state in keys:
        if len(key) != 8:
            raise broken("A data key has an id of %d bytes." % len(key))
        if state not in STATES:
            raise broken("The data key %s has the unknown state %d." % (key.hex(), state))
    if [state for _, state in keys].count(1) != 1:
        raise broken("%d data keys are active, not one." % [state for _, state in keys].count(1))
    live = {key for key, state in keys if STATES[state] != "destroyed"}
    recipients = {}
    for key, recipient, source, verifier, wrapped in wraps:
        if (len(recipient), len(verifier), len(wrapped)) != (8, 32, 160 if source == RecoveryKey.SOURCE else 72):
            raise broken("A wrap has a recipient, verifier or key of another length.")
        utf8(source, "The source of a recipient")
        recipients.setdefault(recipient, {})[key] = source
    has_recovery = any(source == RecoveryKey.SOURCE for _, _, source, _, _ in wraps)
    if len(header.get("sender", b"")) != (72 if has_recovery else 0):
        raise broken("There is a sender without a recovery key, or none where there is one.")
    for recipient, sources in recipients.items():
        if set(sources) != live or len(set(sources.values())) != 1:
            raise broken("Not every data key is wrapped for the recipient %s." % recipient.hex())
    if kek.id not in recipients:
        wanted = " or ".join(sorted(recipient.hex() for recipient in recipients))
        raise wrong_key("The key %s does not open this database; it wants %s." % (kek.id.hex(), wanted))
    found = {key: DataKey(database, key, state, None) for key, state in keys if STATES[state] == "destroyed"}
    for key, recipient, source, verifier, wrapped in wraps:
        if recipient != kek.id:
            continue
        if verifier != kek.verifier(database):
            raise wrong_key("The key has the id %s that this database wants, but is another key." % kek.id.hex())
        try:
            data = kek.unwrap(database, key, source, wrapped)
        except InvalidTag:
            raise broken("The data key %s cannot be unwrapped." % key.hex())
        if key_id(data) != key:
            raise broken("The data key %s is another key." % key.hex())
        found[key] = DataKey(database, key, dict(keys)[key], data)
    return keys, wraps, found


def read_sender(header, wraps, active):
    """Checks that the sealed sender is the one that the recovery keys have confirmed."""
    if "sender" not in header:
        return
    purpose = "LocalData SQLite 1 recovery sender"
    key = hkdf(active.data, header["database"], purpose.encode(), 32)
    try:
        secret = unseal(key, header["sender"], fields(purpose, header["database"], active.id))
    except InvalidTag:
        raise broken("The sender of recovery wraps does not open.")
    public = X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    if any(source == RecoveryKey.SOURCE and wrapped[16:48] != public for _, _, source, _, wrapped in wraps):
        raise broken("A recovery key has confirmed another sender.")


def read_record(row, keys, formats):
    number, slot, version, sealed = row
    what = "The row %d" % number
    if len(slot) != 16:
        raise broken("%s has a slot of %d bytes." % (what, len(slot)))
    if version < 1:
        raise broken("%s has the version %d." % (what, version))
    if not sealed or sealed[0] not in formats:
        raise broken("%s has a format that the header does not permit." % what)
    if sealed[0] != 1:
        raise unknown("%s has a row format that is not known." % what)
    size = len(sealed) - ROW_OVERHEAD
    if size < 128 or size_class(size) != size:
        raise broken("%s has a plaintext of %d bytes, which is no size class." % (what, size))
    key = keys.get(sealed[1:9])
    if key is None:
        raise broken("%s is sealed with %s, which is none of the database's keys." % (what, sealed[1:9].hex()))
    result = {
        "id": number,
        "pushedUp": number - natural_id(slot),
        "slot": slot.hex(),
        "version": version,
        "key": key.id.hex(),
        "keyState": STATES[key.state],
        "nonce": sealed[9:33].hex(),
        "paddedSize": size,
    }
    if key.data is None:
        return result, None
    try:
        plaintext = unseal(key.sealing, sealed[9:], key.associated(slot, version))
    except InvalidTag:
        raise broken("%s cannot be opened: it, its slot or its version was changed." % what)
    kind, revision, namespace, name, metadata, payload = decode_content(plaintext, what)
    if key.slot(namespace, name) != slot:
        raise broken("%s is in another slot than its name's." % what)
    result.update(namespace=namespace.decode(), name=name.decode(), kind=KINDS[kind], metadata=metadata)
    result["payload"] = base64.b64encode(payload).decode()
    if revision is not None:
        result["revision"] = revision.hex()
    try:
        result["text"] = payload.decode("utf-8")
    except UnicodeDecodeError:
        pass
    return result, (namespace, name)


def day_of(moment):
    """The day of a moment as the header of a record keeps it; None for what is no number."""
    if isinstance(moment, str):
        moment = struct.unpack(">d", bytes.fromhex(moment[len("bits:") :]))[0]
    if math.isnan(moment):
        return None
    if math.isinf(moment):
        return 2**52 if moment > 0 else -(2**52)
    return min(max(math.floor(moment / 86400), -(2**52)), 2**52)


def labels_of(records, keys):
    """What has to stand in the table of labels: its entries, the days in use, and the key of each label."""
    expected, days, owners = set(), {}, {}
    for record in records:
        key = keys[bytes.fromhex(record["key"])]
        if key.data is None or record.get("kind") != "value" or not record["namespace"]:
            continue
        namespace, slot, metadata = record["namespace"], bytes.fromhex(record["slot"]), record["metadata"]
        labels = [("namespace",)]
        if "typeTag" in metadata:
            labels.append(("type", metadata["typeTag"]))
        if metadata.get("indexesAttributes", True):
            labels += [("attribute", name, value) for name, value in metadata.get("attributes", {}).items()]
        else:
            labels.append(("unindexed",))
        day = day_of(metadata["modifiedAt"]) if "modifiedAt" in metadata else None
        if day is not None:
            labels.append(("day", str(day)))
            label = key.label(namespace, "days")
            days.setdefault(label, set()).add(key.hidden_day(day, label))
            owners[label] = key
        for label in labels:
            label = key.label(namespace, *label)
            expected.add((label, slot))
            owners[label] = key
    return expected, days, owners


def check_labels(entries, counts, records, keys):
    """Every value outside the namespace of values stands under its labels, nothing else does but days, and every label has its count."""
    expected, days, _ = labels_of(records, keys)
    found = set(entries)
    if expected - found:
        raise broken("%d labels are missing." % len(expected - found))
    for label, slot in found - expected:
        # The entry of a day stays after its values are gone, even if the whole namespace is empty.
        slots = {bytes.fromhex(record["slot"]) for record in records}
        if slot in slots:
            raise broken("A row stands under a label that is not its own.")
    for label, used in days.items():
        if used - {slot for other, slot in found if other == label}:
            raise broken("A day in use is not listed.")
    slots = {}
    for label, slot in found:
        slots.setdefault(label, []).append(slot)
    if set(slots) != set(counts):
        raise broken("Some labels have no count, or some counts no label.")
    for label, sealed in counts.items():
        plain = None
        for key in keys.values():
            if key.data is not None and len(sealed) == 80:
                try:
                    plain = unseal(key.counts, sealed, key.count_associated(label))
                    break
                except InvalidTag:
                    continue
        if plain is None:
            raise broken("A count cannot be opened.")
        if plain != key.count(label, slots[label]):
            raise broken("A count is not that of the entries of its label.")


def check_state(states, rows, keys, active, tag):
    """Opens the state, and checks that the header, the keys and the rows are those that were written."""
    if len(states) != 1 or states[0][0] != 1 or len(states[0][1]) != 121:
        raise broken("The table of the state is not one row.")
    try:
        plain = unseal(active.state_key, states[0][1], active.state_associated())
    except InvalidTag:
        raise broken("The state cannot be opened.")
    commits, count = struct.unpack(">qq", plain[:16])
    if plain[48] > 1:
        raise broken("The state has an unknown flag.")
    if plain[49:] != tag:
        raise broken("The header and the keys are not those of the last commit.")
    if plain != state_of(rows, keys, commits, tag, plain[48]):
        raise broken("The rows are not those that were written: the state counts %d." % count)
    return {"commits": commits, "rows": count, "isAnchored": plain[48] == 1}


def check_places(rows):
    """Going up from a slot's own id without a gap finds it, and finds it once."""
    taken = {row[0] for row in rows}
    slots = {}
    for number, slot, _, _ in rows:
        if slot in slots:
            raise broken("The rows %d and %d have the same slot." % (slots[slot], number))
        slots[slot] = number
        own = natural_id(slot)
        if number < own or number - own > len(rows):
            raise broken("The row %d is not where its slot belongs (%d)." % (number, own))
        for between in range(own, number):
            if between not in taken:
                raise broken("There is a gap at %d between the row %d and its slot's own id." % (between, number))


def dump(path, key_path):
    kek = Kek.read(key_path)
    try:
        connection = open_read_only(path)
        try:
            features = check_file(connection)
            header = read_header(connection)
            rows_of_keys, wraps, keys = read_keys(connection, header, kek)
            active = next(key for key in keys.values() if STATES[key.state] == "active")
            read_sender(header, wraps, active)
            if not hmac.compare_digest(hmac_sha256(active.integrity, tag_input(header, rows_of_keys, wraps)), header["tag"]):
                raise broken("The header's tag is wrong: header or keys were changed.")
            columns = {"id": "integer", "slot": "blob", "version": "integer", "sealed": "blob"}
            rows = sorted(typed(connection, "records", columns))
            states = list(typed(connection, "state", {"id": "integer", "sealed": "blob"}))
            has_labels = "labels" in features
            labels = list(typed(connection, "labels", {"label": "blob", "slot": "blob"})) if has_labels else []
            counts = dict(typed(connection, "counts", {"label": "blob", "sealed": "blob"})) if has_labels else {}
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise broken("SQLite cannot read the file: %s." % error)
    except UnicodeDecodeError:
        # SQLite's error text may quote content of the file, so it is not repeated.
        raise broken("SQLite cannot read the file: its schema is damaged.")
    records, names = [], {}
    for row in rows:
        record, name = read_record(row, keys, header["formats"])
        if name is not None:
            if name in names:
                raise broken("The rows %d and %d have the same name." % (names[name], row[0]))
            names[name] = row[0]
        records.append(record)
    check_places(rows)
    state = check_state(states, rows, keys, active, header["tag"])
    if has_labels:
        check_labels(labels, counts, records, keys)
    return {
        "database": header["database"].hex(),
        "context": read_context(header["context"]),
        "features": list(features),
        "formats": list(header["formats"]),
        "recipients": [
            {"id": recipient.hex(), "source": source.decode()} for recipient, source in sorted({(row[1], row[2]) for row in wraps})
        ],
        "keys": [{"id": row[0].hex(), "state": STATES[row[1]]} for row in rows_of_keys],
        "state": state,
        "records": records,
    }


# make


class Randomness:
    """Random bytes by label: from a seed, so that a file can be made again, or from the system."""

    def __init__(self, seed):
        self.seed = seed

    def take(self, label, count):
        if self.seed is None:
            return os.urandom(count)
        return hashlib.shake_256(fields("LocalData sealed SQLite fixture", str(self.seed), label)).digest(count)

    def version(self, label):
        return 1 + int.from_bytes(self.take(label, 4), "big")


def read_or_make_key(path, random, label):
    """The key in a file; one that is not there is made."""
    if os.path.exists(path):
        return Kek.read(path)
    kek = Kek(random.take(label, 32))
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(kek.text())
    return kek


def make_keys(states, database, random):
    if states.count("active") != 1 or any(state not in STATE_NUMBERS for state in states):
        raise SystemExit("--keys takes active, decrypt-only and destroyed, with exactly one active.")
    # Destroyed keys have data here, so that make_rows() can seal rows with them. The database does not get this data:
    # make_wraps() wraps only the other keys.
    data = [random.take("data key %d" % index, 32) for index in range(len(states))]
    return [DataKey(database, key_id(key), STATE_NUMBERS[state], key) for key, state in zip(data, states)]


def choose_key(keys, wanted):
    if isinstance(wanted, int):
        return keys[wanted]
    for key in keys:
        if STATES[key.state] == wanted:
            return key
    raise SystemExit("No data key is %s; see --keys." % wanted)


def neighbour(slot, index, keys, random):
    """Returns a row under a destroyed key that takes the natural id of `slot`.

    The slot of the row begins with the same 8 bytes as `slot`, and its other 8 bytes differ. A slot is a keyed hash of
    a name, so it would take too long to find a name with such a slot. A row under a destroyed key does not need such a
    name: no reader has the key of the hash, so no reader can check the slot.
    """
    key = choose_key(keys, "destroyed")
    taken = slot[:8] + random.take("neighbour slot %d" % index, 8)
    version = random.version("neighbour version %d" % index)
    plaintext = padded(encode_content(1, b"", b"neighbour %d" % index, {}, b"takes the place"))
    return taken, version, key.seal_row(taken, version, random.take("neighbour nonce %d" % index, 24), plaintext)


def make_rows(records, keys, random, collide):
    """The rows, each at the first free id from its slot's own one on, in the order of the list."""
    rows = {}

    def place(slot, version, sealed):
        number = natural_id(slot)
        while number in rows:
            number += 1
        rows[number] = (number, slot, version, sealed)

    for index, record in enumerate(records):
        unknown_fields = set(record) - {"namespace", "name", "kind", "metadata", "payload", "key", "version", "collide"}
        if unknown_fields:
            raise SystemExit("Record %d has unknown fields: %s" % (index, ", ".join(sorted(unknown_fields))))
        key = choose_key(keys, record.get("key", "active"))
        namespace, name = record.get("namespace", "").encode(), record["name"].encode()
        kind = KIND_NUMBERS[record.get("kind", "value")]
        payload = base64.b64decode(record.get("payload", ""), validate=True)
        if kind == 3 and payload:
            raise SystemExit("Record %d is a tombstone with a payload." % index)
        slot = key.slot(namespace, name)
        if record.get("collide"):
            if not collide:
                raise SystemExit("Record %d wants a neighbour in its place, which needs --collide." % index)
            place(*neighbour(slot, index, keys, random))
        version = record.get("version", random.version("version %d" % index))
        plaintext = padded(encode_content(kind, namespace, name, record.get("metadata", {}), payload))
        place(slot, version, key.seal_row(slot, version, random.take("nonce %d" % index, 24), plaintext))
    return [rows[number] for number in sorted(rows)]


def make_wraps(keys, recipients, random):
    """Each key that is not destroyed, wrapped for each (kek, source)."""
    live = [key for key in keys if STATES[key.state] != "destroyed"]
    return [
        kek.wrap(key, source.encode(), random.take("wrap nonce %d %d" % (number, index), 24))
        for number, (kek, source) in enumerate(recipients)
        for index, key in enumerate(live)
    ]


def make_header(database, context, features, keys, wraps):
    header = {
        "context": fields(CONTEXT, *context),
        "database": database,
        "features": encode_features(features),
        "formats": bytes([1]),
    }
    active = choose_key(keys, "active")
    rows = [(key.id, key.state) for key in keys]
    header["tag"] = hmac_sha256(active.integrity, tag_input(header, rows, wraps))
    return header


def make_labels(rows, keys, random):
    """Returns the entries of the table of labels, and of the table of counts, for the rows."""
    by_id = {key.id: key for key in keys}
    # A database has no labels for rows under a destroyed key. `keys` still contains the data of such keys, because
    # make_rows() sealed rows with it. So the rows are read here without this data, as a later reader will read them.
    living = {key.id: key if STATES[key.state] != "destroyed" else DataKey(key.database, key.id, key.state, None) for key in keys}
    records = [read_record(row, living, [1])[0] for row in rows]
    entries, days, owners = labels_of(records, living)
    entries |= {(label, day) for label, used in days.items() for day in used}
    slots = {}
    for label, slot in sorted(entries):
        slots.setdefault(label, []).append(slot)
    counts = []
    for number, (label, members) in enumerate(sorted(slots.items())):
        key = by_id[owners[label].id]
        plain = key.count(label, members)
        counts.append((label, seal(key.counts, random.take("count nonce %d" % number, 24), plain, key.count_associated(label))))
    return sorted(entries), counts


def make(path, key_path, states, source, others, context, features, collide, seed, records):
    random = Randomness(seed)
    if os.path.exists(path):
        raise SystemExit("%s exists." % path)
    recipients = [(read_or_make_key(key_path, random, "kek"), source)]
    recipients += [(read_or_make_key(other, random, "kek of %s" % name), name) for name, other in others]
    database = random.take("database id", 16)
    keys = make_keys(states, database, random)
    wraps = make_wraps(keys, recipients, random)
    header = make_header(database, context, features, keys, wraps)
    rows = make_rows(records, keys, random, collide)
    labels, counts = make_labels(rows, keys, random) if "labels" in features else ([], [])
    active = choose_key(keys, "active")
    state = state_of(rows, {key.id: key for key in keys}, 1, header["tag"])
    state = seal(active.state_key, random.take("state nonce", 24), state, active.state_associated())

    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("page_size=4096", "encoding='UTF-8'", "journal_mode=WAL", "synchronous=FULL"):
        connection.execute("PRAGMA " + pragma)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("PRAGMA application_id=%d" % APPLICATION_ID)
    connection.execute("PRAGMA user_version=%d" % FORMAT)
    for statement in [*SCHEMA.values(), *(table for _, tables in features.values() for table in tables)]:
        connection.execute(statement)
    connection.executemany("INSERT INTO header VALUES (?, ?)", sorted(header.items()))
    connection.executemany("INSERT INTO keys VALUES (?, ?)", sorted((key.id, key.state) for key in keys))
    connection.executemany("INSERT INTO wraps VALUES (?, ?, ?, ?, ?)", sorted(wraps))
    connection.executemany("INSERT INTO records VALUES (?, ?, ?, ?)", rows)
    connection.execute("INSERT INTO state VALUES (1, ?)", [state])
    if "labels" in features:
        connection.executemany("INSERT INTO labels VALUES (?, ?)", labels)
        connection.executemany("INSERT INTO counts VALUES (?, ?)", counts)
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


# vectors


def vectors(seed):
    random = Randomness(seed)
    keks = [Kek(random.take("kek", 32)), Kek(random.take("kek 2", 32))]
    sources = ["golden source", "second source"]
    database = random.take("database id", 16)
    keys = make_keys(["active", "decrypt-only", "destroyed"], database, random)
    wraps = make_wraps(keys, list(zip(keks, sources)), random)
    features = {"telepathy": (3, ["CREATE TABLE thoughts (thought BLOB NOT NULL)"]), "labels": KNOWN_FEATURES["labels"]}
    header = make_header(database, ("com.example.app", "sqlite", "golden"), features, keys, wraps)
    everything = {
        "serializer": "json",
        "typeTag": "Dictionary<String, Int>",
        "schemaVersion": -3,
        "origin": base64.b64encode(b"{\"boot\":\"b\"}").decode(),
        "sealing": "1:0011223344556677",
        "createdAt": 1700000000.25,
        "modifiedAt": 1795212290.3853037,
        "expiresAt": 4102444800.0,
        "attributes": {"b": "second", "a": "first", "ä": "after ASCII"},
    }
    inputs = [
        (0, 1, "", "a", {}, b""),
        (0, 1, "", "city", {"serializer": "json"}, b"\"Oslo\""),
        (0, 1, "ledger", "Grüße/日本 🗝", everything, bytes(range(256)) * 5),
        (0, 3, "", "gone", {"modifiedAt": 1795212290.5}, b""),
        (1, 1, "", "city", {"serializer": "json"}, b"\"Oslo\""),
        (0, 1, "", "n" * 1024, {}, b"x" * 5120),
        (0, 1, "", "sealed again", {"serializer": "json"}, b"\"Oslo\"", random.take("kept revision 6", 24)),
        (0, 3, "", "gone, sealed again", {"modifiedAt": 1795212290.5}, b"", random.take("kept revision 7", 24)),
    ]
    records = []
    for index, (which, kind, namespace, name, metadata, payload, *revision) in enumerate(inputs):
        key = keys[which]
        slot = key.slot(namespace.encode(), name.encode())
        version = random.version("version %d" % index)
        nonce = random.take("nonce %d" % index, 24)
        content = encode_content(kind, namespace.encode(), name.encode(), metadata, payload, *revision)
        sealed = key.seal_row(slot, version, nonce, padded(content))
        records.append(
            {
                "key": key.id.hex(),
                "kind": KINDS[kind],
                "namespace": namespace,
                "name": name,
                "metadata": metadata,
                "payload": base64.b64encode(payload).decode(),
                "revision": (revision[0] if revision else nonce).hex(),
                "slot": slot.hex(),
                "id": natural_id(slot),
                "version": version,
                "nonce": nonce.hex(),
                "associated": key.associated(slot, version).hex(),
                "plaintext": padded(content).hex(),
                "sealed": sealed.hex(),
            }
        )
    label = keys[0].label("ledger", "attribute", "a", "first")
    members = [bytes.fromhex(record["slot"]) for record in records[:3]]
    count_nonce = random.take("count nonce", 24)
    count = seal(keys[0].counts, count_nonce, keys[0].count(label, members), keys[0].count_associated(label))
    days = keys[0].label("ledger", "days")
    table = [tuple(record[name] for name in ("id", "slot", "version", "sealed")) for record in records]
    table = [(number, bytes.fromhex(slot), version, bytes.fromhex(sealed)) for number, slot, version, sealed in table]
    state_nonce = random.take("state nonce", 24)
    state = state_of(table, {key.id: key for key in keys}, 7, header["tag"], True)
    lengths = [0, 1, 14, 123, 124, 125, 252, 253, 1019, 1020, 1021, 2043, 2044, 2045, 2300, 2301]
    lengths += [4091, 4092, 4093, 5120, 65532, 65533, 1000000]
    unindexed = {"typeTag": "note", "attributes": {"a": "first"}, "indexesAttributes": False}
    return {
        "seed": seed,
        "database": database.hex(),
        "keks": [
            {
                "id": kek.id.hex(),
                "key": kek.key.hex(),
                "text": kek.text(),
                "wrappingKey": kek.wrapping_key(database).hex(),
                "verifier": kek.verifier(database).hex(),
            }
            for kek in keks
        ],
        "keys": [
            {
                "key": key.id.hex(),
                "state": key.state,
                "data": key.data.hex(),
                "sealingKey": key.sealing.hex(),
                "indexingKey": key.indexing.hex(),
                "integrityKey": key.integrity.hex(),
            }
            for key in keys
        ],
        "wraps": [
            {
                "key": key.hex(),
                "recipient": recipient.hex(),
                "source": source.decode(),
                "nonce": wrapped[:24].hex(),
                "associated": wrap_associated(database, key, recipient, source).hex(),
                "verifier": verifier.hex(),
                "wrapped": wrapped.hex(),
            }
            for key, recipient, source, verifier, wrapped in wraps
        ],
        "header": {
            "context": header["context"].hex(),
            "features": header["features"].hex(),
            "formats": header["formats"].hex(),
            "tagInput": tag_input(header, [(key.id, key.state) for key in keys], wraps).hex(),
            "tag": header["tag"].hex(),
        },
        "label": {
            "namespace": "ledger",
            "attribute": ["a", "first"],
            "label": label.hex(),
            "slots": [slot.hex() for slot in members],
            "terms": [hmac_sha256(keys[0].members, fields("LocalData SQLite 1 member", label, slot)).hex() for slot in members],
            "count": keys[0].count(label, members).hex(),
            "nonce": count_nonce.hex(),
            "associated": keys[0].count_associated(label).hex(),
            "sealed": count.hex(),
            "days": days.hex(),
            "day": 20777,
            "hiddenDay": keys[0].hidden_day(20777, days).hex(),
        },
        "state": {
            "commits": 7,
            "terms": [keys[which].row_term(*row[1:]).hex() for (which, *_), row in zip(inputs, table)],
            "plaintext": state.hex(),
            "nonce": state_nonce.hex(),
            "associated": keys[0].state_associated().hex(),
            "sealed": seal(keys[0].state_key, state_nonce, state, keys[0].state_associated()).hex(),
        },
        "records": records,
        "sizes": [{"content": length, "plaintext": size_class(length + 4)} for length in lengths],
        "unindexed": {
            "metadata": unindexed,
            "encoded": encode_metadata(unindexed).hex(),
            "label": keys[0].label("ledger", "unindexed").hex(),
        },
        "server": server_vectors(random),
    }


def server_vectors(random):
    """Rows of a store on a server: no version, no state, no place but the slot."""
    context = ("com.example.app", "postgreSQL", "main")
    database, index = random.take("server database", 16), random.take("server index", 32)
    rows = []
    for number, (namespace, name, metadata, payload) in enumerate(
        (("", "a", {}, b""), ("users", "admin/root", {"serializer": "json"}, b'"Oslo"'))
    ):
        data = random.take("server key %d" % number, 32)
        key = ServerKey(context, database, data, index)
        place, nonce = (key.namespace(namespace), key.slot(namespace, name)), random.take("server nonce %d" % number, 24)
        revision = random.take("server revision %d" % number, 16)
        plaintext = padded(encode_content(1, namespace.encode(), name.encode(), metadata, payload, b""))
        sealed = key.seal(place, revision, nonce, plaintext)
        if key.open(place, revision, key.id, sealed)[2:4] != (namespace.encode(), name.encode()):
            raise broken("A server's row does not open.")
        rows.append(
            {
                "data": data.hex(),
                "key": key.id.hex(),
                "sealingKey": key.sealing.hex(),
                "namespace": namespace,
                "name": name,
                "metadata": metadata,
                "payload": base64.b64encode(payload).decode(),
                "revision": revision.hex(),
                "namespaceIndex": place[0].hex(),
                "slot": place[1].hex(),
                "nonce": nonce.hex(),
                "associated": key.associated(*place, revision).hex(),
                "sealed": sealed.hex(),
            }
        )
    return {
        "context": list(context),
        "contextBytes": fields(CONTEXT, *context).hex(),
        "database": database.hex(),
        "index": index.hex(),
        "label": key.label("users", "attribute", "tag", "work").hex(),
        "rows": rows,
    }


# selftest


def selftest():
    def check(what, condition):
        if not condition:
            raise broken("%s: does not agree." % what)
        print("%s: agrees" % what)

    nonce = b"ABCDEFGHIJKLMNOPQRSTUVWX"
    for byte, associated, subkey, sealed in (
        (
            1,
            b"",
            "c8612c9ed53fe43e8e005b828a1631a0bbcb6ab2f46514ec4f439fcfd0fa969b",
            "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271",
        ),
        (
            3,
            b"c2sp.org/XAES-256-GCM",
            "e9c621d4cdd9b11b00a6427ad7e559aeedd66b3857646677748f8ca796cb3fd8",
            "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d",
        ),
    ):
        key = bytes([byte]) * 32
        check("C2SP vector %d, derived key" % byte, xaes_subkey(key, nonce) == (bytes.fromhex(subkey), nonce[12:]))
        check("C2SP vector %d, sealed" % byte, seal(key, nonce, b"XAES-256-GCM", associated) == nonce + bytes.fromhex(sealed))
        check("C2SP vector %d, opened" % byte, unseal(key, nonce + bytes.fromhex(sealed), associated) == b"XAES-256-GCM")

    stream, at, result = hashlib.shake_128().digest(10000 * (32 + 24 + 2 * 256)), 0, hashlib.shake_128()
    for _ in range(10000):
        parts = []
        for length in (32, 24, None, None):
            if length is None:
                length = stream[at]
                at += 1
            parts.append(stream[at : at + length])
            at += length
        result.update(seal(*parts)[24:])
    expected = "e6b9edf2df6cec60c8cbd864e2211b597fb69a529160cd040d56c0c210081939"
    check("C2SP accumulated vector, 10,000 rounds", result.hexdigest(32) == expected)

    output = hkdf(bytes([0x0B]) * 22, bytes(range(13)), bytes(range(0xF0, 0xFA)), 42)
    check("RFC 5869, A.1", output.hex() == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")

    for length in range(1, 70000):
        step = max(128, 2.0 ** (math.floor(math.log2(length)) - 3))
        if size_class(length) != math.ceil(length / step) * step:
            raise broken("The size class of %d: does not agree." % length)
    print("size classes: agree with the formula")


def print_json(value):
    json.dump(value, sys.stdout, indent=2, sort_keys=False, ensure_ascii=False, allow_nan=False)
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("dump", help="check a database and print what is in it")
    command.add_argument("database")
    command.add_argument("key_file")
    command = commands.add_parser("make", help="write a new database from records on standard input")
    command.add_argument("database")
    command.add_argument("key_file", help="made if it is not there")
    command.add_argument("--keys", default="active", help="states of the data keys, for instance active,decrypt-only,destroyed")
    command.add_argument("--source", default="test", help="the name of the key file's source")
    command.add_argument("--recipient", nargs=2, action="append", default=[], metavar=("SOURCE", "KEYFILE"), help="one more recipient")
    command.add_argument("--context", nargs=3, default=["test", "sqlite", "store"], metavar=("APPLICATION", "KIND", "SCOPE"))
    command.add_argument("--labels", action="store_true", help="with the feature labels: values outside the namespace of values have some")
    command.add_argument("--feature", action="append", default=[], metavar="NAME:NEED[:TABLE]", help="a feature, with the statement of its table if it has one")
    command.add_argument("--collide", action="store_true", help='a record with "collide": true finds its own id taken')
    command.add_argument("--seed", type=int, help="everything random comes from this number: for golden files only")
    command = commands.add_parser("vectors", help="print golden vectors")
    command.add_argument("--seed", type=int, default=1)
    commands.add_parser("selftest", help="check the primitives against published vectors")
    arguments = parser.parse_args()
    sys.stdout.reconfigure(encoding="utf-8")
    try:
        if arguments.command == "dump":
            print_json(dump(arguments.database, arguments.key_file))
        elif arguments.command == "make":
            records = json.load(sys.stdin)
            states = arguments.keys.split(",")
            features = dict((name, (int(need), tables)) for name, need, *tables in (feature.split(":", 2) for feature in arguments.feature))
            if arguments.labels:
                features["labels"] = KNOWN_FEATURES["labels"]
            make(
                arguments.database,
                arguments.key_file,
                states,
                arguments.source,
                arguments.recipient,
                arguments.context,
                features,
                arguments.collide,
                arguments.seed,
                records,
            )
        elif arguments.command == "vectors":
            print_json(vectors(arguments.seed))
        else:
            selftest()
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        sys.exit(refusal.status)


if __name__ == "__main__":
    main()
