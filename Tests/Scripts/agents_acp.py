"""Checks of Cospool with agents of the Agent Client Protocol that lie, die, ask twice or never end (acp_fakes.py).

agents_check.py runs them. The checks named acp-…-dies-at-a-byte kill the agent, or the daemon, after some bytes of the
exchange: at the ends of its parts, and CUTS others (4); with CUTS=every, after each byte.
"""

import concurrent.futures
import contextlib
import http.client
import os
import random
import signal
import time

from agents_fixture import SECONDS, expect

CHECKS = {}
# How many agents die at the same time.
WORKERS = 4


def check(function):
    def checked(fixture):
        # The programs of the other checks need no library of this protocol.
        from acp_fakes import Fakes
        fakes = Fakes(fixture.folder)
        fixture.run("config", "set", "command", fakes.command)
        fixture.run("config", "set", "agent", "acp")
        fixture.runs("review", agent="acp")
        try:
            return function(fixture, fakes)
        finally:
            fakes.close()
    CHECKS[function.__name__.replace("_", "-")] = checked
    return function


def send(fixture, text, session="review"):
    status, answer = fixture.ask("POST", f"sessions/{session}/queue", {"text": text})
    expect(status == 201, answer)
    return answer["id"]


def decide(fixture, request, verdict="allowed"):
    body = {"verdict": verdict} | ({"digest": request["digest"]} if verdict == "allowed" else {})
    return fixture.ask("POST", f"asks/{request['id']}/answer", body)[0]


def is_over(fixture, message, session, seconds=60):
    """Allows what the agent asks until its turn is over; returns the message."""
    def found():
        shown = fixture.message(message)
        if shown["status"] not in ("queued", "starting", "running"):
            return shown
        for request in fixture.asked(session):
            decide(fixture, request)
        return None
    return fixture.eventually(f"{message} was to end", found, seconds)


class Exchange:
    """The bytes of a turn that ends well."""

    def __init__(self, fixture, fakes):
        # The first turn begins the conversation that the others continue.
        for _ in range(2):
            message = is_over(fixture, send(fixture, "works 00000"), "review")
            expect(message["status"] == "succeeded", message)
        with open(f"{fakes.path}.lines", encoding="utf-8") as file:
            lines = [(direction, int(end)) for direction, end in map(str.split, file)]
        to, back = ([end for direction, end in lines if direction == which] for which in ("to", "from"))
        # initialize, session/load and its update; then the prompt.
        self.opened, self.prompted, self.all = back[2], to[2], back[-1]

    def cuts(self):
        count = os.environ.get("CUTS") or "4"
        if count == "every":
            return list(range(1, self.all + 1))
        seed = int(os.environ.get("COSPOOL_SEED", random.randrange(1 << 32)))
        print(f"COSPOOL_SEED={seed}", flush=True)
        some = random.Random(seed).sample(range(1, self.all), int(count))
        return sorted({*some, self.opened, self.prompted - 1, self.prompted, self.all - 1, self.all})


def outcome(fixture, fakes, exchange, cut, session, kill):
    """One turn of which a process dies; returns its message. Nothing is given twice, and nothing is lost."""
    text = f"works {cut:05}"
    fakes.cuts[session] = (cut, 0 if kill is None else fixture.daemon.pid)
    message = send(fixture, text, session)
    if kill is not None:
        kill(message)
    shown = is_over(fixture, message, session)
    where = f"{cut} of {exchange.all} bytes ({exchange.opened} open it, {exchange.prompted} with the prompt): {shown}"
    status, count = shown["status"], len(fakes.got(text))
    expect(count <= 1, f"it got the prompt {count} times by itself at {where}")
    if cut >= exchange.prompted:
        expect(count == 1, f"the prompt was lost at {where}")
    expect(status in ("succeeded", "interrupted", "unknown"), f"a wrong end at {where}")
    expect(status != "succeeded" or count == 1, f"it succeeded without its prompt at {where}")
    # The last byte is the end of the line, which says nothing more.
    if exchange.prompted <= cut < exchange.all - 1:
        expect(status != "succeeded", f"it succeeded early at {where}")
    if status == "unknown":
        expect(kill is not None and cut >= exchange.opened, f"unknown outside its window at {where}")
    if status != "succeeded":
        # A user decides, and it goes on.
        code, answer = fixture.ask("POST", f"messages/{message}/retry")
        expect(code == 200, answer)
        shown = is_over(fixture, message, session)
        expect(shown["status"] == "succeeded", f"it was lost at {where}: {shown}")
        expect(len(fakes.got(text)) == count + 1, f"its retry was given {fakes.got(text)} at {where}")
    return status


def told(name, exchange, cuts, statuses, start):
    found = {status: statuses.count(status) for status in sorted(set(statuses))}
    print(f"{name}: {len(cuts)} of {exchange.all} bytes, {found}, 0 doubled, 0 lost ({time.monotonic() - start:.0f} s)",
          flush=True)


@check
def acp_agent_dies_at_a_byte(fixture, fakes):
    """Its outcome is always known: before the prompt it is tried again, after that it is interrupted."""
    start, exchange = time.monotonic(), Exchange(fixture, fakes)
    # The names are as long as the first one, and so are the exchanges.
    sessions = ["review"] + [f"revie{number}" for number in range(1, WORKERS)]
    for session in sessions[1:]:
        fixture.runs(session, agent="acp")
        expect(is_over(fixture, send(fixture, "works 00000", session), session)["status"] == "succeeded", session)
    cuts = exchange.cuts()

    def worked(number):
        statuses = []
        for cut in cuts[number::WORKERS]:
            status = outcome(fixture, fakes, exchange, cut, sessions[number], None)
            if cut < exchange.opened or cut >= exchange.all:
                expect(status == "succeeded", f"{status} at {cut} of {exchange.all} bytes")
            statuses.append(status)
        return statuses

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        statuses = sum(pool.map(worked, range(WORKERS)), [])
    told("the agent died", exchange, cuts, statuses, start)


@check
def acp_daemon_dies_at_a_byte(fixture, fakes):
    """*Unknown* only where the prompt may have gone, and the agent was not found."""
    start, exchange = time.monotonic(), Exchange(fixture, fakes)

    def kill(message):
        def dead():
            # It may die while it is asked.
            with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
                for request in fixture.asked("review"):
                    decide(fixture, request)
            return fixture.daemon.poll() is not None
        deadline = time.monotonic() + SECONDS
        while not dead():
            expect(time.monotonic() < deadline, "the daemon was to die")
            time.sleep(0.02)
        expect(fixture.daemon.returncode == -signal.SIGKILL, fixture.daemon.returncode)
        fixture.start()
        expect(fixture.message(message)["id"] == message, "the message is gone")

    cuts = exchange.cuts()
    statuses = [outcome(fixture, fakes, exchange, cut, "review", kill) for cut in cuts]
    told("the daemon died", exchange, cuts, statuses, start)


@check
def acp_agent_lies(fixture, fakes):
    message = send(fixture, "lies to you")
    [first] = fixture.requests("review")
    expect("ls" in first["summary"], first)
    fakes.release("shown")
    fixture.eventually("it was to be asked about again", lambda: any(
        "rm -r" in request["summary"] for request in fixture.asked("review")))
    [second] = fixture.asked("review")
    expect(second["id"] != first["id"], "a yes for the first would count for the second")
    status = decide(fixture, first)
    expect(status in (404, 409), f"a yes for what was shown first got {status}")
    decide(fixture, second, "denied")
    fixture.is_now(message, "succeeded")
    log = fixture.run("log", message)
    expect("All is well." in log and "of another session" not in log, log)
    # Refused: the request of another session, its files, its terminal. Then the answer that was given.
    expect(fakes.told == [-32602, -32601, -32601, False], fakes.told)


@check
def acp_agent_answers_early(fixture, fakes):
    """The first answer ends the turn; what it says later counts for nothing."""
    message = fixture.is_now(send(fixture, "answers_early"), "succeeded")
    fixture.is_now(send(fixture, "speaks next"), "succeeded")
    expect(fixture.message(message["id"])["status"] == "succeeded", fixture.message(message["id"]))
    expect(len(fakes.prompts) == 2, fakes.prompts)


@check
def acp_agent_asks_twice(fixture, fakes):
    message = send(fixture, "asks_twice")
    requests = fixture.requests("review", count=2)
    time.sleep(0.5)
    expect(len(fixture.asked("review")) == 2, fixture.asked("review"))
    for request in requests:
        expect(decide(fixture, request) == 200, request)
        expect(decide(fixture, request) == 409, f"it was answered twice: {request}")
    fakes.release("answered")
    fixture.is_now(message, "succeeded")
    message = send(fixture, "asks_again")
    [first] = fixture.requests("review")
    decide(fixture, first)
    fixture.eventually("it was to ask again", lambda: [
        request for request in fixture.asked("review") if request["id"] != first["id"]])
    [second] = fixture.asked("review")
    decide(fixture, second, "denied")
    fixture.is_now(message, "succeeded")
    expect(fakes.told == [True, False], fakes.told)


@check
def acp_agent_never_ends(fixture, fakes):
    """The user stops it, whether it listens or not; the next message goes on."""
    for prompt, hears in (("never_ends", True), ("never_obeys", False), ("never_stops_talking", None)):
        message = send(fixture, prompt)
        fixture.eventually("it was to run", lambda: fakes.got(prompt))
        time.sleep(0.5)
        fakes.told.clear()
        fixture.run("queue", "stop", "-s", "review")
        fixture.is_now(message, "cancelled")
        if hears is not None:
            expect(fakes.told == ["cancel"], fakes.told)
        fixture.is_now(send(fixture, f"speaks after {prompt}"), "succeeded")
        expect(len(fakes.got(prompt)) == 1, fakes.prompts)


@check
def acp_agent_takes_too_long(fixture, fakes):
    fixture.run("config", "set", "agentTimeout", "2")
    failed = fixture.is_now(send(fixture, "never_obeys"), "failed")
    expect("2 s" in failed["lastError"], failed)
    expect(len(fakes.got("never_obeys")) == 1, fakes.prompts)
