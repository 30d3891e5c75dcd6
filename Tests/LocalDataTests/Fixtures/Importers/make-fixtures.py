#!/usr/bin/env python3
"""Writes the fixtures of the importers, with the property lists of Python's plistlib: files of UserDefaults and of NSKeyedArchiver as macOS
writes them, and damaged ones.

usage: make-fixtures.py        writes the files beside this script
       make-fixtures.py FOLDER writes them into a folder
"""
import datetime
import plistlib
import sys
import uuid
from pathlib import Path
from plistlib import UID

BINARY, XML = plistlib.FMT_BINARY, plistlib.FMT_XML
FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
# The secret that must be in no error.
SECRET = "correct horse battery staple"
BORN = datetime.datetime(2001, 1, 1, 0, 0, 0) + datetime.timedelta(seconds=1000)


def write(name, content, form=BINARY):
    (FOLDER / name).write_bytes(content if isinstance(content, bytes) else plistlib.dumps(content, fmt=form, sort_keys=False))


class Archive:
    """The objects of an archive. Reference 0 is null."""

    def __init__(self):
        self.objects = ["$null"]
        self.classes = {}

    def add(self, content):
        self.objects.append(content)
        return UID(len(self.objects) - 1)

    def of(self, name, fields, *ancestors):
        if name not in self.classes:
            self.classes[name] = self.add({"$classname": name, "$classes": [name, *ancestors, "NSObject"]})
        return self.add({**fields, "$class": self.classes[name]})

    def list(self, *members, name="NSArray", ancestors=()):
        return self.of(name, {"NS.objects": list(members)}, *ancestors)

    def dictionary(self, pairs):
        return self.of("NSDictionary", {"NS.keys": [k for k, _ in pairs], "NS.objects": [v for _, v in pairs]})

    def root(self, root, **changes):
        whole = {"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": root}, "$objects": self.objects, **changes}
        return {name: content for name, content in whole.items() if content is not None}


def for_xml(content):
    """XML represents a reference as a dictionary."""
    if isinstance(content, UID):
        return {"CF$UID": content.data}
    if isinstance(content, dict):
        return {name: for_xml(value) for name, value in content.items()}
    if isinstance(content, list):
        return [for_xml(value) for value in content]
    return content


def profile():
    a = Archive()
    base = a.of("NSURL", {"NS.base": UID(0), "NS.relative": a.add("https://example.com/a/")})
    name = a.add(SECRET)
    return a.root(
        a.of("Old.Profile", {
            "name": name,
            "alias": name,
            "age": 42,
            "height": 1.75,
            "admin": True,
            "nickname": UID(0),
            "absent": a.of("NSNull", {}),
            "born": a.of("NSDate", {"NS.time": 1000.0}),
            "photo": a.of("NSMutableData", {"NS.data": b"\x00\xff\x10"}, "NSData"),
            "note": a.of("NSMutableString", {"NS.string": "two\nlines"}, "NSString"),
            "id": a.of("NSUUID", {"NS.uuidbytes": uuid.UUID("12345678-9ABC-DEF0-1234-56789ABCDEF0").bytes}),
            "site": a.of("NSURL", {"NS.base": base, "NS.relative": a.add("b?c=d#e")}),
            "tags": a.list(a.add("red"), a.add("blue"), name="NSMutableArray", ancestors=["NSArray"]),
            "colors": a.list(a.add("green"), name="NSSet"),
            "scores": a.dictionary([(a.add("a"), a.add(1)), (a.add("b"), a.add(2.5))]),
            "byNumber": a.dictionary([(a.add(7), a.add("seven"))]),
            "owner": a.of("Old.Owner", {"name": a.add("Sam")}),
        }))


def laughs():
    a = Archive()
    last = a.add("ha" * 50)
    for _ in range(12):
        last = a.list(*[last] * 10)
    return a.root(last)


def nested(levels):
    a = Archive()
    last = a.add("deep")
    for _ in range(levels):
        last = a.list(last)
    return a.root(last)


def binary(objects, root=0, count=None):
    """A binary list from the bytes of its objects."""
    body, offsets = b"bplist00", []
    for content in objects:
        offsets.append(len(body))
        body += content
    trailer = bytes([0, 0, 0, 0, 0, 0, 2, 1]) + b"".join(n.to_bytes(8, "big") for n in (count or len(objects), root, len(body)))
    return body + b"".join(n.to_bytes(2, "big") for n in offsets) + trailer


def text(words):
    return bytes([0x50 | len(words)]) + words.encode()


defaults = {
    "text": SECRET, "unicode": "Grüße 😀", "integer": 42, "negative": -7, "unsigned": 2**63 + 5, "real": 1.25, "yes": True, "no": False,
    "date": BORN, "data": b"\x00\x01\xfe", "list": ["a", 1, False], "dictionary": {"a": 1, "b": {"c": "d"}}, "NSWindow Frame main": "0 0 9 9",
}
write("defaults.plist", defaults)
write("defaults-xml.plist", {name: value for name, value in defaults.items()}, XML)
write("profile.archive", profile())
write("profile-xml.archive", for_xml(profile()), XML)
write("defaults-with-archive.plist", {"profile": plistlib.dumps(profile(), fmt=BINARY), "other": "text"})

# Damage of property lists.
whole = plistlib.dumps(defaults, fmt=BINARY)
write("truncated.plist", whole[: len(whole) // 2])
write("truncated-xml.plist", plistlib.dumps(defaults, fmt=XML)[:300])
write("duplicate-name.plist", binary([b"\xd2\x01\x02\x03\x03", text("a"), text("a"), text(SECRET[:14])]))
write("huge-count.plist", binary([b"\xd1\x01\x02", text("a"), b"\xaf\x13" + (2**60).to_bytes(8, "big")]))
write("self-containing.plist", binary([b"\xd1\x01\x00", text("a")]))
write("wide-integer.plist", binary([b"\xd1\x01\x02", text("a"), b"\x14" + (2**100).to_bytes(16, "big")]))
write("empty.plist", b"")

# Damage of archives.
a = Archive()
whole = plistlib.dumps(profile(), fmt=BINARY)
write("truncated.archive", whole[:-40])
write("no-archive.archive", {"text": SECRET})
write("other-archiver.archive", {**profile(), "$archiver": "Other"})
write("other-version.archive", {**profile(), "$version": 99})
a = Archive()
write("no-object.archive", a.root(UID(99)))
a = Archive()
inner = a.list(UID(4))
outer = a.list(inner)
assert outer.data == 3 and inner.data == 2
a.objects[inner.data]["NS.objects"] = [outer]
write("cycle.archive", a.root(outer))
a = Archive()
write("own-class.archive", a.root(a.add({"$class": UID(1), "text": SECRET})))
a = Archive()
write("no-class.archive", a.root(a.add({"text": SECRET})))
a = Archive()
write("list-without-class.archive", a.root(a.add([UID(0)])))
a = Archive()
write("duplicate-name.archive", a.root(a.dictionary([(a.add("a"), a.add(SECRET)), (a.add("a"), a.add("other"))])))
a = Archive()
broken = a.dictionary([(a.add("a"), a.add(SECRET))])
a.objects[broken.data]["NS.objects"] = []
write("missing-value.archive", a.root(broken))
a = Archive()
write("list-as-name.archive", a.root(a.dictionary([(a.list(a.add("a")), a.add(SECRET))])))
a = Archive()
write("short-uuid.archive", a.root(a.of("NSUUID", {"NS.uuidbytes": b"\x01\x02"})))
a = Archive()
write("text-as-date.archive", a.root(a.of("NSDate", {"NS.time": SECRET})))
write("laughs.archive", laughs())
write("deep.archive", nested(100))
write("nested.archive", nested(40))
a = Archive()
write("null-in-list.archive", a.root(a.list(a.add("a"), UID(0))))
write("negative-reference-xml.archive", for_xml({**Archive().root(UID(0)), "$top": {"root": {"CF$UID": -1}}}), XML)
