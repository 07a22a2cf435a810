"""Checks Cospool with the real Claude Code, the real Codex, and agents of the Agent Client Protocol.

Usage: agents_check.py BINARIES CLAUDE CODEX [NAME…]; BINARIES is the folder of cospool and cospoold.
Each check has a machine of its own (agents_fixture.py) and a model that does what the prompt says
(fake_model.py). A NAME selects the checks whose names begin with it.
"""

import concurrent.futures
import datetime
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import agents_acp_editor
from agents_fixture import Failed, Fixture, SECONDS, Skipped, expect

REMARK = "Use the test database, please: it's \"safer\"."
CHECKS = {}


def check(function):
    CHECKS[function.__name__.replace("_", "-")] = function
    return function


# Claude Code, started by Cospool


def claude(fixture, session="review"):
    fixture.run("config", "set", "agent", "claude")
    fixture.runs(session)


@check
def claude_first_turn(fixture):
    claude(fixture)
    message = fixture.send("review", "first", {"text": "All tests pass."})
    fixture.is_now(message, "succeeded")
    expect("All tests pass." in fixture.run("log", message), "the log lacks what the agent said")
    expect(not fixture.get("sessions/review/queue")["messages"], "the message still waits")


@check
def claude_goes_on_with_its_conversation(fixture):
    claude(fixture)
    fixture.is_now(fixture.send("review", "first", {"text": "The parser is in Parser.swift."}), "succeeded")
    fixture.is_now(fixture.send("review", "second"), "succeeded")
    texts = fixture.model.heard("second")[-1].texts
    expect(any("Script first" in text for text in texts), f"it started a new conversation: {texts}")


@check
def claude_lost_its_conversation(fixture):
    claude(fixture)
    fixture.is_now(fixture.send("review", "first"), "succeeded")
    shutil.rmtree(f"{fixture.home}/.claude/projects")
    message = fixture.send("review", "second")
    failed = fixture.is_now(message, "failed")
    expect("No conversation found" in failed["lastError"], failed)
    fixture.run("queue", "retry", message)
    fixture.is_now(message, "succeeded")


@check
def claude_fails(fixture):
    claude(fixture)
    message = fixture.send("review", "fails", {"status": 400, "message": "the prompt is too odd"})
    failed = fixture.is_now(message, "failed")
    expect("the prompt is too odd" in failed["lastError"], failed)
    expect("the prompt is too odd" in fixture.run("queue", "list", "-s", "review"), "the list does not show why")


@check
def claude_reached_its_limit(fixture):
    """The limit of a subscription; the message tells when it ends."""
    del fixture.environment["ANTHROPIC_API_KEY"]
    fixture.environment["CLAUDE_CODE_OAUTH_TOKEN"] = "sk-ant-oat01-none-is-needed"
    fixture.kill_daemon()
    fixture.start()
    claude(fixture)
    until = int(time.time()) + 3_600
    message = fixture.send("review", "limit", {"limitUntil": until})
    fixture.eventually("it was to wait", lambda: "notBefore" in fixture.message(message))
    waits = fixture.message(message)
    ends = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(until))
    expect(waits["status"] == "queued" and waits["notBefore"] == ends, waits)
    expect("limit" in waits["lastError"], waits)


@check
def claude_is_refused_for_now(fixture):
    """The limit of a key, whose message tells no time, and an overloaded provider."""
    claude(fixture)
    for status, session in ((429, "review"), (529, "build")):
        fixture.runs(session)
        message = fixture.send(session, f"refused{status}", {"status": status, "message": "slow down"})
        fixture.eventually(f"{status} was to wait", lambda: fixture.message(message)["status"] == "queued"
                         and fixture.message(message).get("attempts") == 1)


@check
def claude_is_stopped(fixture):
    claude(fixture)
    message = fixture.send("review", "hangs", {"hang": True})
    expect(fixture.model.waits_for("hangs"), "the model was not asked")
    fixture.run("queue", "stop", "-s", "review")
    fixture.is_now(message, "cancelled")
    fixture.eventually("its process was to end", lambda: not fixture.agents())


@check
def claude_is_killed(fixture):
    claude(fixture)
    message = fixture.send("review", "hangs", {"hang": True})
    expect(fixture.model.waits_for("hangs"), "the model was not asked")
    # The agent writes its conversation while it asks the model. Killed before that, it could not resume one.
    fixture.eventually(
        "the conversation was to be written",
        lambda: glob.glob(f"{fixture.home}/.claude/projects/*/*.jsonl"))
    for pid in fixture.agents():
        os.kill(pid, signal.SIGKILL)
    fixture.is_now(message, "interrupted")
    fixture.run("queue", "edit", message, fixture.prompt("again"))
    fixture.is_now(message, "succeeded")


@check
def claude_outlives_the_daemon(fixture):
    claude(fixture)
    message = fixture.send("review", "hangs", {"hang": True})
    expect(fixture.model.waits_for("hangs"), "the model was not asked")
    fixture.kill_daemon()
    expect(fixture.agents(), "the agent ended with the daemon")
    fixture.start()
    fixture.eventually("the orphan was to end", lambda: not fixture.agents())
    fixture.is_now(message, "interrupted")
    fixture.run("queue", "skip", message)
    fixture.is_now(fixture.send("review", "next"), "succeeded")


@check
def claude_takes_its_own_commands(fixture):
    """The agent's own commands succeed; a sentence that it took for a command fails, and can be sent as text."""
    claude(fixture)
    fixture.is_now(fixture.send("review", "first"), "succeeded")

    def sent(text):
        fixture.run("send", "-s", "review", text)
        return fixture.get("sessions/review/queue")["messages"][-1]["id"]

    fixture.is_now(sent("/compact"), "succeeded")
    fixture.is_now(sent("/model opus"), "succeeded")
    fixture.is_now(fixture.send("review", "second"), "succeeded")
    fixture.is_now(sent("/clear"), "succeeded")
    fixture.is_now(fixture.send("review", "third"), "succeeded")
    texts = fixture.model.heard("third")[-1].texts
    expect(not any("Script second" in text for text in texts), f"the conversation continued: {texts}")
    for text in ("/login page gives a 404, fix it", "/config file is wrong"):
        message = sent(text)
        failed = fixture.is_now(message, "failed")
        expect("took this for its own command" in failed["lastError"], failed)
        fixture.run("queue", "edit", message, f"Fix this: {text}")
        fixture.is_now(message, "succeeded")
    fixture.is_now(sent("/etc/hosts is wrong"), "succeeded")


@check
def claude_reads_a_file(fixture):
    claude(fixture)
    fixture.write(f"{fixture.folder}/error.txt", "line 7: the flag is reversed\n")
    message = fixture.send(
        "review", "file", {"call": "Read", "input": {"file_path": "$FILE"}},
        attach=f"{fixture.folder}/error.txt")
    fixture.is_now(message, "succeeded")
    results = fixture.model.heard("file")[-1].results
    expect("the flag is reversed" in results[-1], f"the model got {results}")


@check
def claude_moved(fixture):
    """Like an upgrade: the old version is removed, and the link in PATH points to the new one."""
    for version in ("1", "2"):
        os.makedirs(f"{fixture.folder}/versions/{version}")
        os.symlink(fixture.programs["claude"], f"{fixture.folder}/versions/{version}/claude")

    def link(version):
        os.symlink(f"{fixture.folder}/versions/{version}/claude", f"{fixture.bin}/new")
        os.replace(f"{fixture.bin}/new", f"{fixture.bin}/claude")

    link("1")
    claude(fixture)
    fixture.is_now(fixture.send("review", "first"), "succeeded")
    link("2")
    shutil.rmtree(f"{fixture.folder}/versions/1")
    fixture.is_now(fixture.send("review", "second"), "succeeded")
    expect(any("Script first" in text for text in fixture.model.heard("second")[-1].texts), "it began again")


# Requests through `cospool mcp`


def asks_by_tool(fixture, patience=None):
    fixture.asks_by_tool(patience)
    fixture.runs("review")


@check
def tool_is_allowed(fixture):
    asks_by_tool(fixture)
    message = fixture.send("review", "asks", fixture.makes())
    [request] = fixture.requests("review")
    expect("touch" in request["summary"], request)
    expect(not fixture.made(), "it ran before it was allowed")
    fixture.run("approve", "review")
    fixture.is_now(message, "succeeded")
    expect(fixture.made(), f"it did not run: {fixture.model.heard('asks')[-1].results}")


@check
def tool_is_denied_with_a_remark(fixture):
    asks_by_tool(fixture)
    message = fixture.send("review", "asks", fixture.makes())
    fixture.requests("review")
    fixture.run("deny", "review", "--remark", REMARK)
    fixture.is_now(message, "succeeded")
    expect(not fixture.made(), "it ran although it was denied")
    results = fixture.model.heard("asks")[-1].results
    expect(any(REMARK in result for result in results), f"the remark is not in {results}")


@check
def tool_is_not_answered(fixture):
    asks_by_tool(fixture, patience=1)
    message = fixture.send("review", "asks", fixture.makes())
    fixture.is_now(message, "succeeded")
    expect(not fixture.made(), "it ran although no one allowed it")
    results = fixture.model.heard("asks")[-1].results
    expect("No answer came in time" in results[-1], results)


@check
def tool_is_stopped_while_it_asks(fixture):
    asks_by_tool(fixture)
    message = fixture.send("review", "asks", fixture.makes())
    [request] = fixture.requests("review")
    fixture.run("queue", "stop", "-s", "review")
    fixture.is_now(message, "cancelled")
    fixture.eventually("the request was to be withdrawn", lambda: not fixture.asked())
    fixture.run("approve", request["id"], fails=5)
    expect(not fixture.made(), "it ran")


QUESTION = {"call": "AskUserQuestion", "input": {"questions": [{
    "question": "Which database?", "header": "Database", "multiSelect": False,
    "options": [{"label": "test", "description": "The copy"}, {"label": "live", "description": "Real"}],
}]}}


@check
def question_is_answered(fixture):
    asks_by_tool(fixture)
    message = fixture.send("review", "asks", QUESTION)
    [request] = fixture.requests("review")
    expect("Which database?" in request["question"], request)
    fixture.run("answer", "review", "the test one")
    fixture.is_now(message, "succeeded")
    results = fixture.model.heard("asks")[-1].results
    expect("the test one" in results[-1], results)


@check
def question_is_cancelled(fixture):
    """The turn ends; the model is not told that the time ran out."""
    asks_by_tool(fixture)
    message = fixture.send("review", "asks", QUESTION)
    fixture.requests("review")
    fixture.run("answer", "review", "--cancel")
    fixture.is_now(message, "cancelled")
    fixture.eventually("its process was to end", lambda: not fixture.agents())
    results = [result for script in fixture.model.heard("asks") for result in script.results]
    expect(not any("in time" in result for result in results), results)


@check
def two_subagents_ask_at_once(fixture):
    asks_by_tool(fixture)

    def subagent(name):
        return {"call": "Task", "input": {
            "description": name, "subagent_type": "general-purpose", "run_in_background": False,
            "prompt": fixture.prompt(name, fixture.makes(name))}}

    message = fixture.send("review", "both", {"calls": [subagent("one"), subagent("two")]})
    requests = fixture.requests("review", count=2)
    by_name = {name: next(request["id"] for request in requests if f"/{name}" in request["summary"])
               for name in ("one", "two")}
    fixture.run("approve", fails=1)
    fixture.run("deny", by_name["one"], "--remark", REMARK)
    fixture.run("approve", by_name["two"])
    fixture.is_now(message, "succeeded")
    expect(not fixture.made("one"), "the denied one ran")
    expect(fixture.made("two"), f"the allowed one did not run: {fixture.model.heard('two')[-1].results}")


@check
def every_tool_is_called(fixture):
    asks_by_tool(fixture)
    fixture.run("config", "set", "onFailure", "pause")
    # Without this, an agent may use only its own session.
    fixture.run("config", "set", "agentMessages", "any")
    fixture.run("session", "add", "other")
    failed = {}
    for session in ("again", "without"):
        fixture.runs(session)
        failed[session] = fixture.send(session, session, {"status": 400, "message": "odd"})
        fixture.is_now(failed[session], "failed")
    one, two, merged = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "123")
    edited_in_two_places = {
        "id": merged, "content": "Bump to 1.3 2.0", "createdAt": "2026-01-01T00:00:00Z",
        "editions": [{"content": f"Bump to {version}", "savedAt": at} for at, version in ((1, "1.3"), (2, "2.0"))]}
    fixture.run("queue", "import", "-", given=json.dumps(
        {"version": 1, "sessionId": "other", "messages": [edited_in_two_places]}))
    base = fixture.message(merged)["base"]
    soon = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).isoformat(timespec="seconds")
    calls = [
        ("queue_add", {"session": "other", "text": "the first", "idempotency_key": one}),
        ("queue_add", {"session": "other", "text": "the second", "idempotency_key": two}),
        ("queue_list", {"session": "other"}),
        ("queue_edit", {"id": one, "text": "the first, better"}),
        ("queue_resolve", {"id": merged, "text": "Bump to 2.0", "base": base}),
        ("queue_move", {"ids": [two], "to": 1}),
        ("queue_later", {"id": two, "later": soon}),
        ("queue_after", {"id": two, "needs": [one]}),
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
    # Commands that an agent may not use while it works, whatever the user allows.
    refused = dict.fromkeys(("queue_retry", "queue_skip", "queue_resume", "thread_remove"), "agentNotAllowed")
    # A user wrote the merged message, so a user chooses its text.
    refused["queue_resolve"] = "messageOfPerson"
    message = fixture.send("review", "tools", *(
        {"call": f"mcp__cospool__{name}", "input": given} for name, given in calls), fixture.makes())
    fixture.requests("review")
    fixture.run("approve", "review")
    fixture.is_now(message, "succeeded")
    results = fixture.model.heard("tools")[-1].results
    expect(len(results) == len(calls) + 1, f"{len(results)} results")
    for (name, _), result in zip(calls, results):
        if name in refused:
            expect(refused[name] in result, f"{name}: {result}")
        else:
            expect(result.startswith("{") and json.loads(result), f"{name}: {result}")
    expect([entry["content"] for entry in json.loads(results[2])["messages"]]
           == ["Bump to 1.3 2.0", "the first", "the second"], results[2])
    expect([entry["content"] for entry in fixture.get("sessions/other/queue")["messages"]]
           == ["the second", "Bump to 1.3 2.0"], "the other queue is another")
    for each in failed.values():
        expect(fixture.message(each)["status"] == "failed", "an agent decided for the user")
    offered = {tool.removeprefix("mcp__cospool__") for tool in fixture.model.heard("tools")[-1].tools
               if tool.startswith("mcp__cospool__")}
    missed = offered - {name for name, _ in calls} - {"ask_person", "permission_prompt"}
    expect(offered and not missed, f"these tools were not called: {missed}, of {offered}")


# Hooks


@check
def hooks_ask_for_leave(fixture):
    fixture.run("hooks", "install", "claude", "--approvals")
    for session, answer in (("yes", ("approve", "yes")), ("no", ("deny", "no", "--remark", REMARK))):
        agent = fixture.by_hand(prompt=fixture.prompt(session, fixture.makes(session)), COSPOOL_SESSION=session)
        fixture.requests(session)
        fixture.run(*answer)
        fixture.ended(agent)
    expect(fixture.made("yes"), f"it did not run although it was allowed: {fixture.model.heard('yes')[-1].results}")
    expect(not fixture.made("no"), "it ran although it was denied")
    expect(REMARK in fixture.model.heard("no")[-1].results[-1], fixture.model.heard("no")[-1].results)


@check
def hooks_are_not_answered(fixture):
    """The agent acts as it does without hooks: -p shows no prompt, so the agent denies the step."""
    fixture.run("hooks", "install", "claude", "--approvals", "--patience", "1")
    agent = fixture.by_hand(prompt=fixture.prompt("late", fixture.makes()), COSPOOL_SESSION="late")
    fixture.ended(agent)
    expect(not fixture.made(), "it ran although no one allowed it")
    fixture.eventually("the request was to go", lambda: not fixture.asked())


@check
def hooks_of_an_agent_that_is_killed_while_it_asks(fixture):
    fixture.run("hooks", "install", "claude", "--approvals")
    agent = fixture.by_hand(prompt=fixture.prompt("killed", fixture.makes()), COSPOOL_SESSION="killed")
    [request] = fixture.requests("killed")
    os.killpg(agent.pid, signal.SIGKILL)
    agent.wait()
    fixture.eventually("the request was to be withdrawn", lambda: not fixture.asked())
    fixture.run("approve", request["id"], fails=5)


@check
def hooks_feed_prompts(fixture):
    """Seven for each of the user's own prompts, then the rest of the queue."""
    fixture.run("hooks", "install", "claude", "--feed")
    fixture.run("config", "set", "agent", "hooks")
    fixture.runs("feeds", agent="hooks")
    ids = [fixture.send("feeds", f"fed{number}") for number in range(9)]
    fixture.ended(fixture.by_hand(prompt=fixture.prompt("mine"), COSPOOL_SESSION="feeds"))
    for number in range(7):
        expect(len(fixture.model.heard(f"fed{number}")) == 1, f"prompt {number} was not given once")
    expect(not fixture.model.heard("fed7"), "the agent accepted an eighth block of its hooks")
    fixture.ended(fixture.by_hand(prompt=fixture.prompt("mine2"), COSPOOL_SESSION="feeds"))
    for message in ids:
        fixture.is_now(message, "succeeded")


@check
def hooks_in_a_terminal(fixture):
    """An interactive session in tmux has its folder's name, works, asks, and gets ready."""
    fixture.run("hooks", "install", "claude", "--approvals")
    with fixture.terminal() as terminal:
        [session] = fixture.eventually(
            "the session was to be known", lambda: fixture.get("sessions")["sessions"])
        expect(session["name"] == "project", session)
        terminal.typed(fixture.prompt("terminal", fixture.makes()))
        fixture.requests(session["id"])
        fixture.run("approve", session["id"])
        fixture.eventually("it was to run", fixture.made)
        terminal.is_ready("terminal")


@check
def hooks_keep_the_session_of_a_terminal(fixture):
    """The queue continues after /clear and /branch; the next terminal gets the name."""
    fixture.run("hooks", "install", "claude", "--feed")
    fixture.run("config", "set", "agent", "hooks")
    with fixture.terminal() as terminal:
        terminal.typed(fixture.prompt("mine1"))
        terminal.is_ready("mine1")
        [session] = fixture.get("sessions")["sessions"]
        terminal.command("/clear")
        message = fixture.send(session["id"], "afterclear")
        terminal.typed(fixture.prompt("mine2"))
        fixture.is_now(message, "succeeded")
        expect(not any("mine1" in text for text in fixture.model.heard("afterclear")[-1].texts), "it was not cleared")
        terminal.is_ready("afterclear")
        terminal.command("/branch")
        message = fixture.send(session["id"], "afterbranch")
        terminal.typed(fixture.prompt("mine3"))
        fixture.is_now(message, "succeeded")
        expect(len(fixture.get("sessions")["sessions"]) == 1, fixture.state())
        terminal.is_ready("afterbranch")
        terminal.command("/exit")
        fixture.eventually("its end was to be known", lambda: fixture.get("sessions").get("closed"))
    with fixture.terminal() as terminal:
        fixture.eventually("the second was to be known", lambda: len(fixture.get("sessions")["sessions"]) == 2)
        fixture.run("send", "-s", "project", "for the open one")
        expect(not fixture.get(f"sessions/{session['id']}/queue")["messages"], "the closed one got it")


@check
def hooks_wait_for_subagents(fixture):
    """A fed prompt ends together with the subagents that it started, and their requests stay."""
    fixture.run("hooks", "install", "claude", "--feed")
    fixture.run("config", "set", "agent", "hooks")
    waits = "python3 -c 'import time; time.sleep(6)'"
    with fixture.terminal("--allowedTools", "Bash(python3:*)") as terminal:
        terminal.typed(fixture.prompt("mine"))
        terminal.is_ready("mine")
        session = fixture.get("sessions")["sessions"][0]["id"]

        def subagent(name, *steps):
            return {"call": "Task", "input": {"description": name, "subagent_type": "general-purpose",
                    "run_in_background": True, "prompt": fixture.prompt(name, *steps)}}

        first = fixture.send(session, "begins", {"calls": [
            subagent("asks", fixture.makes()),
            subagent("works", *({"call": "Bash", "input": {"command": waits, "description": "waits"}},) * 2)]})
        second = fixture.send(session, "follows")
        terminal.typed(fixture.prompt("mine2"))
        [request] = fixture.requests(session)
        expect("made" in json.dumps(request), request)
        fixture.eventually("the other one was to end", lambda: len(fixture.model.heard("works")[-1].results) == 2
                           if fixture.model.heard("works") else False)
        time.sleep(2)
        expect(fixture.asked(session), "the request was withdrawn")
        expect(fixture.message(first)["status"] == "running", fixture.message(first))
        expect(not fixture.model.heard("follows"), "the next prompt came too early")
        terminal.key("Enter")
        fixture.is_now(first, "succeeded")
        fixture.is_now(second, "succeeded")
        expect(fixture.made(), "it did not run")


@check
def hooks_of_a_turn_that_failed(fixture):
    fixture.run("hooks", "install", "claude")
    with fixture.terminal() as terminal:
        terminal.typed(fixture.prompt("fails", {"status": 400, "message": "the prompt is too odd"}))
        fixture.eventually("the error was to show", lambda: any(
            "too odd" in json.dumps(task) for task in fixture.get("tasks")["tasks"]))
        terminal.is_ready("fails")


@check
def hooks_of_a_script(fixture):
    """A script's agent creates no session unless it names one."""
    fixture.run("hooks", "install", "claude")
    fixture.ended(fixture.by_hand(prompt=fixture.prompt("unnamed")))
    expect(not fixture.get("sessions")["sessions"], "a script's agent created a session")
    fixture.ended(fixture.by_hand(prompt=fixture.prompt("named"), COSPOOL_SESSION="named"))
    [session] = fixture.get("sessions")["sessions"]
    expect(session["id"] == "named", session)


@check
def hooks_of_a_command_that_moved(fixture):
    """Like an upgrade: the hooks name the link, not the version to which it pointed."""
    for version in ("1", "2"):
        os.makedirs(f"{fixture.folder}/versions/{version}")
        os.symlink(fixture.programs["cospool"], f"{fixture.folder}/versions/{version}/cospool")
    link = f"{fixture.folder}/bin/cospool"
    os.mkdir(f"{fixture.folder}/bin")
    os.symlink(f"{fixture.folder}/versions/1/cospool", link)
    subprocess.run([link, "hooks", "install", "claude"], check=True, env=fixture.environment,
                   capture_output=True, timeout=SECONDS)
    os.remove(link)
    shutil.rmtree(f"{fixture.folder}/versions/1")
    os.symlink(f"{fixture.folder}/versions/2/cospool", link)
    fixture.ended(fixture.by_hand(prompt=fixture.prompt("moved"), COSPOOL_SESSION="moved"))
    expect(any(session["id"] == "moved" for session in fixture.get("sessions")["sessions"]),
           "nothing was heard of the agent")


# Codex


def codex(fixture):
    fixture.run("config", "set", "agent", "codex")
    fixture.runs("parser", agent="codex")


@check
def codex_goes_on_with_its_conversation(fixture):
    codex(fixture)
    message = fixture.send("parser", "first", {"text": "The parser is fixed."})
    fixture.is_now(message, "succeeded")
    expect("The parser is fixed." in fixture.run("log", message), "the log lacks what the agent said")
    fixture.is_now(fixture.send("parser", "second", {
        "call": "exec_command", "input": {"cmd": f"touch {fixture.project}/made"}}), "succeeded")
    expect(any("Script first" in text for text in fixture.model.heard("second")[-1].texts), "it began again")
    expect(fixture.made(), fixture.model.heard("second")[-1].results)


@check
def codex_fails(fixture):
    codex(fixture)
    message = fixture.send("parser", "fails", {"status": 400, "message": "the prompt is too odd"})
    failed = fixture.is_now(message, "failed")
    expect("the prompt is too odd" in failed["lastError"], failed)


@check
def codex_lost_its_conversation(fixture):
    codex(fixture)
    fixture.is_now(fixture.send("parser", "first"), "succeeded")
    shutil.rmtree(f"{fixture.home}/.codex/sessions")
    message = fixture.send("parser", "second")
    fixture.is_now(message, "failed")
    fixture.run("queue", "retry", message)
    fixture.is_now(message, "succeeded")


@check
def codex_is_refused_for_now(fixture):
    codex(fixture)
    message = fixture.send("parser", "refused", {"status": 429, "message": "slow down"})
    fixture.eventually("it was to wait", lambda: fixture.message(message)["status"] == "queued"
                     and fixture.message(message).get("attempts") == 1)


@check
def codex_is_stopped(fixture):
    codex(fixture)
    message = fixture.send("parser", "hangs", {"hang": True})
    expect(fixture.model.waits_for("hangs"), "the model was not asked")
    fixture.run("queue", "stop", "-s", "parser")
    fixture.is_now(message, "cancelled")
    fixture.eventually("its process was to end", lambda: not fixture.agents())


# The Agent Client Protocol

CHECKS.update(agents_acp_editor.CHECKS)


def tried(name, programs):
    start = time.monotonic()
    try:
        with Fixture(programs) as fixture:
            skipped = CHECKS[name](fixture)
    except Skipped as reason:
        skipped = reason
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
        signal.signal(number, Fixture.end_all)
    start = time.monotonic()
    failed = {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
        for done in concurrent.futures.as_completed(
                [pool.submit(tried, name, programs) for name in names]):
            name, text = done.result()
            print(text, flush=True)
            if text.startswith("FAILED"):
                failed[name] = text
    # Once more, alone: its deadlines also depend on the model and the machine.
    for name, first in list(failed.items()) if len(failed) <= 3 else ():
        _, text = tried(name, programs)
        print(text, flush=True)
        if not text.startswith("FAILED"):
            print(f"UNSTEADY: failed first, passed alone: {first}")
            del failed[name]
    print(f"{len(names) - len(failed)} of {len(names)} passed with {version(claude)} and {version(codex)}, "
          f"in {time.monotonic() - start:.0f} s")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
