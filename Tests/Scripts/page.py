#!/usr/bin/env python3
"""`make page`: writes the files of Client/WebPage into the daemon's table, packed with gzip.

The service worker sw.js names the hash of each file, and index.html the version, a hash of all of them. Both are
written into the folder first.
"""

import base64
import gzip
import hashlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "Client/WebPage"
TABLE = ROOT / "Client/SyncDaemon/Web/WebPageTable.swift"
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
}

# A line that is a comment whole, and what stands before a line's first word: kept in the folder, and not sent.
UNSENT = re.compile(rb"^[ \t]*(?://[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/[ \t]*\n)|^[ \t]+", re.MULTILINE)

# Blanks of a stylesheet that separate nothing; nor does a semicolon at the end of a rule.
BLANKS = re.compile(rb"(?<=[;{]) +| +(?=[{}])|(?<=[a-z]:) (?!\")")

HEAD = """// swift-format-ignore-file
// Written by `make page` from the files in Client/WebPage; a test compares the two.

extension WebPage {
  /// Every file, by its path.
  static let files: [File] = [
"""


def served(folder=PAGE):
    """The files that a browser can ask for, each with what is sent of it."""
    for file in sorted(folder.glob("*")):
        if file.suffix in MEDIA_TYPES:
            data = file.read_bytes()
            if file.suffix in {".css", ".js"}:
                data = UNSENT.sub(b"", data)
            yield file, BLANKS.sub(b"", data).replace(b";}", b"}") if file.suffix == ".css" else data


WORKER = "sw.js"
VERSION = re.compile(rb'(?<=<meta name="cospool-version" content=")\w*(?=">)|(?<=^const VERSION = \')\w*(?=\')', re.MULTILINE)
HASHES = re.compile(rb"(?<=^const FILES = \{\n)[^}]*(?=^\})", re.MULTILINE)


def hashes(folder=PAGE, version=b""):
    """The hash of each file that the service worker keeps, by its path, with the version written into it."""
    return {
        "/" if file.name == "index.html" else f"/{file.name}": hashlib.sha256(VERSION.sub(version, data)).hexdigest()[:16]
        for file, data in served(folder) if file.name != WORKER}


def name_versions(folder=PAGE):
    """Writes the version and the hashes into the files that name them."""
    version = hashlib.sha256(repr(hashes(folder)).encode()).hexdigest()[:16].encode()
    named = "".join(f"  '{path}': '{each}',\n" for path, each in hashes(folder, version).items()).encode()
    for name in ("index.html", WORKER):
        file = folder / name
        before = file.read_bytes()
        after = HASHES.sub(named, VERSION.sub(version, before))
        if after != before:
            file.write_bytes(after)


def main():
    name_versions()
    rows = []
    total = 0
    for file, data in served():
        packed = gzip.compress(data, 9, mtime=0)
        total += len(packed)
        rows.append(
            f'    File(path: "{file.name}", '
            f'mediaType: "{MEDIA_TYPES[file.suffix]}", '
            f'packed: "{base64.b64encode(packed).decode()}"),\n'
        )
    text = HEAD + "".join(rows) + "  ]\n}\n"
    if not TABLE.exists() or TABLE.read_text() != text:
        TABLE.write_text(text)
    print(f"{len(rows)} files, {total} bytes packed")


if __name__ == "__main__":
    sys.exit(main())
