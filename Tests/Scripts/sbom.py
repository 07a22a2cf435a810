#!/usr/bin/env python3
"""Lists what is linked into the executables: for programs in SPDX 2.3, for people as the licences.

Reads Package.resolved and the checkouts. Usage: sbom.py PACKAGE CHECKOUTS DIRECTORY; writes
PACKAGE.spdx.json and third-party-licences.txt there. The same input gives the same bytes:
SOURCE_DATE_EPOCH sets the time.
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SWIFT = "https://github.com/swiftlang/swift"


def version():
    text = (ROOT / "Sources/Basics/Version.swift").read_text()
    return re.search(r'number = "([^"]+)"', text).group(1)


def licence_name(text):
    if "Apache License" in text:
        return "Apache-2.0"
    if "Permission is hereby granted, free of charge" in text:
        return "MIT"
    return "NOASSERTION"


def files_of(folder):
    """The licence of a checkout, and the notices that it requires to be passed on."""
    found = []
    for pattern in ("LICENSE*", "NOTICE*"):
        found += sorted(path for path in folder.glob(pattern) if path.is_file())
    return found


def entry(identity, name, revision, url, licence):
    package = {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", identity),
        "name": identity,
        "downloadLocation": f"git+{url}@{revision}" if revision else url,
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
    }
    if name:
        package["versionInfo"] = name
    return package


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: sbom.py PACKAGE CHECKOUTS DIRECTORY")
    package, checkouts, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    # In a source package, the list is next to the checkouts.
    pinned = [folder / "Package.resolved" for folder in (checkouts, ROOT)]
    resolved = next(path for path in pinned if path.exists()).read_bytes()
    pins = sorted(json.loads(resolved)["pins"], key=lambda pin: pin["identity"])
    packages = [entry(package, version(), None, "NOASSERTION", "Apache-2.0")]
    toolchain = os.environ.get("SWIFT_VERSION", "")
    packages.append(
        entry("swift-runtime", toolchain, None, SWIFT, "Apache-2.0 WITH Swift-exception")
    )
    texts = []
    for pin in pins:
        location = pin["location"]
        folder = checkouts / location.rstrip("/").split("/")[-1].removesuffix(".git")
        parts = [path.read_text(errors="replace").strip() for path in files_of(folder)]
        if not parts:
            sys.exit(f"sbom: {folder} has no licence; was the package built from these checkouts?")
        state = pin["state"]
        packages.append(
            entry(
                pin["identity"], state.get("version", ""), state["revision"],
                location, licence_name(parts[0]),
            )
        )
        texts.append(f"==== {pin['identity']} {state.get('version', '')}\n\n" + "\n\n".join(parts))
    moment = datetime.datetime.fromtimestamp(
        int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc
    )
    digest = hashlib.sha256(resolved).hexdigest()
    root = packages[0]["SPDXID"]
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{package}-{version()}",
        "documentNamespace": f"urn:cospool:{package}:{version()}:{digest}",
        "creationInfo": {
            "created": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: cospool-sbom"],
        },
        "packages": packages,
        "relationships": [
            {
                "spdxElementId": "SPDXRef-DOCUMENT",
                "relationshipType": "DESCRIBES",
                "relatedSpdxElement": root,
            }
        ]
        + [
            {
                "spdxElementId": root,
                "relationshipType": "STATIC_LINK",
                "relatedSpdxElement": other["SPDXID"],
            }
            for other in packages[1:]
        ],
    }
    (out / f"{package}.spdx.json").write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    head = "Parts of these are linked into the executables; what each asks to pass on follows.\n\n"
    swift = f"==== swift-runtime {toolchain}\n\nApache-2.0 with Runtime Library Exception, {SWIFT}\n\n"
    (out / "third-party-licences.txt").write_text(head + swift + "\n\n".join(texts) + "\n")


main()
