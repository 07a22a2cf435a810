"""An agent that speaks the Agent Client Protocol over its standard input and output, for tests.

Usage: fake_acp.py FOLDER [cut=BYTES] [die=LINES] [plain] [early] [mute]. What it gets is written in FOLDER: `prompts` has
a line for each prompt, `told` one for each answer or note. The prompt's words say what it does. `cut` ends it after so
many bytes of output, `die` after so many lines of either direction; `plain` cannot continue a conversation; `early` answers
before it is asked; `mute` never answers.
"""

import json
import os
import sys
import time

FOLDER = sys.argv[1]
OPTIONS = dict((word.split("=") + [""])[:2] for word in sys.argv[2:])
LIMITS = {name: int(OPTIONS[name]) for name in ("cut", "die") if name in OPTIONS}
counts = {"cut": 0, "die": 0}
number = 0


def note(name, text):
    with open(f"{FOLDER}/{name}", "a", encoding="utf-8") as file:
        file.write(text + "\n")


def passed_line():
    counts["die"] += 1
    if counts["die"] >= LIMITS.get("die", sys.maxsize):
        os._exit(3)


def write(data):
    room = LIMITS.get("cut", sys.maxsize) - counts["cut"]
    os.write(1, data[:room]) if len(data) <= 65536 else sys.stdout.buffer.write(data[:room])
    sys.stdout.buffer.flush()
    counts["cut"] += len(data)
    if len(data) >= room:
        os._exit(4)
    passed_line()


def send(**members):
    write((json.dumps({"jsonrpc": "2.0", **members}) + "\n").encode())


def read():
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        sys.exit(0)
    message = json.loads(line)
    if message.get("method") == "session/prompt":
        text = message["params"]["prompt"][0]["text"]
        others = "".join(" +" + block["type"] for block in message["params"]["prompt"][1:])
        note("prompts", f"{message['params']['sessionId']}|{text}{others}")
    passed_line()
    return message


def update(session, kind, /, **members):
    send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": kind, **members}})


def say(session, text, kind="agent_message_chunk"):
    update(session, kind, content={"type": "text", "text": text})


def asked(method, /, **params):
    """Sends a request, and waits for its answer."""
    global number
    number += 1
    send(id=f"r{number}", method=method, params=params)
    while True:
        message = read()
        if message.get("id") == f"r{number}" and "method" not in message:
            told = json.dumps(message.get("result", message.get("error")), sort_keys=True)
            note("told", told)
            return message.get("result") or {}
        if message.get("method") == "session/cancel":
            note("told", "session/cancel")


def permission(session, call, /, **fields):
    return asked("session/request_permission", sessionId=session, toolCall={"toolCallId": call, **fields}, options=[
        {"optionId": "always", "name": "Always", "kind": "allow_always"},
        {"optionId": "once", "name": "Once", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"}])


def lie(session):
    write(b"this is no JSON\n\n[]\n{\"jsonrpc\":\"2.0\"}\n\xff\xfe\n")
    send(id=99, result={"stopReason": "end_turn"})
    send(id="3", result={"stopReason": "end_turn"})
    send(id=3.5, result={"stopReason": "end_turn"})
    send(id=None, method="fs/read_text_file", params={})
    send(id=8, method="terminal/create", params={"sessionId": session, "command": "rm"})
    note("told", json.dumps(read()["error"]["code"]))
    send(id=9, method="session/request_permission", params={"sessionId": "other", "toolCall": {}, "options": []})
    note("told", json.dumps(read()["error"]["code"]))
    say("other", "not of this turn")
    update(session, "agent_message_chunk", content=7)
    update(session, "plan", entries="none")
    write(b'{"jsonrpc":"2.0","method":"x","params":"' + b"y" * (17 << 20) + b'"}\n')


def turn(session, text):
    """Returns the stop reason."""
    if "lies" in text:
        lie(session)
    if "refuses" in text:
        return "refusal"
    if "tokens" in text:
        return "max_tokens"
    if "requests" in text:
        return "max_turn_requests"
    if "shuts" in text:
        os.close(1)
        time.sleep(600)
    if "hangs" in text:
        while True:
            message = read()
            if message.get("method") == "session/cancel" and "deaf" not in text:
                note("told", "session/cancel")
                return "cancelled"
    update(session, "plan", entries=[
        {"content": "Look", "priority": "high", "status": "completed"},
        {"content": "Mend", "priority": "low", "status": "in_progress"}])
    update(session, "tool_call", toolCallId="c1", title="Run make", kind="execute", rawInput={"command": "make deploy"})
    if "asks" in text:
        answer = permission(session, "c1", locations=[{"path": "/srv/Makefile"}])
        if answer.get("outcome", {}).get("outcome") == "cancelled":
            return "cancelled"
    if "always" in text:
        asked("session/request_permission", sessionId=session, toolCall={"toolCallId": "c1"}, options=[
            {"optionId": "all", "name": "For this session", "kind": "allow_always"},
            {"optionId": "no", "name": "No", "kind": "reject_once"}])
    if "twice" in text:
        for _ in range(2):
            send(id="same", method="session/request_permission", params={
                "sessionId": session, "toolCall": {"toolCallId": "c1"},
                "options": [{"optionId": "o", "name": "Once", "kind": "allow_once"}]})
        note("told", json.dumps(read()["result"], sort_keys=True))
    if "form" in text:
        asked("elicitation/create", sessionId=session, mode="form", message="How?", requestedSchema={
            "type": "object", "required": ["kind"], "properties": {
                "kind": {"type": "string", "enum": ["fast", "safe"]}, "tries": {"type": "integer"},
                "dry": {"type": "boolean"}, "share": {"type": "number"}}})
    if "opens" in text:
        asked("elicitation/create", sessionId=session, mode="url", elicitationId="e", message="Log in.",
              url="https://example.org/login")
    update(session, "tool_call_update", toolCallId="c1", status="completed")
    say(session, "All ")
    say(session, "tests pass.")
    return "end_turn"


def main():
    if "early" in OPTIONS:
        for answer in ({"protocolVersion": 1}, {"sessionId": "s1"}, {"stopReason": "end_turn"}):
            counts["early"] = counts.get("early", 0) + 1
            send(id=counts["early"], result=answer)
        time.sleep(600)
    while True:
        message = read()
        method, params = message.get("method"), message.get("params", {})
        if "mute" in OPTIONS or "id" not in message:
            continue
        if method == "initialize":
            able = {} if "plain" in OPTIONS else {"loadSession": True}
            send(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": able, "authMethods": []})
        elif method == "session/new":
            send(id=message["id"], result={"sessionId": "s1"})
        elif method == "session/load":
            if os.path.exists(f"{FOLDER}/forgets"):
                send(id=message["id"], error={"code": -32002, "message": "no such session"})
                continue
            say(params["sessionId"], "the past")
            say(params["sessionId"], "what was asked", "user_message_chunk")
            send(id=message["id"], result=None)
        elif method == "session/prompt":
            text = params["prompt"][0]["text"]
            if "fails" in text:
                send(id=message["id"], error={"code": -32603, "message": "Internal error", "data": {"details": "no key"}})
            else:
                send(id=message["id"], result={"stopReason": turn(params["sessionId"], text)})


main()
