#!/usr/bin/env python3
"""Prints the commands that the image and compose.yaml start, one word per line.

Usage: image_words.py KIND. KIND is entrypoint, command, health or variables of the Dockerfile, or compose:
the command of its server, where COSPOOL_HOST is cospool.example.org.
"""

import json
import pathlib
import re
import shlex
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "Server/Packaging"
HOST = "cospool.example.org"


def dockerfile(kind):
    text = re.sub(r"\\\n", " ", (FOLDER / "Dockerfile").read_text())
    pattern = {
        "entrypoint": r"^ENTRYPOINT (\[.*\])$",
        "command": r"^CMD (\[.*\])$",
        "health": r"^HEALTHCHECK .* CMD (\[.*\])$",
        "variables": r"^ENV (.*)$",
    }[kind]
    found = re.findall(pattern, text, re.MULTILINE)
    if len(found) != 1:
        sys.exit(f"image_words: the Dockerfile has {len(found)} of {kind}")
    return shlex.split(found[0]) if kind == "variables" else json.loads(found[0])


def compose():
    text = (FOLDER / "compose.yaml").read_text()
    found = re.findall(r"^    command:\n((?:      - .*\n)+)", text, re.MULTILINE)
    if len(found) != 1:
        sys.exit("image_words: compose.yaml has no list of words under the server's command")
    words = [line.removeprefix("      - ") for line in found[0].splitlines()]
    return [re.sub(r"\$\{COSPOOL_HOST[^}]*\}", HOST, word) for word in words]


def main():
    words = compose() if sys.argv[1] == "compose" else dockerfile(sys.argv[1])
    print("\n".join(words))


main()
