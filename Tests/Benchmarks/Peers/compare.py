#!/usr/bin/env python3
"""Joins the results of cospool-bench with those of measure.py, by name and metric.

    compare.py OURS.json... [--peers THEIRS.json...]

Prints a table of Markdown as it stands in RESULTS.md: name, ours, peer, ratio (ours by theirs: below
1 is better), bar. A name that several peers measured has a row for each; our names without a peer
have a row of their own. Bars are those of bars.json: the most a value may be ("most"; "beyond" adds
another value of ours), or the most its ratio to Loro's ("ratio"). Below the table stands what was
missed.
"""
import argparse
import json
import pathlib
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


def judged(result, peer, bar, ours):
    """The bar in words, and whether it was met; nothing where there is none for the row."""
    if bar is None:
        return "", True
    value, metric = result["value"], result["metric"]
    if "ratio" in bar:
        if peer is None or peer["peer"] != "loro" or not peer["value"]:
            return "", True
        is_met = value / peer["value"] <= bar["ratio"]
        shown = f"ratio ≤ {bar['ratio']:.3g}"
    else:
        more = ours.get(bar.get("beyond"), 0)
        is_met = value <= bar["most"] + more
        shown = f"≤ {readable(bar['most'], metric)}" + (" + one fsync" if more else "")
    return (shown if is_met else f"{shown}: **missed**"), is_met


def rows(ours, theirs, bars, missed):
    peers = {}
    for result in theirs:
        peers.setdefault((result["name"], result["metric"]), []).append(result)
    values = {result["name"]: result["value"] for result in ours}
    for result in ours:
        metric, value = result["metric"], result["value"]
        for peer in peers.get((result["name"], metric), [None]):
            bar, is_met = judged(result, peer, bars.get(result["name"]), values)
            if not is_met and result["name"] not in missed:
                missed.append(result["name"])
            shown, ratio = "–", "–"
            if peer is not None:
                shown = f"{peer['peer']} {readable(peer['value'], metric)}"
                ratio = f"{value / peer['value']:.3g}" if peer["value"] else "–"
            yield (f"`{result['name']}`", readable(value, metric), shown, ratio, bar)


def main():
    parser = argparse.ArgumentParser(description="Prints our results beside those of peers.")
    parser.add_argument("ours", nargs="+")
    parser.add_argument("--peers", nargs="*", default=[])
    options = parser.parse_args()
    with open(pathlib.Path(__file__).with_name("bars.json"), encoding="utf-8") as file:
        bars = json.load(file)
    missed = []
    ours = read(options.ours)
    print("| name | ours | peer | ratio | bar |\n|---|---|---|---|---|")
    for row in rows(ours, read(options.peers), bars, missed):
        print("| " + " | ".join(row) + " |")
    measured = sum(result["name"] in bars for result in ours)
    names = ", ".join(f"`{name}`" for name in missed) or "none"
    print(f"\n{measured - len(missed)} of {measured} bars met; missed: {names}.")


main()
