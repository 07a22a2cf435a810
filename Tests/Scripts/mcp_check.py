"""Checks `cospool mcp` with the reference client of the Model Context Protocol.

Usage: mcp_check.py COSPOOL DATA-DIRECTORY, with a daemon running for the directory. Every call goes
through the client library, which checks the answers against the protocol's schema; this script also
checks them against each tool's own description.
"""

import asyncio
import json
import subprocess
import sys

import jsonschema
from mcp import ClientSession, StdioServerParameters, stdio_client

TOOLS = {
    "queue_list", "queue_add", "queue_edit", "queue_resolve", "queue_move", "queue_later", "queue_after", "queue_cancel",
    "queue_pause", "queue_resume", "queue_retry", "queue_skip", "session_list", "thread_list", "thread_remove",
    "task_state", "ask_person", "permission_prompt",
}


class Failed(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failed(what)


class Agent:
    """An agent that uses the tools."""

    def __init__(self, session):
        self.session = session
        self.calls = 0

    async def call(self, name, fails=False, **arguments):
        self.calls += 1
        result = await self.session.call_tool(name, arguments)
        text = result.content[0].text
        failed = getattr(result, "is_error", None)
        if failed is None:
            failed = result.isError
        expect(bool(failed) == fails, f"{name} {arguments}: {text}")
        if fails:
            return text
        data = getattr(result, "structured_content", None)
        return data if data is not None else result.structuredContent

    async def contents(self, session):
        listing = await self.call("queue_list", session=session)
        return [message["content"] for message in listing["messages"]]


MERGED = {"version": 1, "sessionId": "release", "messages": [{
    "id": "11111111-1111-4111-8111-111111111111", "content": "Bump to 1.3 2.0",
    "createdAt": "2026-01-01T00:00:00Z", "editions": [
        {"content": "Bump to 1.3", "savedAt": 1}, {"content": "Bump to 2.0", "savedAt": 2}]}]}


async def check_resolve(agent):
    """A prompt that was edited in two places continues with the text that the agent chooses."""
    message = (await agent.call("queue_list", session="release"))["messages"][0]
    expect(message["merged"] and len(message["editions"]) == 2, f"it is not merged: {message}")
    text = message["editions"][1]["text"]
    await agent.call("queue_resolve", id=message["id"], text=text, base=message["base"])
    message = (await agent.call("queue_list", session="release"))["messages"][0]
    expect(message["content"] == text and "merged" not in message, f"it still waits: {message}")


async def check(agent):
    tools = (await agent.session.list_tools()).tools
    expect({tool.name for tool in tools} == TOOLS, "the tools differ")
    for tool in tools:
        schema = getattr(tool, "input_schema", None) or tool.inputSchema
        jsonschema.Draft202012Validator.check_schema(schema)

    first = await agent.call("queue_add", session="nightly", text="one", idempotency_key="k-1")
    again = await agent.call("queue_add", session="nightly", text="one", idempotency_key="k-1")
    expect(first == again, "a repeated call got another answer")
    second = await agent.call("queue_add", session="nightly", text="two")
    await agent.call("queue_add", session="nightly", text="now", urgent=True)
    expect(await agent.contents("nightly") == ["now", "one", "two"], "the order differs")
    await agent.call("queue_move", ids=[second["id"]], before=first["id"])
    await agent.call("queue_edit", id=first["id"], text="uno")
    expect(await agent.contents("nightly") == ["now", "two", "uno"], "the move did nothing")
    await agent.call("queue_cancel", ids=[second["id"]])
    await agent.call("queue_pause", session="nightly", reason="night")
    expect((await agent.call("queue_list", session="nightly"))["paused"], "it is not paused")
    await agent.call("queue_resume", session="nightly")
    expect((await agent.call("task_state", session="nightly"))["busy"] is False, "it is busy")
    threads = await agent.call("thread_list")
    expect([t["session"] for t in threads["threads"]] == ["nightly"], "no thread")
    await agent.call("thread_remove", sessions=["nightly"])
    expect((await agent.call("thread_list"))["threads"] == [], "the thread stayed")

    for name in ("queue_retry", "queue_skip"):
        expect("messageNotFailed" in await agent.call(name, fails=True, id=first["id"]), name)
    expect("no argument" in await agent.call("queue_add", fails=True, sesion="x", text="y"), "slip")
    expect("messageNotFound" in await agent.call("queue_cancel", fails=True, ids=["ffff"]), "id")
    large = "é" * 200_000
    await agent.call("queue_add", session="large", text=large)
    whole = await agent.call("queue_list", session="large", full=True)
    expect(whole["messages"][0]["content"] == large, "a large prompt came back changed")


async def main(cospool, directory):
    server = StdioServerParameters(command=cospool, args=["mcp", "--data", directory])
    async with stdio_client(server) as (reader, writer):
        async with ClientSession(reader, writer) as session:
            await session.initialize()
            agent = Agent(session)
            await check(agent)
            subprocess.run(
                [cospool, "queue", "import", "-", "--data", directory], check=True,
                input=json.dumps(MERGED).encode(), stdout=subprocess.DEVNULL)
            await check_resolve(agent)
            calls = agent.calls
    # A key stays in force when the server restarts.
    async with stdio_client(server) as (reader, writer):
        async with ClientSession(reader, writer) as session:
            await session.initialize()
            agent = Agent(session)
            await agent.call("queue_add", session="nightly", text="one", idempotency_key="k-2")
            before = await agent.contents("nightly")
            calls += agent.calls
    async with stdio_client(server) as (reader, writer):
        async with ClientSession(reader, writer) as session:
            await session.initialize()
            agent = Agent(session)
            await agent.call("queue_add", session="nightly", text="one", idempotency_key="k-2")
            expect(await agent.contents("nightly") == before, "the key did not hold")
            calls += agent.calls
    print(f"{len(TOOLS)} tools, {calls} calls through the reference client: all as described")


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except* Failed as failures:
        for failure in failures.exceptions:
            print(f"mcp-check: {failure}", file=sys.stderr)
        sys.exit(1)
