#!/usr/bin/env python3
"""Joins the results of cospool-bench with those of measure.py, by name and metric.

    compare.py OURS.json... [--peers THEIRS.json...]

Prints a table of Markdown: name, ours, peer, ratio (ours by theirs: below 1 is better). A name that
several peers measured has a row for each; our names without a peer have a row of their own.
"""
import argparse
import json
import sys


def read(paths):
    results = []
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                results += json.load(file)["results"]
        except (OSError, ValueError, KeyError) as error:
            sys.exit(f"compare.py: {path} cannot be read: {error}")
    return results


def readable(value, metric):
    if metric == "seconds":
        for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
            if value * factor >= 1:
                return f"{value * factor:.3g} {unit}"
        return f"{value * 1e9:.3g} ns"
    if metric == "bytes":
        return f"{value:,.0f} B" if value >= 1_000 else f"{value:.3g} B"
    return f"{value:.3g}"


def rows(ours, theirs):
    peers = {}
    for result in theirs:
        peers.setdefault((result["name"], result["metric"]), []).append(result)
    for result in ours:
        metric, value = result["metric"], result["value"]
        shown = readable(value, metric)
        found = peers.get((result["name"], metric), [])
        if not found:
            yield (f"`{result['name']}`", shown, "–", "–")
        for peer in found:
            ratio = f"{value / peer['value']:.3g}" if peer["value"] else "–"
            yield (
                f"`{result['name']}`", shown,
                f"{peer['peer']} {readable(peer['value'], metric)}", ratio)


def main():
    parser = argparse.ArgumentParser(description="Prints our results beside those of peers.")
    parser.add_argument("ours", nargs="+")
    parser.add_argument("--peers", nargs="*", default=[])
    options = parser.parse_args()
    table = [("name", "ours", "peer", "ratio"), *rows(read(options.ours), read(options.peers))]
    widths = [max(len(row[column]) for row in table) for column in range(4)]
    for number, row in enumerate(table):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


main()
