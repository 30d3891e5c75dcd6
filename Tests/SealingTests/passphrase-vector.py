"""Makes a passphrase file (Docs/Formats.md, "Passphrase file") without any code of this library, and prints it in hexadecimal.

usage: python3 passphrase-vector.py    (needs the package `cryptography`)
"""
import hashlib
import hmac

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

log_n, r, p = 10, 8, 2
salt = bytes(range(32))
nonce = bytes(range(100, 124))
passphrase = "Zo\u00eb 7".encode()
content = bytes([0xA7] * 32)

head = b"LDP\x01" + bytes([log_n]) + r.to_bytes(4, "big") + p.to_bytes(4, "big") + salt
key = hashlib.scrypt(passphrase, salt=salt, n=1 << log_n, r=r, p=p, dklen=32, maxmem=1 << 26)
# HKDF-SHA256 without a salt, one block.
secret = hmac.digest(bytes(32), key, "sha256")
head += hmac.digest(secret, b"LocalData key commitment 1\x01", "sha256")


def aes(block):
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return encryptor.update(block) + encryptor.finalize()


zero = int.from_bytes(aes(bytes(16)), "big")
k1 = (zero << 1) % (1 << 128) ^ (0x87 if zero >> 127 else 0)
message_key = b"".join(
    aes((int.from_bytes(bytes([0, i, 0x58, 0]) + nonce[:12], "big") ^ k1).to_bytes(16, "big")) for i in (1, 2)
)
fields = b"".join(len(field).to_bytes(4, "big") + field for field in (b"LocalData passphrase 1", head))
sealed = AESGCM(message_key).encrypt(nonce[12:], content, fields)
body = head + nonce + sealed
print((body + hashlib.sha256(body).digest()[:8]).hex())
