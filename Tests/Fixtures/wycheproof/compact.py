"""Writes the vectors of Project Wycheproof as the files in this folder: one line for each vector.

usage: python3 compact.py TESTVECTORS    (the folder testvectors_v1 of https://github.com/C2SP/wycheproof)
"""
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

#: The name of a file here, the published file, the fields to keep, and the vectors to keep.
FILES = [
    ("aes-256-gcm.txt", "aes_gcm_test.json", ["key", "iv", "aad", "msg", "ct", "tag"], lambda group: group["keySize"] == 256),
    ("hkdf-sha256.txt", "hkdf_sha256_test.json", ["ikm", "salt", "info", "size", "okm"], lambda group: True),
    ("hmac-sha256.txt", "hmac_sha256_test.json", ["key", "msg", "tag"], lambda group: True),
    ("x25519.txt", "x25519_test.json", ["public", "private", "shared"], lambda group: True),
]

for name, published, fields, is_kept in FILES:
    vectors = json.loads((Path(sys.argv[1]) / published).read_text())
    lines = [" ".join(["tcId", "result", "flags", *fields])]
    for group in filter(is_kept, vectors["testGroups"]):
        for test in group["tests"]:
            values = [test["tcId"], test["result"], ",".join(test["flags"]), *(test[field] for field in fields)]
            lines.append(" ".join(str(value) or "-" for value in values))
    (HERE / name).write_text("\n".join(lines) + "\n")
    print(f"{name}: {len(lines) - 1} of {vectors['numberOfTests']} vectors")
