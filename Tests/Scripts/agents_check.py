"""Holds Cospool against the real Claude Code and the real Codex.

Usage: agents_check.py BINARIES CLAUDE CODEX [NAME…], BINARIES being the folder of cospool and cospoold.
Each check has a machine of its own (agents_house.py) and a model that does what the prompt says
(fake_model.py). A name runs the checks whose names begin with it.
"""

import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from agents_house import Failed, House, SECONDS, expect

REMARK = "Use the test database, please: it's \"safer\"."
CHECKS = {}


def check(function):
    CHECKS[function.__name__.replace("_", "-")] = function
    return function


# Claude Code, started by Cospool


def claude(house, session="review"):
    house.run("config", "set", "agent", "claude")
    house.runs(session)


@check
def claude_first_turn(house):
    claude(house)
    message = house.send("review", "first", {"text": "All tests pass."})
    house.is_now(message, "succeeded")
    expect("All tests pass." in house.run("log", message), "the log lacks what the agent said")
    expect(not house.get("sessions/review/queue")["messages"], "the message still waits")


@check
def claude_goes_on_with_its_conversation(house):
    claude(house)
    house.is_now(house.send("review", "first", {"text": "The parser is in Parser.swift."}), "succeeded")
    house.is_now(house.send("review", "second"), "succeeded")
    texts = house.model.heard("second")[-1].texts
    expect(any("Script first" in text for text in texts), f"it began anew: {texts}")


@check
def claude_lost_its_conversation(house):
    claude(house)
    house.is_now(house.send("review", "first"), "succeeded")
    shutil.rmtree(f"{house.home}/.claude/projects")
    message = house.send("review", "second")
    failed = house.is_now(message, "failed")
    expect("No conversation found" in failed["lastError"], failed)
    house.run("queue", "retry", message)
    house.is_now(message, "succeeded")


@check
def claude_fails(house):
    claude(house)
    message = house.send("review", "fails", {"status": 400, "message": "the prompt is too odd"})
    failed = house.is_now(message, "failed")
    expect("the prompt is too odd" in failed["lastError"], failed)
    expect("the prompt is too odd" in house.run("queue", "list", "-s", "review"), "nobody sees why")


@check
def claude_reached_its_limit(house):
    """Of a subscription, whose end it tells."""
    del house.environment["ANTHROPIC_API_KEY"]
    house.environment["CLAUDE_CODE_OAUTH_TOKEN"] = "sk-ant-oat01-none-is-needed"
    house.kill_daemon()
    house.start()
    claude(house)
    until = int(time.time()) + 3_600
    message = house.send("review", "limit", {"limitUntil": until})
    house.eventually("it was to wait", lambda: "notBefore" in house.message(message))
    waits = house.message(message)
    ends = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(until))
    expect(waits["status"] == "queued" and waits["notBefore"] == ends, waits)
    expect("limit" in waits["lastError"], waits)


@check
def claude_is_refused_for_now(house):
    """A limit of a key, which tells no time, and a provider that is overloaded."""
    claude(house)
    for status, session in ((429, "review"), (529, "build")):
        house.runs(session)
        message = house.send(session, f"refused{status}", {"status": status, "message": "slow down"})
        house.eventually(f"{status} was to wait", lambda: house.message(message)["status"] == "queued"
                         and house.message(message).get("attempts") == 1)


@check
def claude_is_stopped(house):
    claude(house)
    message = house.send("review", "hangs", {"hang": True})
    expect(house.model.waits_for("hangs"), "the model was not asked")
    house.run("queue", "stop", "-s", "review")
    house.is_now(message, "cancelled")
    house.eventually("its process was to end", lambda: not house.agents())


@check
def claude_is_killed(house):
    claude(house)
    message = house.send("review", "hangs", {"hang": True})
    expect(house.model.waits_for("hangs"), "the model was not asked")
    for pid in house.agents():
        os.kill(pid, signal.SIGKILL)
    house.is_now(message, "interrupted")
    house.run("queue", "edit", message, house.prompt("again"))
    house.is_now(message, "succeeded")


@check
def claude_outlives_the_daemon(house):
    claude(house)
    message = house.send("review", "hangs", {"hang": True})
    expect(house.model.waits_for("hangs"), "the model was not asked")
    house.kill_daemon()
    expect(house.agents(), "the agent ended with the daemon")
    house.start()
    house.eventually("the orphan was to end", lambda: not house.agents())
    house.is_now(message, "interrupted")
    house.run("queue", "skip", message)
    house.is_now(house.send("review", "next"), "succeeded")


@check
def claude_reads_a_file(house):
    claude(house)
    house.write(f"{house.folder}/error.txt", "line 7: the flag is reversed\n")
    message = house.send(
        "review", "file", {"call": "Read", "input": {"file_path": "$FILE"}},
        attach=f"{house.folder}/error.txt")
    house.is_now(message, "succeeded")
    results = house.model.heard("file")[-1].results
    expect("the flag is reversed" in results[-1], f"the model got {results}")


@check
def claude_moved(house):
    """As an upgrade does it: the old version goes, and the link in PATH leads to the new one."""
    for version in ("1", "2"):
        os.makedirs(f"{house.folder}/versions/{version}")
        os.symlink(house.programs["claude"], f"{house.folder}/versions/{version}/claude")

    def link(version):
        os.symlink(f"{house.folder}/versions/{version}/claude", f"{house.bin}/new")
        os.replace(f"{house.bin}/new", f"{house.bin}/claude")

    link("1")
    claude(house)
    house.is_now(house.send("review", "first"), "succeeded")
    link("2")
    shutil.rmtree(f"{house.folder}/versions/1")
    house.is_now(house.send("review", "second"), "succeeded")
    expect(any("Script first" in text for text in house.model.heard("second")[-1].texts), "began anew")


# What it asks through `cospool mcp`


def asks_by_tool(house, patience=None):
    house.asks_by_tool(patience)
    house.runs("review")


@check
def tool_is_allowed(house):
    asks_by_tool(house)
    message = house.send("review", "asks", house.makes())
    [request] = house.requests("review")
    expect("touch" in request["summary"], request)
    expect(not house.made(), "it ran before it was allowed")
    house.run("approve", "review")
    house.is_now(message, "succeeded")
    expect(house.made(), f"it did not run: {house.model.heard('asks')[-1].results}")


@check
def tool_is_denied_with_a_remark(house):
    asks_by_tool(house)
    message = house.send("review", "asks", house.makes())
    house.requests("review")
    house.run("deny", "review", "--remark", REMARK)
    house.is_now(message, "succeeded")
    expect(not house.made(), "it was denied, and ran")
    results = house.model.heard("asks")[-1].results
    expect(any(REMARK in result for result in results), f"the remark is not in {results}")


@check
def tool_is_not_answered(house):
    asks_by_tool(house, patience=1)
    message = house.send("review", "asks", house.makes())
    house.is_now(message, "succeeded")
    expect(not house.made(), "nobody allowed it, and it ran")
    results = house.model.heard("asks")[-1].results
    expect("Nobody answered in time" in results[-1], results)


@check
def tool_is_stopped_while_it_asks(house):
    asks_by_tool(house)
    message = house.send("review", "asks", house.makes())
    [request] = house.requests("review")
    house.run("queue", "stop", "-s", "review")
    house.is_now(message, "cancelled")
    house.eventually("the request was to be withdrawn", lambda: not house.asked())
    house.run("approve", request["id"], fails=5)
    expect(not house.made(), "it ran")


QUESTION = {"call": "AskUserQuestion", "input": {"questions": [{
    "question": "Which database?", "header": "Database", "multiSelect": False,
    "options": [{"label": "test", "description": "The copy"}, {"label": "live", "description": "Real"}],
}]}}


@check
def question_is_answered(house):
    asks_by_tool(house)
    message = house.send("review", "asks", QUESTION)
    [request] = house.requests("review")
    expect("Which database?" in request["question"], request)
    house.run("answer", "review", "the test one")
    house.is_now(message, "succeeded")
    results = house.model.heard("asks")[-1].results
    expect("the test one" in results[-1], results)


@check
def question_is_cancelled(house):
    """The turn ends; the model is not told that time was over."""
    asks_by_tool(house)
    message = house.send("review", "asks", QUESTION)
    house.requests("review")
    house.run("answer", "review", "--cancel")
    house.is_now(message, "cancelled")
    house.eventually("its process was to end", lambda: not house.agents())
    results = [result for script in house.model.heard("asks") for result in script.results]
    expect(not any("in time" in result for result in results), results)


@check
def two_subagents_ask_at_once(house):
    asks_by_tool(house)

    def subagent(name):
        return {"call": "Task", "input": {
            "description": name, "subagent_type": "general-purpose", "run_in_background": False,
            "prompt": house.prompt(name, house.makes(name))}}

    message = house.send("review", "both", {"calls": [subagent("one"), subagent("two")]})
    requests = house.requests("review", count=2)
    by_name = {name: next(request["id"] for request in requests if request["summary"].endswith(name))
               for name in ("one", "two")}
    house.run("approve", fails=1)
    house.run("deny", by_name["one"], "--remark", REMARK)
    house.run("approve", by_name["two"])
    house.is_now(message, "succeeded")
    expect(not house.made("one"), "the denied one ran")
    expect(house.made("two"), f"the allowed one did not run: {house.model.heard('two')[-1].results}")


@check
def every_tool_is_called(house):
    asks_by_tool(house)
    house.run("config", "set", "onFailure", "pause")
    # Else an agent has its own session alone.
    house.run("config", "set", "agentMessages", "any")
    house.run("session", "add", "other")
    failed = {}
    for session in ("again", "without"):
        house.runs(session)
        failed[session] = house.send(session, session, {"status": 400, "message": "odd"})
        house.is_now(failed[session], "failed")
    one, two = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
    calls = [
        ("queue_add", {"session": "other", "text": "the first", "idempotency_key": one}),
        ("queue_add", {"session": "other", "text": "the second", "idempotency_key": two}),
        ("queue_list", {"session": "other"}),
        ("queue_edit", {"id": one, "text": "the first, better"}),
        ("queue_move", {"ids": [two], "to": 1}),
        ("queue_cancel", {"ids": [one]}),
        ("queue_pause", {"session": "other", "reason": "on holiday"}),
        ("task_state", {}),
        ("session_list", {}),
        ("thread_list", {}),
        ("queue_retry", {"id": failed["again"]}),
        ("queue_skip", {"id": failed["without"]}),
        ("queue_resume", {"session": "other"}),
        ("thread_remove", {"sessions": ["review"]}),
    ]
    # What an agent at work is not to do, whatever its person allows it.
    persons = {"queue_retry", "queue_skip", "queue_resume", "thread_remove"}
    message = house.send("review", "tools", *(
        {"call": f"mcp__cospool__{name}", "input": given} for name, given in calls), house.makes())
    house.requests("review")
    house.run("approve", "review")
    house.is_now(message, "succeeded")
    results = house.model.heard("tools")[-1].results
    expect(len(results) == len(calls) + 1, f"{len(results)} results")
    for (name, _), result in zip(calls, results):
        if name in persons:
            expect("agentNotAllowed" in result, f"{name}: {result}")
        else:
            expect(isinstance(json.loads(result), dict), f"{name}: {result}")
    expect([entry["content"] for entry in json.loads(results[2])["messages"]]
           == ["the first", "the second"], results[2])
    expect([entry["content"] for entry in house.get("sessions/other/queue")["messages"]]
           == ["the second"], "the other queue is another")
    for each in failed.values():
        expect(house.message(each)["status"] == "failed", "an agent decided for its person")
    offered = {tool.removeprefix("mcp__cospool__") for tool in house.model.heard("tools")[-1].tools
               if tool.startswith("mcp__cospool__")}
    missed = offered - {name for name, _ in calls} - {"ask_person", "permission_prompt"}
    expect(offered and not missed, f"these tools were not called: {missed}, of {offered}")


# Hooks


@check
def hooks_ask_for_leave(house):
    house.run("hooks", "install", "claude", "--approvals")
    for session, answer in (("yes", ("approve", "yes")), ("no", ("deny", "no", "--remark", REMARK))):
        agent = house.by_hand(prompt=house.prompt(session, house.makes(session)), COSPOOL_SESSION=session)
        house.requests(session)
        house.run(*answer)
        house.ended(agent)
    expect(house.made("yes"), f"it was allowed, and did not run: {house.model.heard('yes')[-1].results}")
    expect(not house.made("no"), "it was denied, and ran")
    expect(REMARK in house.model.heard("no")[-1].results[-1], house.model.heard("no")[-1].results)


@check
def hooks_are_not_answered(house):
    """The agent does what it does without hooks: with -p there is no prompt, so it is denied."""
    house.run("hooks", "install", "claude", "--approvals", "--patience", "1")
    agent = house.by_hand(prompt=house.prompt("late", house.makes()), COSPOOL_SESSION="late")
    house.ended(agent)
    expect(not house.made(), "nobody allowed it, and it ran")
    house.eventually("the request was to go", lambda: not house.asked())


@check
def hooks_of_an_agent_that_is_killed_while_it_asks(house):
    house.run("hooks", "install", "claude", "--approvals")
    agent = house.by_hand(prompt=house.prompt("killed", house.makes()), COSPOOL_SESSION="killed")
    [request] = house.requests("killed")
    os.killpg(agent.pid, signal.SIGKILL)
    agent.wait()
    house.eventually("the request was to be withdrawn", lambda: not house.asked())
    house.run("approve", request["id"], fails=5)


@check
def hooks_feed_prompts(house):
    """Seven for each prompt of its person, then the rest of the queue."""
    house.run("hooks", "install", "claude", "--feed")
    house.run("config", "set", "agent", "hooks")
    house.runs("feeds", agent="hooks")
    ids = [house.send("feeds", f"fed{number}") for number in range(9)]
    house.ended(house.by_hand(prompt=house.prompt("mine"), COSPOOL_SESSION="feeds"))
    for number in range(7):
        expect(len(house.model.heard(f"fed{number}")) == 1, f"prompt {number} was not given once")
    expect(not house.model.heard("fed7"), "the eighth block of its hooks was taken")
    house.ended(house.by_hand(prompt=house.prompt("mine2"), COSPOOL_SESSION="feeds"))
    for message in ids:
        house.is_now(message, "succeeded")


@check
def hooks_in_a_terminal(house):
    """An interactive session, in tmux: it is known by its folder's name, works, asks, and is ready."""
    tmux = shutil.which("tmux")
    if not tmux:
        return "there is no tmux"
    house.run("hooks", "install", "claude", "--approvals")
    server = [tmux, "-S", f"{house.folder}/tmux", "-f", "/dev/null"]

    def pane(*words):
        return subprocess.run([*server, *words], env=house.environment, cwd=house.project, check=True,
                              capture_output=True, text=True, timeout=SECONDS).stdout

    pane("new-session", "-d", "-x", "120", "-y", "40", f"{house.bin}/claude",
         "--permission-mode", "default")
    try:
        def screen():
            return pane("capture-pane", "-p")

        def typed(text):
            # As a paste: a line break in it sends nothing.
            subprocess.run([*server, "load-buffer", "-"], input=text, env=house.environment,
                           text=True, check=True, timeout=SECONDS)
            pane("paste-buffer", "-p")
            house.eventually("the text was to show", lambda: "Script" in screen() or "Pasted" in screen())
            pane("send-keys", "Enter")

        try:
            [session] = house.eventually(
                "the session was to be known", lambda: house.get("sessions")["sessions"])
            expect(session["name"] == "project", session)
            house.eventually("its prompt was to show", lambda: ">" in screen() or "❯" in screen())
            typed(house.prompt("terminal", house.makes()))
            house.requests(session["id"])
            house.run("approve", session["id"])
            house.eventually("it was to run", house.made)
            house.eventually("its turn was to end", lambda: not any(
                thread["locked"] for thread in house.get("threads")["threads"]))
        except Failed as failure:
            raise Failed(f"{failure}\n{screen()}")
    finally:
        pane("kill-server")


@check
def hooks_of_a_command_that_moved(house):
    """As an upgrade does it: the hooks name the link, not the version that it led to."""
    for version in ("1", "2"):
        os.makedirs(f"{house.folder}/versions/{version}")
        os.symlink(house.programs["cospool"], f"{house.folder}/versions/{version}/cospool")
    link = f"{house.folder}/bin/cospool"
    os.mkdir(f"{house.folder}/bin")
    os.symlink(f"{house.folder}/versions/1/cospool", link)
    subprocess.run([link, "hooks", "install", "claude"], check=True, env=house.environment,
                   capture_output=True, timeout=SECONDS)
    os.remove(link)
    shutil.rmtree(f"{house.folder}/versions/1")
    os.symlink(f"{house.folder}/versions/2/cospool", link)
    house.ended(house.by_hand(prompt=house.prompt("moved"), COSPOOL_SESSION="moved"))
    expect(any(session["id"] == "moved" for session in house.get("sessions")["sessions"]),
           "nothing was heard of the agent")


# Codex


def codex(house):
    house.run("config", "set", "agent", "codex")
    house.runs("parser", agent="codex")


@check
def codex_goes_on_with_its_conversation(house):
    codex(house)
    message = house.send("parser", "first", {"text": "The parser is fixed."})
    house.is_now(message, "succeeded")
    expect("The parser is fixed." in house.run("log", message), "the log lacks what the agent said")
    house.is_now(house.send("parser", "second", {
        "call": "exec_command", "input": {"cmd": f"touch {house.project}/made"}}), "succeeded")
    expect(any("Script first" in text for text in house.model.heard("second")[-1].texts), "began anew")
    expect(house.made(), house.model.heard("second")[-1].results)


@check
def codex_fails(house):
    codex(house)
    message = house.send("parser", "fails", {"status": 400, "message": "the prompt is too odd"})
    failed = house.is_now(message, "failed")
    expect("the prompt is too odd" in failed["lastError"], failed)


@check
def codex_lost_its_conversation(house):
    codex(house)
    house.is_now(house.send("parser", "first"), "succeeded")
    shutil.rmtree(f"{house.home}/.codex/sessions")
    message = house.send("parser", "second")
    house.is_now(message, "failed")
    house.run("queue", "retry", message)
    house.is_now(message, "succeeded")


@check
def codex_is_refused_for_now(house):
    codex(house)
    message = house.send("parser", "refused", {"status": 429, "message": "slow down"})
    house.eventually("it was to wait", lambda: house.message(message)["status"] == "queued"
                     and house.message(message).get("attempts") == 1)


@check
def codex_is_stopped(house):
    codex(house)
    message = house.send("parser", "hangs", {"hang": True})
    expect(house.model.waits_for("hangs"), "the model was not asked")
    house.run("queue", "stop", "-s", "parser")
    house.is_now(message, "cancelled")
    house.eventually("its process was to end", lambda: not house.agents())


def tried(name, programs):
    start = time.monotonic()
    try:
        with House(programs) as house:
            skipped = CHECKS[name](house)
    except Exception as failure:
        if not isinstance(failure, Failed):
            failure = f"{type(failure).__name__}: {failure}"
        return name, f"FAILED {name}: {failure}"
    what = f"SKIPPED {name}: {skipped}" if skipped else f"ok {name}"
    return name, f"{what} ({time.monotonic() - start:.1f} s)"


def version(program):
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=SECONDS,
                           env={"HOME": os.environ.get("TMPDIR", "/tmp"), "PATH": "/usr/bin:/bin"})
    return shown.stdout.strip()


def main(binaries, claude, codex, *wanted):
    programs = {name: os.path.realpath(f"{binaries}/{name}") for name in ("cospool", "cospoold")}
    programs.update(claude=os.path.realpath(claude), codex=os.path.realpath(codex))
    names = [name for name in CHECKS if not wanted or name.startswith(wanted)]
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, House.end_all)
    start = time.monotonic()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
        for done in concurrent.futures.as_completed(
                [pool.submit(tried, name, programs) for name in names]):
            _, text = done.result()
            print(text, flush=True)
            failed += text.startswith("FAILED")
    print(f"{len(names) - failed} of {len(names)} hold with {version(claude)} and {version(codex)}, "
          f"in {time.monotonic() - start:.0f} s")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
