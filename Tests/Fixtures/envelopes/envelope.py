#!/usr/bin/env python3
"""An independent reader and writer of LocalData's sealed values (envelopes), sealing format 1.

Written from the description in Docs/Formats.md alone. Needs Python 3.9 and `cryptography` (Debian: python3-cryptography).

  envelope.py vectors                                        prints golden vectors as JSON
  envelope.py open LIST KEYFILE APPLICATION SUITE NAME       opens a sealed value of a property list, prints its content
  envelope.py open --namespace NAMESPACE …                   the same, in another part of the list

Exit status of open: 0 opened, 1 damaged or brought from elsewhere, 2 the wrong key.
"""

import argparse
import base64
import json
import os
import plistlib
import sys

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sealed-sqlite"))
from reader import Kek, Randomness, Refused, encode_metadata, fields, hkdf, key_id  # noqa: E402

PURPOSES = ("value", "origin", "removal", "quarantine")


def associated(purpose, application, kind, scope, *parts):
    """The associated data: the purpose, the store, and what follows."""
    return fields("LocalData envelope 1 " + purpose, application, kind, scope, *parts)


def message_key(key, purpose, salt):
    return hkdf(key, salt, b"LocalData envelope 1 " + purpose.encode(), 32)


def seal(key, purpose, salt, nonce, content, data):
    return b"\x01" + key_id(key) + salt + nonce + AESGCM(message_key(key, purpose, salt)).encrypt(nonce, content, data)


def unseal(key, purpose, sealed, data):
    if len(sealed) < 69 or sealed[0] != 1:
        raise Refused(1, "The bytes are not a sealed value.")
    if sealed[1:9] != key_id(key):
        raise Refused(2, "Another key sealed the value.")
    salt, nonce = sealed[9:41], sealed[41:53]
    try:
        return AESGCM(message_key(key, purpose, salt)).decrypt(nonce, sealed[53:], data)
    except InvalidTag:
        raise Refused(1, "The seal does not match the value, its place, or what stands beside it.")


FACTS = ("serializer", "typeTag", "schemaVersion", "sealing", "createdAt", "modifiedAt", "expiresAt", "attributes")


def open_list(arguments):
    with open(arguments.list, "rb") as file:
        everything = plistlib.load(file)
    own = everything["LocalData.metadata"]
    if arguments.namespace:
        slot = own["namespaces"][arguments.namespace][arguments.name]
        value, facts = slot["value"], slot["metadata"]
    else:
        value, facts = everything[arguments.name], own["entries"][arguments.name]
    metadata = {name: facts[name] for name in FACTS if name in facts}
    if "origin" in facts:
        metadata["origin"] = base64.b64encode(facts["origin"]).decode()
    place = (arguments.suite, arguments.namespace, arguments.name)
    data = associated("value", arguments.application, "userDefaults", *place, encode_metadata(metadata))
    sys.stdout.buffer.write(unseal(Kek.read(arguments.key).key, "value", value, data))


def vectors(seed):
    random = Randomness(seed)
    key = random.take("key", 32)
    metadata = {
        "serializer": "json",
        "typeTag": "Account",
        "schemaVersion": 3,
        "origin": base64.b64encode(b"an origin").decode(),
        "sealing": "1:" + key_id(key).hex(),
        "createdAt": 1700000000.25,
        "modifiedAt": 1700000001.5,
        "expiresAt": 1800000000.0,
        "attributes": {"name": "text", "syncStatus": "synced"},
    }
    cases = []
    for number, purpose in enumerate(PURPOSES):
        for content in (b"", b"content", bytes(100)):
            store = ("com.example", "userDefaults", "suite")
            texts = ["collection:users", "admin/root"][: 2 - number % 2]
            data = associated(purpose, *store, *texts, encode_metadata(metadata))
            salt, nonce = (random.take("%s %s %d" % (part, purpose, len(content)), size) for part, size in (("salt", 32), ("nonce", 12)))
            sealed = seal(key, purpose, salt, nonce, content, data)
            assert unseal(key, purpose, sealed, data) == content
            cases.append(
                {
                    "purpose": purpose,
                    "store": list(store),
                    "texts": texts,
                    "content": content.hex(),
                    "associated": data.hex(),
                    "salt": salt.hex(),
                    "nonce": nonce.hex(),
                    "messageKey": message_key(key, purpose, salt).hex(),
                    "sealed": sealed.hex(),
                }
            )
    return {
        "seed": seed,
        "key": key.hex(),
        "id": key_id(key).hex(),
        "metadata": metadata,
        "metadataBytes": encode_metadata(metadata).hex(),
        "quarantineName": hkdf(key, b"", b"LocalData quarantine name 1", 32).hex(),
        "envelopes": cases,
    }


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("vectors")
    command.add_argument("--seed", type=int, default=1)
    command = commands.add_parser("open")
    command.add_argument("--namespace", default="")
    for name in ("list", "key", "application", "suite", "name"):
        command.add_argument(name)
    arguments = parser.parse_args()
    try:
        if arguments.command == "vectors":
            print(json.dumps(vectors(arguments.seed), indent=2))
        else:
            open_list(arguments)
    except Refused as refused:
        print(refused, file=sys.stderr)
        sys.exit(refused.status)


main()
