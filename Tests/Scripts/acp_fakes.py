"""Agents on PyPI's `agent-client-protocol`, which lie, die, ask twice, or never end.

They run in the checks' own process, so that a turn starts at once and a check sees what its agent got. Cospool starts
acp_relay.py, which connects to them. The words of a prompt say what its turn does: see `Fake.prompt`.
"""

import asyncio
import json
import logging
import os
import threading

import acp
from acp import schema

OPTIONS = [schema.PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
           schema.PermissionOption(option_id="no", name="Reject", kind="reject_once")]
# The library reports each connection that ends in the middle, which is what these are for.
logging.disable(logging.CRITICAL)


class Fake(acp.Agent):
    """One process of the agent."""

    def __init__(self, fakes, session, writer):
        self.fakes, self.session, self.writer = fakes, session, writer
        self.cancelled = asyncio.Event()

    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, **_):
        return schema.InitializeResponse(
            protocol_version=protocol_version, agent_capabilities=schema.AgentCapabilities(load_session=True))

    async def new_session(self, cwd, **_):
        return schema.NewSessionResponse(session_id=f"of-{self.session}")

    async def load_session(self, cwd, session_id, **_):
        await self.say(session_id, "This was said before.")
        return schema.LoadSessionResponse()

    async def cancel(self, session_id, **_):
        self.fakes.told.append("cancel")
        self.cancelled.set()

    async def prompt(self, session_id, prompt, **_):
        text = prompt[0].text
        self.fakes.prompts.append((self.session, text))
        kind = text.split()[0]
        stop = await getattr(self, kind)(session_id)
        return schema.PromptResponse(stop_reason=stop or "end_turn")

    # What it does in a turn

    async def works(self, session):
        await self.say(session, "So.")
        await self.client.session_update(session, acp.start_tool_call("c", "Make", kind="execute",
                                                                      raw_input={"command": "make"}))
        allowed = await self.asks(session, "c")
        await self.client.session_update(session, acp.update_tool_call("c", status="completed"))
        await self.say(session, "Made." if allowed else "Not made.")

    async def speaks(self, session):
        await self.say(session, "So.")

    async def lies(self, session):
        """Writes what is no message, answers what was not asked, and reports on other sessions."""
        self.writer.write(b'this is no JSON\n\n[]\n{"jsonrpc":"2.0"}\n\xff\xfe\n')
        self.raw(id=99, result={"stopReason": "end_turn"})
        self.raw(id="3", result={"stopReason": "end_turn"})
        self.raw(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": "plan", "entries": 7}})
        await self.say("another", "This is of another session.")
        for ask in (
            self.client.request_permission("another", schema.ToolCallUpdate(tool_call_id="x", title="rm"), OPTIONS),
            self.client.read_text_file("/etc/shadow", session),
            self.client.create_terminal("rm", session),
        ):
            try:
                self.fakes.told.append(f"it got {await ask}")
            except acp.RequestError as error:
                self.fakes.told.append(error.code)
        # It shows a harmless command, and changes it while its user looks at it.
        await self.client.session_update(session, acp.start_tool_call("c", "Look", raw_input={"command": "ls"}))
        asked = asyncio.ensure_future(self.asks(session, "c"))
        await self.fakes.signal("shown")
        await self.client.session_update(session, acp.update_tool_call("c", raw_input={"command": "rm -r ."}))
        self.fakes.told.append(await asked)
        await self.say(session, "All is well.")

    async def answers_early(self, session):
        """Its turn is over before it has done anything, and once more behind that."""
        self.raw(id=3, result={"stopReason": "end_turn"})
        self.raw(id=3, result={"stopReason": "refusal"})
        await asyncio.sleep(1)
        await self.say(session, "It goes on.")
        return "refusal"

    async def asks_twice(self, session):
        """Two requests at once, one of them with an id that is taken."""
        for call in ("one", "two"):
            await self.client.session_update(session, acp.start_tool_call(call, call, raw_input={"command": call}))
        for number in ("same", "same", "other"):
            call = {"same": "one"}.get(number, "two")
            self.raw(id=number, method="session/request_permission", params={
                "sessionId": session, "toolCall": {"toolCallId": call},
                "options": [option.model_dump(by_alias=True) for option in OPTIONS]})
        await self.fakes.signal("answered")

    async def asks_again(self, session):
        """The same question one after the other: an answer counts once."""
        await self.client.session_update(session, acp.start_tool_call("c", "Make", raw_input={"command": "make"}))
        for _ in range(2):
            self.fakes.told.append(await self.asks(session, "c"))

    async def never_ends(self, session):
        await self.cancelled.wait()
        return "cancelled"

    async def never_obeys(self, session):
        await asyncio.Event().wait()

    async def never_stops_talking(self, session):
        while not self.cancelled.is_set():
            await self.say(session, "never " * 1000)
        return "cancelled"

    # The means

    def raw(self, **members):
        self.writer.write((json.dumps({"jsonrpc": "2.0", **members}) + "\n").encode())

    async def say(self, session, text):
        await self.client.session_update(session, acp.update_agent_message_text(text))

    async def asks(self, session, call):
        answer = await self.client.request_permission(session, schema.ToolCallUpdate(tool_call_id=call), OPTIONS)
        return getattr(answer.outcome, "option_id", None) == "yes"


class Fakes:
    """The fakes of one machine. `prompts` has a pair (session, text) for each prompt that one got."""

    def __init__(self, folder):
        self.path = f"{folder}/acp.sock"
        self.prompts, self.told, self.cuts, self.passed = [], [], {}, {}
        self.signals = {}
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        asyncio.run_coroutine_threadsafe(self.serve(), self.loop).result(30)

    @property
    def command(self):
        return f"python3 -I '{os.path.dirname(os.path.abspath(__file__))}/acp_relay.py' '{self.path}'"

    async def serve(self):
        self.server = await asyncio.start_unix_server(self.connected, self.path)

    async def connected(self, reader, writer):
        session = (await reader.readline()).decode().split()[0]
        # A cut is for one process; the next one of the session lives.
        count, victim = self.cuts.pop(session, (0, 0))
        writer.write(f"{count} {victim}\n".encode())
        connection = acp.core.AgentSideConnection(
            Fake(self, session, writer), writer, reader, listening=False, use_unstable_protocol=True)
        try:
            await connection.listen()
        except OSError:
            pass
        finally:
            writer.close()

    async def signal(self, name):
        """Waits until the check calls `release`."""
        self.signals.setdefault(name, asyncio.Event())
        await self.signals[name].wait()

    def release(self, name):
        self.loop.call_soon_threadsafe(lambda: self.signals.setdefault(name, asyncio.Event()).set())

    def got(self, text):
        return [prompt for _, prompt in self.prompts if prompt == text]

    def close(self):
        async def end():
            self.server.close()
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=5) if tasks else None
        asyncio.run_coroutine_threadsafe(end(), self.loop).result(30)
        self.loop.call_soon_threadsafe(self.loop.stop)
