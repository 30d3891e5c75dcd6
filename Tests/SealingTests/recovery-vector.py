"""Makes the text of a recovery key and something sealed for it (Docs/Formats.md, "Recovery key") without any code of this library.

usage: python3 recovery-vector.py    (needs the package `cryptography`)

HPKE is written here from RFC 9180: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM; base mode, and authenticated mode.
"""
import hashlib
import hmac

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
secret = bytes(range(1, 33))
ephemeral = bytes(range(101, 133))
own = bytes(range(201, 233))
origin = bytes(range(16))
purpose = b"LocalData vector"
associated = b"of this test"
content = b"a data key"


def characters(data, count):
    bits = "".join(f"{byte:08b}" for byte in data).ljust(count * 5, "0")
    return "".join(ALPHABET[int(bits[place:place + 5], 2)] for place in range(0, count * 5, 5))


def text(key):
    whole = characters(key, 52) + characters(hashlib.sha256(b"LocalData recovery key 1" + key).digest(), 4)
    return "-".join(whole[place:place + 4] for place in range(0, 56, 4))


def public(key):
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def extract(salt, suite, label, ikm):
    return hmac.new(salt or bytes(32), b"HPKE-v1" + suite + label + ikm, hashlib.sha256).digest()


def expand(prk, suite, label, info, length):
    info = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    out, block = b"", b""
    while len(out) < length:
        block = hmac.new(prk, block + info + bytes([len(out) // 32 + 1]), hashlib.sha256).digest()
        out += block
    return out[:length]


def fields(*parts):
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def hkdf(secret, info):
    return hmac.new(hmac.new(b"", secret, hashlib.sha256).digest(), info + b"\1", hashlib.sha256).digest()


def sealed(own):
    """The content, sealed by nobody or by somebody."""
    recipient, message = X25519PrivateKey.from_private_bytes(secret), X25519PrivateKey.from_private_bytes(ephemeral)
    target = X25519PublicKey.from_public_bytes(public(recipient))
    kem = b"KEM" + (0x20).to_bytes(2, "big")
    shared, parties = message.exchange(target), public(message) + public(recipient)
    if own:
        shared, parties = shared + own.exchange(target), parties + public(own)
    shared = expand(extract(b"", kem, b"eae_prk", shared), kem, b"shared_secret", parties, 32)
    suite = b"HPKE" + b"".join(number.to_bytes(2, "big") for number in (0x20, 0x01, 0x02))
    mode = b"\2" if own else b"\0"
    context = mode + extract(b"", suite, b"psk_id_hash", b"") + extract(b"", suite, b"info_hash", purpose)
    prk = extract(shared, suite, b"secret", b"")
    key, nonce = expand(prk, suite, b"key", context, 32), expand(prk, suite, b"base_nonce", context, 12)
    return public(message) + AESGCM(key).encrypt(nonce, content, associated)


own = X25519PrivateKey.from_private_bytes(own)
confirmed = fields(b"LocalData SQLite 1 recovery voucher", origin, public(own))
print("text", text(secret))
print("public half", public(X25519PrivateKey.from_private_bytes(secret)).hex())
print("sealed by nobody", sealed(None).hex())
print("sender", public(own).hex())
print("sealed by the sender", sealed(own).hex())
print("voucher", (origin + public(own) + hmac.new(hkdf(secret, b"LocalData recovery 1 tag"), confirmed, hashlib.sha256).digest()).hex())
