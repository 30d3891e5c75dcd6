"""Writes format-1.plist: format 1 of the property list, made without any code of the package, from the description of the format alone.

Run it with `python3 make-format-1.py > format-1.plist`. The result must stay unchanged, because every later version must read it. So do not
replace the file with a new result.
"""

import base64
import hashlib
import struct
import zlib


def counted(content):
    return struct.pack(">I", len(content)) + content


def canonical(value):
    kind, content = value
    if kind == "string":
        return b"\x01" + counted(content.encode())
    if kind == "integer":
        return b"\x02" + struct.pack(">q", content)
    if kind == "date":
        return b"\x06" + struct.pack(">d", content)
    if kind == "data":
        return b"\x07" + counted(content)
    raise ValueError(kind)


def digest(value):
    return hashlib.sha256(canonical(value)).digest()[:16].hex()


def revision(last):
    return b"\xa0" * 15 + bytes([last])


def record(value, last):
    body = b"LDR\x01\x02" + counted(revision(last)) + b"\x00" + counted(canonical(value))
    return body + struct.pack(">I", zlib.crc32(body))


def data(content):
    return f"<data>{base64.b64encode(content).decode()}</data>"


def entry(name, last, value=None, form=None, more=""):
    tied = f"<key>digest</key><string>{digest(value)}</string>" if value else "<key>tombstone</key><true/>"
    if form and form != "native":
        tied += f"<key>form</key><string>{form}</string>"
    return f"<key>{name}</key><dict>{tied}<key>revision</key><string>{revision(last).hex()}</string>{more}</dict>"


odd = record(("string", "a\x01b"), 4)
known = (
    "<key>serializer</key><string>json</string><key>typeTag</key><string>Theme</string><key>schemaVersion</key><integer>2</integer>"
    f"<key>origin</key>{data(bytes([1, 2, 3]))}<key>sealing</key><string>none</string><key>createdAt</key><real>1700000000.5</real>"
    "<key>modifiedAt</key><real>1700000001</real><key>expiresAt</key><real>1.9e9</real>"
    "<key>attributes</key><dict><key>by</key><string>test</string></dict>"
)
exact = f"<key>exact</key>{data(record(('date', 725760000.5), 3))}"
print('<?xml version="1.0" encoding="UTF-8"?>')
print('<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">')
print('<plist version="1.0">')
print("<dict>")
print(f"<key>blob</key>{data(bytes([0, 255]))}")
print("<key>changed</key><string>by somebody else</string>")
print(f"<key>odd</key>{data(odd)}")
print("<key>theirs</key><integer>7</integer>")
print("<key>theme</key><string>dark</string>")
print("<key>when</key><date>2024-01-01T00:00:00Z</date>")
print("<key>LocalData.metadata</key>")
print("<dict>")
print("<key>format</key><integer>1</integer>")
print("<key>entries</key>")
print("<dict>")
print(entry("blob", 2, ("data", bytes([0, 255])), "bytes"))
print(entry("changed", 7, ("string", "what we wrote"), "native"))
print(entry("gone", 5, more=f"<key>origin</key>{data(bytes([9]))}"))
print(entry("odd", 4, ("data", odd), "record"))
print(entry("theme", 1, ("string", "dark"), "native", known))
print(entry("vanished", 8, ("integer", 1), "native"))
print(entry("when", 3, ("date", 725760000.0), "exact", exact))
print("</dict>")
print("<key>namespaces</key>")
print("<dict><key>ledger</key><dict><key>entry</key><dict>")
print(f"<key>value</key>{data(bytes([4, 5]))}")
print(entry("metadata", 6, ("data", bytes([4, 5])), "bytes"))
print("</dict></dict></dict>")
print("</dict>")
print("</dict>")
print("</plist>")
