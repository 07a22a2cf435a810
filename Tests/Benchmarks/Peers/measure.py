#!/usr/bin/env python3
"""Gives Loro and Yrs the work that cospool-bench gives this project's workspace.

    python3 -m venv .venv-peers
    .venv-peers/bin/pip install -r Tests/Benchmarks/Peers/requirements.txt
    .venv-peers/bin/python Tests/Benchmarks/Peers/measure.py all --traces DIR

Both are Rust libraries behind Python wheels. What is one call (import, export, open) is their own
speed. What is a call an edit (typing, sending, moving) also pays for the language boundary, some
tenths of a microsecond a call, and does less than a command of ours: no undo group, thread queue,
checks or change events. Seconds are processor time of the process, as in cospool-bench, so that
other programs on the machine do not count. One JSON object goes to standard output; a result is the
median of the runs.
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
QUEUE_LENGTH, SHOWN = 10_000, 20
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


# Typing


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


def typed_prompt(results, name, patches, end):
    document = loro.LoroDoc()
    text = document.get_text("text")

    def typing():
        insert, delete = text.insert, text.delete
        for position, deleted, inserted in patches:
            if deleted:
                delete(position, deleted)
            if inserted:
                insert(position, inserted)
        document.commit()

    results.time("loro", f"{name}/typing", typing)
    require(text.to_string() == end, f"{name}: Loro's text differs")
    history = loro_history(document)
    snapshot = document.export(loro.ExportMode.Snapshot())
    for case, data in (("load-history", history), ("open", snapshot)):
        opened = results.time(
            "loro", f"{name}/{case}", lambda: loro_opened(data).get_text("text").to_string())
        require(opened == end, f"{name}/{case}: Loro's text differs")
    for case, data in (("history", history), ("snapshot", snapshot)):
        results.add("loro", f"{name}/{case}-zlib", deflated_size(data), "bytes")


def prompt_suite(results, options):
    for trace in SEQUENTIAL_TRACES:
        patches, end = read_trace(options.traces, trace)
        for _ in range(options.runs):
            typed_prompt(results, f"prompt/{trace}", patches, end)


# A queue: a movable list of maps, each with a text and three fields


def prompt_text(number):
    return (
        f"Prompt {number}: write the failing test for the login page first, then make it pass, "
        f"then tidy up {number * 7_919 % 10_007}")


def send(document, queue, number):
    prompt = queue.push_container(loro.LoroMap())
    prompt.insert_container("content", loro.LoroText()).insert(0, prompt_text(number))
    prompt.insert("status", "queued")
    prompt.insert("priority", 0)
    prompt.insert("at", 1_790_000_000_000)
    document.commit()


def queue_commands(results, name):
    """Each command is a commit of its own."""
    document = loro.LoroDoc()
    queue = document.get_movable_list("queue")
    numbers = random.Random(2_026)
    draw = numbers.randrange

    def send_all():
        for number in range(QUEUE_LENGTH):
            send(document, queue, number)

    def move():
        for _ in range(QUEUE_LENGTH):
            queue.mov(draw(QUEUE_LENGTH), draw(QUEUE_LENGTH))
            document.commit()

    def edit():
        for _ in range(QUEUE_LENGTH):
            queue.get(draw(QUEUE_LENGTH)).container.get("content").container.insert(3, "x")
            document.commit()

    def cancel():
        for _ in range(QUEUE_LENGTH // 2):
            queue.delete(draw(len(queue)), 1)
            document.commit()

    for case, edits in (
        ("send", send_all), ("move", move), ("edit", edit), ("cancel-half", cancel)
    ):
        results.time("loro", f"{name}/{case}", edits)
    require(len(queue) == QUEUE_LENGTH // 2, f"{name}: Loro's queue has {len(queue)} prompts")


def queue_merges(results, name):
    author = loro.LoroDoc()
    queue = author.get_movable_list("queue")
    deltas = []
    for number in range(QUEUE_LENGTH):
        known = author.oplog_vv
        send(author, queue, number)
        deltas.append(author.export(loro.ExportMode.Updates(known)))

    def merge_one_by_one():
        document = loro.LoroDoc()
        for delta in deltas:
            document.import_(delta)
        return document

    def opened_and_shown():
        shown = loro_opened(snapshot).get_movable_list("queue")
        return [shown.get(place).container.get("status").value for place in range(SHOWN)]

    history = loro_history(author)
    snapshot = author.export(loro.ExportMode.Snapshot())
    for case, merge in (
        ("merge-one-by-one", merge_one_by_one), ("merge-one-batch", lambda: loro_opened(history))
    ):
        merged = results.time("loro", f"{name}/{case}", merge)
        length = len(merged.get_movable_list("queue"))
        require(length == QUEUE_LENGTH, f"{name}/{case}: Loro's queue has {length} prompts")
    statuses = results.time("loro", f"{name}/open", opened_and_shown)
    require(statuses == ["queued"] * SHOWN, f"{name}/open: Loro shows {statuses}")
    results.add("loro", f"{name}/send-bytes", sum(map(len, deltas)) / QUEUE_LENGTH, "bytes")
    results.add("loro", f"{name}/history-zlib", deflated_size(history), "bytes")
    results.add("loro", f"{name}/snapshot-zlib", deflated_size(snapshot), "bytes")


def concurrent_moves(results, name):
    """Of numbers, not prompts: what is merged are the moves."""
    origin = loro.LoroDoc()
    items = origin.get_movable_list("queue")
    for value in range(SHARED_ITEMS):
        items.push(value)
    origin.commit()
    shared, known = loro_history(origin), origin.oplog_vv
    deltas = []
    for author in range(AUTHORS):
        device = loro_opened(shared)
        own = device.get_movable_list("queue")
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


def queue_suite(results, options):
    for _ in range(options.runs):
        concurrent_moves(results, "queue/concurrent-moves-10x2000")
        queue_commands(results, "queue/10k")
        queue_merges(results, "queue/10k")


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


SUITES = {"prompt": prompt_suite, "queue": queue_suite, "delta": delta_suite}


def main():
    parser = argparse.ArgumentParser(description="Measures Loro and Yrs.")
    parser.add_argument("suite", nargs="?", default="all", choices=[*SUITES, "all"])
    parser.add_argument("--traces", help="the folder with the editing traces")
    parser.add_argument("--runs", type=int, default=5, help="repetitions of each measurement")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs takes 1 or more")
    if options.suite == "prompt" and options.traces is None:
        parser.error("the suite prompt needs --traces DIR")
    results = Results()
    for name, suite in SUITES.items():
        if options.suite == name or (
            options.suite == "all" and (name != "prompt" or options.traces is not None)
        ):
            suite(results, options)
    print(json.dumps({"suite": options.suite, "results": results.medians()}, indent=1))


main()
