"""Writes the test vectors of RFC 9180 as the files in this folder: one line for each setup, and one line for each message.

usage: python3 compact.py test-vectors.json
"""
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SETUP = ["info", "enc", "skEm", "skRm", "pkRm", "skSm", "pkSm", "shared_secret", "key", "base_nonce"]
MESSAGE = ["aad", "pt", "ct"]

setups, messages = [" ".join(["mode", *SETUP])], [" ".join(["mode", "number", *MESSAGE])]
for vector in json.loads(Path(sys.argv[1]).read_text()):
    # The modes base and auth of DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM.
    if (vector["kem_id"], vector["kdf_id"], vector["aead_id"]) != (0x20, 1, 2) or vector["mode"] not in (0, 2):
        continue
    mode = {0: "base", 2: "auth"}[vector["mode"]]
    setups.append(" ".join([mode, *(vector.get(field) or "-" for field in SETUP)]))
    for number, message in enumerate(vector["encryptions"]):
        messages.append(" ".join([mode, str(number), *(message[field] or "-" for field in MESSAGE)]))
(HERE / "setups.txt").write_text("\n".join(setups) + "\n")
(HERE / "messages.txt").write_text("\n".join(messages) + "\n")
print(f"{len(setups) - 1} setups, {len(messages) - 1} messages")
