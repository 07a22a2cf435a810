"""Checks of `cospool acp` with an editor on PyPI's `agent-client-protocol`.

agents_check.py runs them. The agent behind the queue is one of acp_fakes.py, so the protocol is on both sides of Cospool.
"""

import asyncio

from agents_acp import CHECKS, check, decide, is_over, send
from agents_fixture import Failed, SECONDS, expect


def editor_class():
    import acp
    from acp import schema

    class Editor(acp.Client):
        """An editor whose user chooses `answers` in turn, and looks on when there are none left."""

        def __init__(self, *answers):
            self.answers, self.asked, self.updates = list(answers), [], []
            self.changed = asyncio.Event()

        async def request_permission(self, session_id, tool_call, options, **_):
            self.asked.append(tool_call)
            self.changed.set()
            if not self.answers:
                await asyncio.sleep(SECONDS)
            return schema.RequestPermissionResponse(
                outcome=schema.AllowedOutcome(outcome="selected", option_id=self.answers.pop(0)))

        async def session_update(self, session_id, update, **_):
            self.updates.append(update)
            self.changed.set()

        async def sees(self, condition):
            async with asyncio.timeout(SECONDS):
                while not condition():
                    self.changed.clear()
                    await self.changed.wait()

        def said(self, kind="agent_message_chunk"):
            return "".join(update.content.text for update in self.updates if update.session_update == kind)

    return Editor


class Opened:
    """`cospool acp`, started by an editor."""

    def __init__(self, fixture, editor, *words):
        import acp
        self.editor = editor
        self.context = acp.stdio.spawn_agent_process(
            editor, fixture.programs["cospool"], "acp", *words, env=fixture.environment, cwd=fixture.project)

    async def __aenter__(self):
        import acp
        self.agent, self.process = await self.context.__aenter__()
        answer = await self.agent.initialize(acp.PROTOCOL_VERSION)
        expect(answer.protocol_version == 1 and answer.agent_info.name == "cospool", answer)
        return self

    async def __aexit__(self, *error):
        await self.context.__aexit__(*error)

    async def prompt(self, session, text):
        import acp
        return await asyncio.wait_for(
            self.agent.prompt(session_id=session, prompt=[acp.text_block(text)]), SECONDS)


def of_editor(function):
    """A check that is a coroutine, with the class of the editor."""
    def checked(fixture, fakes):
        editors = []

        def editor(*answers):
            editors.append(editor_class()(*answers))
            return editors[-1]
        try:
            return asyncio.run(function(fixture, fakes, editor))
        except TimeoutError:
            raise Failed(f"It took too long: {[each.said() for each in editors]}. {fixture.state()}") from None
    checked.__name__ = function.__name__
    return check(checked)


@of_editor
async def acp_editor_sees_its_prompt_through(fixture, fakes, Editor):
    """Two prompts in one conversation: what the agent asks, does and says; then the failure of a third."""
    editor = Editor("allow", "deny")
    async with Opened(fixture, editor, "--here") as opened:
        session = (await opened.agent.new_session(cwd=fixture.project, mcp_servers=[])).session_id
        expect((await opened.prompt(session, "works first")).stop_reason == "end_turn", editor.updates)
        expect("make" in editor.asked[0].title and editor.said().endswith("Made."), editor.updates)
        expect((await opened.prompt(session, "works second")).stop_reason == "end_turn", editor.updates)
        expect(editor.said().endswith("Not made."), editor.updates)
        shown = fixture.get(f"sessions/{session}")
        expect(shown["name"] == "project" and shown["project"] == fixture.project, shown)
        import acp
        try:
            await opened.prompt(session, "answers_with_nothing")
            expect(False, "a failed prompt ended well")
        except acp.RequestError as error:
            expect("cospool queue retry" in str(error), error)
    expect([text for _, text in fakes.prompts][:2] == ["works first", "works second"], fakes.prompts)


@of_editor
async def acp_editor_stops(fixture, fakes, Editor):
    """What runs is stopped, and what waits behind it is cancelled."""
    editor = Editor()
    async with Opened(fixture, editor, "--here") as opened:
        session = (await opened.agent.new_session(cwd=fixture.project, mcp_servers=[])).session_id
        running = asyncio.ensure_future(opened.prompt(session, "never_ends"))
        await asyncio.to_thread(fixture.eventually, "it was to run", lambda: fakes.got("never_ends"))
        waiting = asyncio.ensure_future(opened.prompt(session, "speaks behind"))
        await editor.sees(lambda: "Queued, 2 of 2." in editor.said())
        await opened.agent.cancel(session_id=session)
        expect((await waiting).stop_reason == "cancelled", "it was not cancelled")
        expect((await running).stop_reason == "cancelled", "it was not stopped")
    expect(fakes.told == ["cancel"] and not fakes.got("speaks behind"), fakes.prompts)


@of_editor
async def acp_editor_is_not_the_only_place(fixture, fakes, Editor):
    """A request that is decided on another device is over in the editor."""
    editor = Editor()
    async with Opened(fixture, editor, "-s", "review") as opened:
        session = (await opened.agent.new_session(cwd=fixture.project, mcp_servers=[])).session_id
        expect(session == "review", session)
        turn = asyncio.ensure_future(opened.prompt(session, "works here"))
        await editor.sees(lambda: editor.asked)
        [request] = await asyncio.to_thread(fixture.requests, session)
        expect(await asyncio.to_thread(decide, fixture, request) == 200, request)
        expect((await turn).stop_reason == "end_turn", editor.updates)
        expect([update.status for update in editor.updates if getattr(update, "tool_call_id", "") == request["id"]]
               == ["pending", "completed"], editor.updates)


@of_editor
async def acp_editor_is_killed(fixture, fakes, Editor):
    """Nothing that it queued is lost; the next editor sees it in the same conversation."""
    async with Opened(fixture, Editor(), "--here") as opened:
        session = (await opened.agent.new_session(cwd=fixture.project, mcp_servers=[])).session_id
        turns = [asyncio.ensure_future(opened.prompt(session, text)) for text in ("works one", "works two")]
        await asyncio.to_thread(fixture.eventually, "both were to be queued", lambda: any(
            len(fixture.get(f"sessions/{each['id']}/queue")["messages"]) == 2
            for each in fixture.get("sessions")["sessions"]))
        opened.process.kill()
        await asyncio.gather(*turns, return_exceptions=True)
    last = await asyncio.to_thread(send, fixture, "works three", session)
    expect((await asyncio.to_thread(is_over, fixture, last, session))["status"] == "succeeded", fixture.state())
    expect([text for _, text in fakes.prompts] == ["works one", "works two", "works three"], fakes.prompts)
    editor = Editor()
    async with Opened(fixture, editor) as opened:
        await opened.agent.load_session(cwd=fixture.project, session_id=session, mcp_servers=[])
        await editor.sees(lambda: "works three" in editor.said("user_message_chunk"))
