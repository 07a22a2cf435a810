#!/usr/bin/env python3
"""Gives Loro and Yrs the work that cospool-bench gives this project's engine.

    python3 -m venv .venv-peers
    .venv-peers/bin/pip install -r Tests/Benchmarks/Peers/requirements.txt
    .venv-peers/bin/python Tests/Benchmarks/Peers/measure.py all --traces DIR

Both are Rust libraries behind Python wheels. What is one call (import, export, merge, open) is
their own speed. What is a call an edit (local replay, push, set, move) also pays for the language
boundary, some tenths of a microsecond a call. Seconds are processor time of the process, as in cospool-bench,
so that other programs on the machine do not count. One JSON object goes to standard output; a
result is the median of the runs.

Yrs drops the content of deleted text when it commits. That makes its update comparable with our
snapshot without deleted text; the document is built here, from the trace.
"""
import argparse
import gzip
import json
import pathlib
import random
import statistics
import sys
import time
import zlib

import loro
import pycrdt

SEQUENTIAL_TRACES = ("automerge-paper", "seph-blog1", "sveltecomponent")
LIST_LENGTH = 100_000
AUTHORS, SHARED_ITEMS, MOVES_EACH = 10, 1_000, 2_000


class Results:
    """Collects the values of all runs, by peer, name and metric."""

    def __init__(self):
        self.values = {}

    def add(self, peer, name, value, metric="seconds"):
        self.values.setdefault((peer, name, metric), []).append(value)

    def time(self, peer, name, work):
        """Does the work, notes the processor seconds it took, and returns its value."""
        begin = time.process_time()
        value = work()
        self.add(peer, name, time.process_time() - begin)
        return value

    def medians(self):
        return [
            {"peer": peer, "name": name, "metric": metric, "value": statistics.median(values)}
            for (peer, name, metric), values in self.values.items()
        ]


def require(condition, message):
    if not condition:
        sys.exit(f"measure.py: {message}")


def deflated_size(data):
    return len(zlib.compress(data, 9))


def loro_history(document):
    return document.export(loro.ExportMode.Updates(loro.VersionVector()))


def loro_opened(data):
    document = loro.LoroDoc()
    document.import_(data)
    return document


# Text


def read_trace(folder, name):
    path = pathlib.Path(folder) / f"{name}.json.gz"
    try:
        with gzip.open(path) as file:
            trace = json.load(file)
        patches = [patch for step in trace["txns"] for patch in step["patches"]]
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"measure.py: the trace {path} cannot be read: {error}")
    if trace["startContent"]:
        patches.insert(0, [0, 0, trace["startContent"]])
    return patches, trace["endContent"]


def loro_text(results, name, patches, end):
    document = loro.LoroDoc()
    text = document.get_text("text")

    def replay():
        insert, delete = text.insert, text.delete
        for position, deleted, inserted in patches:
            if deleted:
                delete(position, deleted)
            if inserted:
                insert(position, inserted)
        document.commit()

    results.time("loro", f"{name}/local-replay", replay)
    require(text.to_string() == end, f"{name}: Loro's text differs")
    history = loro_history(document)
    snapshot = document.export(loro.ExportMode.Snapshot())
    for case, data in (("load-history", history), ("open-snapshot", snapshot)):
        opened = results.time(
            "loro", f"{name}/{case}", lambda: loro_opened(data).get_text("text").to_string())
        require(opened == end, f"{name}/{case}: Loro's text differs")
    results.add("loro", f"{name}/history-raw", len(history), "bytes")
    results.add("loro", f"{name}/history-zlib", deflated_size(history), "bytes")
    shallow = document.export(loro.ExportMode.ShallowSnapshot(document.oplog_frontiers))
    results.add("loro", f"{name}/without-deleted-zlib", deflated_size(shallow), "bytes")
    # Loro opens it as it opens a snapshot, without the state that Yrs and we load.
    opened = results.time(
        "loro", f"{name}/open-shallow-snapshot",
        lambda: loro_opened(shallow).get_text("text").to_string())
    require(opened == end, f"{name}/open-shallow-snapshot: Loro's text differs")


def yrs_update(patches, end, name):
    """The trace's document without deleted content, as one update.

    Commits in stretches: the content of deleted text goes at the end of each.
    """
    document = pycrdt.Doc()
    text = document.get("text", type=pycrdt.Text)
    for start in range(0, len(patches), 1_000):
        with document.transaction():
            for position, deleted, inserted in patches[start:start + 1_000]:
                if deleted:
                    del text[position:position + deleted]
                if inserted:
                    text.insert(position, inserted)
    require(str(text) == end, f"{name}: the text of Yrs differs")
    return document.get_update()


def yrs_text(results, name, update, end):
    def load():
        document = pycrdt.Doc()
        text = document.get("text", type=pycrdt.Text)
        document.apply_update(update)
        return str(text)

    loaded = results.time("yrs", f"{name}/load-without-deleted", load)
    require(loaded == end, f"{name}/load-without-deleted: the text of Yrs differs")
    results.add("yrs", f"{name}/without-deleted-zlib", deflated_size(update), "bytes")


def text_suite(results, options):
    for trace in SEQUENTIAL_TRACES:
        patches, end = read_trace(options.traces, trace)
        name = f"text/{trace}"
        # The wheel of Yrs counts bytes; our positions are scalars.
        is_ascii = all(inserted.isascii() for _, _, inserted in patches)
        update = yrs_update(patches, end, name) if is_ascii else None
        for _ in range(options.runs):
            loro_text(results, name, patches, end)
            if update is not None:
                yrs_text(results, name, update, end)


# Lists with moves


def long_list(results):
    document = loro.LoroDoc()
    items = document.get_movable_list("list")
    numbers = random.Random(2_026)
    places = [numbers.randrange(LIST_LENGTH) for _ in range(2 * LIST_LENGTH)]

    def committed(edits):
        edits()
        document.commit()

    def push():
        for value in range(LIST_LENGTH):
            items.push(value)

    def assign():
        for value in range(LIST_LENGTH):
            items.set(places[value], value)

    def move():
        for first in range(0, LIST_LENGTH, 2):
            items.mov(places[LIST_LENGTH + first], places[LIST_LENGTH + first + 1])

    for case, edits in (("push", push), ("set", assign), ("move", move)):
        results.time("loro", f"list/100k/{case}", lambda: committed(edits))
    final = items.to_vec()
    history = loro_history(document)
    snapshot = document.export(loro.ExportMode.Snapshot())
    for case, data in (("load-history", history), ("open-snapshot", snapshot)):
        opened = results.time(
            "loro", f"list/100k/{case}",
            lambda: loro_opened(data).get_movable_list("list").to_vec())
        require(opened == final, f"list/100k/{case}: Loro's list differs")
    results.add("loro", "list/100k/history-zlib", deflated_size(history), "bytes")


def concurrent_moves(results):
    name = "list/concurrent-moves-10x2000"
    origin = loro.LoroDoc()
    items = origin.get_movable_list("list")
    for value in range(SHARED_ITEMS):
        items.push(value)
    origin.commit()
    shared, known = loro_history(origin), origin.oplog_vv
    deltas = []
    for author in range(AUTHORS):
        device = loro_opened(shared)
        own = device.get_movable_list("list")
        numbers = random.Random(author)
        for _ in range(MOVES_EACH):
            own.mov(numbers.randrange(SHARED_ITEMS), numbers.randrange(SHARED_ITEMS))
        device.commit()
        deltas.append(device.export(loro.ExportMode.Updates(known)))

    def merge():
        for delta in deltas:
            origin.import_(delta)
        return items.to_vec()

    merged = results.time("loro", f"{name}/merge", merge)
    require(len(merged) == SHARED_ITEMS, f"{name}: Loro's list has {len(merged)} items")
    results.add("loro", f"{name}/deltas-raw", sum(map(len, deltas)), "bytes")


def list_suite(results, options):
    for _ in range(options.runs):
        long_list(results)
        concurrent_moves(results)


# Single edits on the wire


def delta_of(document, edit):
    """The bytes that one edit adds for a device that knows all before it."""
    known = document.oplog_vv
    edit()
    document.commit()
    return len(document.export(loro.ExportMode.Updates(known)))


def delta_suite(results, _):
    document = loro.LoroDoc()
    text = document.get_text("text")
    text.insert(0, "a prompt")
    document.commit()
    size = delta_of(document, lambda: text.insert(8, "!"))
    results.add("loro", "delta/one-character", size, "bytes")

    document = loro.LoroDoc()
    items = document.get_movable_list("list")
    for value in range(10):
        items.push(value)
    document.commit()
    size = delta_of(document, lambda: items.mov(9, 0))
    results.add("loro", "delta/one-move", size, "bytes")

    document = pycrdt.Doc()
    text = document.get("text", type=pycrdt.Text)
    text += "a prompt"
    known = document.get_state()
    text += "!"
    results.add("yrs", "delta/one-character", len(document.get_update(known)), "bytes")


SUITES = {"text": text_suite, "list": list_suite, "delta": delta_suite}


def main():
    parser = argparse.ArgumentParser(description="Measures Loro and Yrs.")
    parser.add_argument("suite", nargs="?", default="all", choices=[*SUITES, "all"])
    parser.add_argument("--traces", help="the folder with the editing traces")
    parser.add_argument("--runs", type=int, default=5, help="repetitions of each measurement")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs takes 1 or more")
    if options.suite == "text" and options.traces is None:
        parser.error("the suite text needs --traces DIR")
    results = Results()
    for name, suite in SUITES.items():
        if options.suite == name or (
            options.suite == "all" and (name != "text" or options.traces is not None)
        ):
            suite(results, options)
    print(json.dumps({"suite": options.suite, "results": results.medians()}, indent=1))


main()
