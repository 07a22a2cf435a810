#!/usr/bin/env python3
"""`make page`: writes the files of Client/WebPage into the daemon's table, packed with gzip."""

import base64
import gzip
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
            yield file, UNSENT.sub(b"", data) if file.suffix in {".css", ".js"} else data


def main():
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
