"""The inbox, the palette and the keys of the whole page; see page_test.py."""

import json
import time

from playwright.sync_api import expect as shown

from page_common import go, picture
from page_fixture import expect, until
from page_harm import PHONE, approval, card
from page_queues import saved_apart


def line(page, session):
    return page.locator(f'inbox-line[data-session="{session}"]')


def lines(page, beginning):
    """The sessions of the inbox whose name begins so, in their order."""
    return page.evaluate("""beginning => [...document.querySelector('.inbox').children].map(each => each.dataset.session)
      .filter(name => name.startsWith(beginning))""", beginning)


def leave(page):
    """Neither the pointer nor the focus is in a list from here on."""
    page.mouse.move(2, 2)
    page.evaluate("document.activeElement.blur()")


def take(page, name, data):
    page.evaluate("""async ([name, data]) => { const { model } = await import('/app.js'); model.take(name, data)
      await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))) }""", [name, data])


def failing(fixture, session, text):
    fixture.desk.api("PUT", "settings/command", {"value": "sh -c 'echo no such branch: release-12 >&2; exit 3'"})
    fixture.desk.api("PUT", "settings/agent", {"value": "command"})
    fixture.desk.send(session, text)
    fixture.desk.api("PUT", f"sessions/{session}/host", {"device": "this"})
    until(lambda: fixture.desk.queue(session)[0]["status"] == "failed", "it fails")
    fixture.desk.api("PUT", "settings/agent", {"value": "none"})


# The inbox


def check_inbox(browser, fixture, figures):
    """One line for each session with its reason; the one that waits longest is first, then the threads in their own order."""
    desk = fixture.desk
    desk.api("DELETE", "threads")
    failing(fixture, "in-failed", "Rebuild the site")
    saved_apart(desk, "in-merged", "Use a file", ["Use SQLite", "Use MySQL"])
    for name in ("in-second", "in-first"):
        desk.send(name, f"prompt of {name}")
    for name in ("in-second", "in-first", "in-asks"):
        if name == "in-asks":
            approval(fixture, name, "git push")
        desk.api("POST", "threads/add", {"sessions": [name]})
        desk.api("DELETE", f"threads/{name}/lock")
    desk.api("POST", "threads/in-first/move", {"to": 1})
    page = browser.page()
    shown(line(page, "in-asks")).to_be_visible()
    for name, tag in (("in-failed", "failed"), ("in-merged", "merged text"), ("in-asks", "asks"), ("in-first", "your turn")):
        shown(line(page, name).locator(".tag")).to_have_text(tag)
    names = lines(page, "in-")
    expect(len(names) == len(set(names)) == 5, f"the lines are {names}")
    expect(names[3:] == ["in-first", "in-second"], f"the threads stand as {names}")
    expect(names.index("in-failed") < names.index("in-asks"), f"what waits longest is not first: {names}")
    shown(line(page, "in-failed").locator(".words")).to_contain_text("no such branch")
    shown(line(page, "in-merged").locator(".version")).to_have_count(2)
    # Exact times for a pointer on one.
    expect(":" in line(page, "in-asks").locator("time").get_attribute("title"), "no exact time")
    picture(page, "inbox")
    title = line(page, "in-asks").get_by_role("link", name="in-asks")
    title.click()
    shown(page.locator("session-view h1")).to_have_text("in-asks")
    desk.cli("approve", "in-asks")
    desk.api("POST", "messages/cancel", {"ids": [desk.queue("in-merged")[0]["id"]]})
    desk.api("POST", f"messages/{desk.queue('in-failed')[0]['id']}/skip")


def check_inbox_of_the_command_line(browser, fixture, figures):
    """`cospool inbox` has the lines of the page, in their order, with threads whose locks have no reason left."""
    desk = fixture.desk
    desk.api("DELETE", "threads")
    failing(fixture, "cl-failed", "Rebuild the site")
    for name in ("cl-second", "cl-first"):
        desk.send(name, f"prompt of {name}")
    desk.api("POST", "threads/cl-first/move", {"to": 1})
    approval(fixture, "cl-asks", "git push")
    page = browser.page()
    shown(line(page, "cl-asks")).to_be_visible()
    leave(page)
    listed = lambda: [each["session"] for each in desk.api("GET", "inbox")["lines"] if each["session"].startswith("cl-")]
    until(lambda: len(listed()) == 4 and lines(page, "cl-") == listed(), "the page and the command line have one list")
    expect(listed()[2:] == ["cl-first", "cl-second"], f"the threads stand as {listed()}")
    shown(line(page, "cl-first").locator(".tag")).to_have_text("your turn")
    desk.cli("approve", "cl-asks")
    desk.api("POST", f"messages/{desk.queue('cl-failed')[0]['id']}/skip")
    for session in ("cl-failed", "cl-first", "cl-second"):
        desk.cli("session", "delete", session)


def check_inbox_keeps_places(browser, fixture, figures):
    """With the pointer or the focus in the list no line changes places, and a line that disappears keeps its place."""
    desk = fixture.desk
    approval(fixture, "still-b", "the later one")
    page = browser.page()
    shown(card(page, "the later one")).to_be_visible()
    card(page, "the later one").hover()
    tops = lambda: line(page, "still-b").bounding_box()["y"]
    before = tops()
    # It waits longer than all others.
    take(page, "task", {"session": "still-a", "status": "awaitingApproval", "startTime": "1970-01-01T00:00:00.001Z", "lastUpdateTime": "1970-01-01T00:00:00.001Z",
                        "request": {"id": "00000000-0000-4000-8000-0000000000aa", "toolName": "Bash", "summary": "the earlier one", "expiresAt": "2255-03-14T16:00:00.000Z"}})
    shown(line(page, "still-a")).to_be_visible()
    expect(lines(page, "still-") == ["still-b", "still-a"] and tops() == before, f"the lines are {lines(page, 'still-')}")
    leave(page)
    until(lambda: lines(page, "still-") == ["still-a", "still-b"], "it takes its place when the pointer has left")
    # The same with the focus.
    page.wait_for_timeout(600)
    card(page, "the earlier one").get_by_label("Reason for the denial").focus()
    desk.cli("approve", "still-b")
    shown(card(page, "the later one")).to_contain_text("Allowed")
    before = tops()
    page.wait_for_timeout(300)
    expect(lines(page, "still-") == ["still-a", "still-b"] and tops() == before, f"the lines are {lines(page, 'still-')}")


def check_decided_line(browser, fixture, figures):
    """A decided line keeps its height under the pointer, is one line high when one has left, and goes by itself after that."""
    asked = [approval(fixture, f"line-{number}", f"rm -rf z{number}", details="why\n" * 8) for number in range(2)]
    page = browser.page()
    shown(card(page, "rm -rf z1")).to_be_visible()
    page.wait_for_timeout(600)
    height = lambda: line(page, "line-0").bounding_box()["height"]
    before = height()
    card(page, "rm -rf z0").get_by_role("button", name="Allow").click()
    until(lambda: asked[0].get("ending") == "allowed", "it is allowed")
    shown(card(page, "rm -rf z0")).to_contain_text("Allowed by you")
    expect(height() == before, f"it was {before} px high and is {height()}")
    leave(page)
    until(lambda: height() < 50, "it is one line high")
    shown(line(page, "line-0")).to_contain_text("Allowed by you")
    expect(lines(page, "line-") == ["line-0", "line-1"], f"the lines are {lines(page, 'line-')}")
    picture(page, "decided-line")
    page.evaluate("(now => { performance.now = () => now() + 60_000 })(performance.now.bind(performance))")
    page.evaluate("async () => (await import('/app.js')).model.touch()")
    shown(line(page, "line-0")).to_have_count(0)
    fixture.desk.cli("approve", "line-1")


def check_request_context(browser, fixture, figures):
    """A request shows which session wants what, for which prompt, and what its agent wrote last."""
    desk = fixture.desk
    desk.api("PUT", "settings/command", {"value": "sh -c 'for each in one two three four; do echo line $each; done; sleep 300'"})
    desk.api("PUT", "settings/agent", {"value": "command"})
    desk.send("context", "Look at the error texts\nand more")
    desk.api("PUT", "sessions/context/host", {"device": "this"})
    until(lambda: desk.queue("context")[0]["status"] == "running", "it runs")
    asked = approval(fixture, "context", "git push")
    page = browser.page()
    request = card(page, "git push")
    shown(line(page, "context").locator(".head")).to_contain_text("wants to run a command")
    shown(request.locator(".context")).to_contain_text("For “Look at the error texts”")
    shown(request.locator("details pre")).to_be_hidden()
    request.locator("summary").click()
    shown(request.locator("details pre")).to_have_text("line two\nline three\nline four")
    picture(page, "request-context")
    go(page, "#/s/context")
    shown(card(page, "git push").locator(".deed")).to_have_text("context wants to run a command")
    card(page, "git push").get_by_role("button", name="Allow").click()
    until(lambda: asked.get("ending") == "allowed", "allowed")
    desk.api("POST", "sessions/context/stop")
    desk.api("PUT", "settings/agent", {"value": "none"})


def check_request_input(browser, fixture, figures):
    """Every field of a tool's input is shown, a change as a change that is folded beyond 40 lines, a question as Markdown."""
    desk = fixture.desk
    numbered = lambda words: "".join(f"{words} {number}\n" for number in range(45))
    tool = lambda session, name, values: desk.ask(session, kind="approval", toolName=name, input=json.dumps(values))
    tool("input-a", "Edit", {"file_path": "src/session.ts", "old_string": "let a = 1\nsame\n", "new_string": "let a = 2\nsame\nlet b\n", "replace_all": False})
    tool("input-b", "Edit", {"file_path": "src/long.ts", "old_string": numbered("old"), "new_string": numbered("new")})
    tool("input-c", "Bash", {"command": "make all\nmake install", "description": "Builds it", "run_in_background": True})
    desk.ask("input-d", kind="question", question="Which **one**?\n\n- `keep` it\n- a [link](https://example.org/)\n\n<img src=x>", options=["keep", "drop"])
    page = browser.page()
    what_in = lambda page, session: line(page, session).locator(".what")
    what = lambda session: what_in(page, session)
    shown(what("input-a")).to_contain_text("src/session.ts")
    shown(what("input-a").locator(".counts")).to_have_text("+2 −1")
    shown(what("input-a").locator("code .del")).to_have_text(["-let a = 1\n"])
    shown(what("input-a").locator("code .add")).to_have_text(["+let a = 2\n", "+let b\n"])
    shown(what("input-a")).to_contain_text("replace_all")
    shown(what("input-a").locator(".field", has_text="replace_all")).to_have_text("replace_all false")
    shown(what("input-b").locator(".counts")).to_have_text("+45 −45")
    shown(what("input-b").locator("code > span")).to_have_count(40)
    what("input-b").get_by_role("button", name="Show all 92 lines").click()
    shown(what("input-b").locator("code > span")).to_have_count(92)
    for words in ("make all\nmake install", "Builds it", "true"):
        expect(words in what("input-c").text_content(), f"{words} is not shown: {what('input-c').text_content()}")
    title = line(page, "input-d").locator(".title")
    shown(title.locator("strong")).to_have_text("one")
    shown(title.locator("li")).to_have_text(["keep it", "a link"])
    shown(title.locator("img")).to_have_count(0)
    shown(title).to_contain_text("<img src=x>")
    shown(title.get_by_role("link", name="link")).to_have_attribute("rel", "noreferrer noopener")
    picture(page, "request-input")
    line(page, "input-d").scroll_into_view_if_needed()
    picture(page, "request-input-end")
    for name, options in (("phone", PHONE), ("dark", {"color_scheme": "dark"})):
        other = browser.page(**options)
        shown(what_in(other, "input-a").locator(".counts")).to_have_text("+2 −1")
        wide = other.evaluate("document.documentElement.scrollWidth - innerWidth")
        expect(wide <= 0, f"the page is {wide} px too wide")
        picture(other, f"request-input-{name}")
    for session in ("input-a", "input-b", "input-c"):
        desk.cli("approve", session)
    line(page, "input-d").get_by_role("button", name="keep", exact=True).click()


def check_changes_of_texts(browser, fixture, figures):
    """A change that is drawn says how to make one text of the other, line by line, for texts of every kind."""
    page = browser.page()
    wrong = page.evaluate("""async () => {
      const { unified } = await import('/diff.js')
      const seed = Math.random() * 2 ** 32 >>> 0
      let state = seed
      const random = (end) => (state = (state * 1664525 + 1013904223) >>> 0, Math.floor(state / 2 ** 32 * end))
      const text = () => Array.from({ length: random(30) }, () => 'abc '[random(4)]).join('\\n')
      for (let each = 0; each < 400; each += 1) {
        const before = text()
        // Half of them share most lines.
        const after = random(2) ? text() : before.split('\\n').filter(() => random(5)).join('\\n')
        const lines = (some) => (some ? some.split('\\n') : [])
        const [old, fresh] = [lines(before), lines(after)]
        const made = []
        let at = 0
        for (const hunk of unified(before, after).split(/^(?=@@ )/m).filter(Boolean)) {
          const [head, ...body] = hunk.replace(/\\n$/, '').split('\\n')
          const from = Number(/^@@ -(\\d+)/.exec(head)[1]) - 1
          while (at < from) made.push(old[at++])
          for (const line of body) {
            if (line[0] !== '+' && old[at++] !== line.slice(1)) return { seed, before, after, line }
            if (line[0] !== '-') made.push(line.slice(1))
          }
        }
        while (at < old.length) made.push(old[at++])
        if (made.join('\\n') !== fresh.join('\\n')) return { seed, before, after, made }
      } }""")
    expect(not wrong, f"a change is wrong: {wrong}")


def check_working_and_not_running(browser, fixture, figures):
    """Below the inbox are the sessions that work, with their progress, and those that do not run, each with its remedy."""
    desk = fixture.desk
    desk.api("DELETE", "threads")
    desk.api("PUT", "settings/command", {"value": "sleep 300"})
    desk.api("PUT", "settings/agent", {"value": "command"})
    desk.send("works", "Move login into session.ts")
    desk.api("PUT", "sessions/works/host", {"device": "this"})
    until(lambda: desk.queue("works")[0]["status"] == "running", "it runs")
    desk.api("PUT", "sessions/works/task/progress", {"completed": 3, "total": 7, "currentTask": "Moving the form"})
    desk.send("stopped", "Update what the build needs")
    desk.api("PUT", "sessions/stopped/pause", {"reason": "until Monday"})
    desk.send("homeless", "waits for a device")
    desk.api("POST", "threads/remove", {"sessions": ["works", "stopped", "homeless"]})
    page = browser.page()
    shown(line(page, "works").locator(".words")).to_have_text("3 of 7 · Moving the form")
    shown(line(page, "works").locator("progress")).to_have_attribute("value", "3")
    shown(page.get_by_role("heading", name="Working · ")).to_be_visible()
    shown(line(page, "stopped")).to_contain_text("until Monday")
    shown(line(page, "homeless")).to_contain_text("No device runs this session.")
    limit = int(time.time() * 1000) + 3_600_000
    iso = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(limit / 1000))
    take(page, "session", {"id": "limited", "waiting": 1, "host": desk.api("GET", "status")["sync"]["device"]})
    take(page, "messages", {"session": "limited", "changes": [{"change": "insert", "at": 0, "item": {
        "id": "00000000-0000-4000-8000-0000000000bb", "status": "queued", "content": "later", "priority": "normal", "position": 1,
        "createdAt": "2026-01-01T00:00:00Z", "notBefore": iso, "lastError": "usage limit reached"}}]})
    shown(line(page, "limited")).to_contain_text("Waits until")
    shown(line(page, "limited")).to_contain_text("usage limit reached")
    told = page.evaluate("""async () => { const { model } = await import('/app.js')
      const away = model.sync.devices[0]
      model.take('session', { id: 'host-away', waiting: 1, host: away.id })
      model.take('messages', { session: 'host-away', changes: [{ change: 'insert', at: 0, item: { id: '00000000-0000-4000-8000-0000000000cc',
        status: 'queued', content: 'there', priority: 'normal', position: 1, createdAt: '2026-01-01T00:00:00Z' } }] })
      model.take('sync', { ...model.sync, devices: model.sync.devices.map(each => ({ ...each, connected: false, awaySince: new Date(Date.now() - 60_000).toISOString() })) })
      await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
      return document.querySelector('inbox-line[data-session=host-away]').textContent }""")
    expect(" is offline since" in told and "Run on desk instead" in told, f"a host that is away: {told}")
    picture(page, "working")
    line(page, "stopped").get_by_role("button", name="Resume").click()
    until(lambda: not desk.api("GET", "sessions/stopped")["paused"], "it is resumed")
    shown(line(page, "stopped")).to_contain_text("No device runs this session.")
    page.wait_for_timeout(600)
    desk.api("PUT", "settings/agent", {"value": "none"})
    line(page, "homeless").get_by_role("button", name="Run on desk").click()
    until(lambda: desk.api("GET", "sessions/homeless").get("host"), "it has a device")
    page.wait_for_timeout(600)
    line(page, "works").get_by_role("button", name="Stop").click()
    until(lambda: all(each["status"] != "running" for each in desk.queue("works")), "it is stopped")
    for session in ("works", "stopped", "homeless"):
        desk.api("DELETE", f"sessions/{session}/queue")
        desk.cli("session", "delete", session)


def check_thread_queue_off(browser, fixture, figures):
    """With the thread queue off its part is absent, and the inbox says how to turn it on."""
    fixture.desk.send("off-thread", "x")
    fixture.desk.api("DELETE", "threads/off-thread/lock")
    page = browser.page()
    shown(line(page, "off-thread").locator(".tag")).to_have_text("your turn")
    how = page.get_by_text("The thread queue is off")
    shown(how).to_be_hidden()
    take(page, "settings", {"queueEnabled": False})
    shown(how).to_be_visible()
    shown(how).to_contain_text("cospool config set queueEnabled on")
    shown(line(page, "off-thread").locator(".tag")).to_have_text("not running")
    take(page, "settings", {"queueEnabled": True})
    shown(how).to_be_hidden()
    shown(line(page, "off-thread").locator(".tag")).to_have_text("your turn")
    fixture.desk.cli("session", "delete", "off-thread")


def check_search(browser, fixture, figures):
    """Sessions and prompts are found by words; a project alone can be shown, and the page shows what it leaves out."""
    desk = fixture.desk
    desk.send("find-shop", "Round to cents", project="/home/ada/shop")
    desk.send("find-site", "Rebuild the pelican pages", project="/home/ada/site")
    desk.send("find-site", "Rebuild the pelican again")
    for name in ("find-shop", "find-site"):
        desk.api("DELETE", f"threads/{name}/lock")
    desk.api("POST", "sessions", {"id": "find-idle", "name": "pelican notes"})
    page = browser.page()
    shown(line(page, "find-shop")).to_be_visible()
    page.locator("main h1").click()
    page.keyboard.press("/")
    field = page.get_by_label("Search sessions and prompts")
    shown(field).to_be_focused()
    page.keyboard.type("pelican reb")
    shown(line(page, "find-site")).to_be_visible()
    shown(line(page, "find-shop")).to_have_count(0)
    field.fill("pelican")
    shown(page.get_by_role("heading", name="Also found")).to_be_visible()
    shown(line(page, "find-idle")).to_be_visible()
    picture(page, "search")
    field.press("Escape")
    shown(line(page, "find-shop")).to_be_visible()
    page.get_by_label("Filter by project", exact=True).select_option("shop")
    shown(line(page, "find-site")).to_have_count(0)
    shown(page.get_by_text("in other projects")).to_be_visible()
    page.get_by_label("Filter by project", exact=True).select_option("")
    shown(line(page, "find-site")).to_be_visible()
    for session in ("find-shop", "find-site", "find-idle"):
        desk.cli("session", "delete", session)


def check_inbox_after_a_restart(browser, fixture, figures):
    """What the inbox read of the daemon is read again when it is back."""
    page = browser.page()
    fixture.desk.send("again", "x")
    fixture.desk.api("PUT", "sessions/again/pause", {"reason": "until Monday"})
    fixture.desk.api("POST", "threads/remove", {"sessions": ["again"]})
    shown(line(page, "again")).to_contain_text("until Monday")
    asked = []
    page.on("request", lambda request: request.url.endswith("/v1/overview") and asked.append(request.url))
    take(page, "present", {})
    until(lambda: asked or page.wait_for_timeout(20), "it is read again")
    fixture.desk.cli("session", "delete", "again")


# Keys


def check_keys_of_the_inbox(browser, fixture, figures):
    """`r`, `s`, `c` and `?` do what the help describes; a letter never does what needs a press."""
    failing(fixture, "keys-fail", "Fail at once")
    approval(fixture, "keys-ask", "for later")
    page = browser.page()
    shown(card(page, "for later")).to_be_visible()
    page.locator("main h1").click()
    page.keyboard.press("?")
    help = page.get_by_role("dialog", name="Keyboard")
    shown(help).to_contain_text("on a request, s is Snooze")
    picture(page, "keys")
    # What is open in front has its own keys.
    page.keyboard.press("s")
    page.keyboard.press("Escape")
    shown(help).to_have_count(0)
    # The first press goes there, the second one does it.
    page.keyboard.press("r")
    expect(page.evaluate("document.activeElement.dataset.action") == "retry", "it went elsewhere")
    expect(fixture.desk.queue("keys-fail")[0].get("attempts") == 1, "it was tried again")
    line(page, "keys-fail").locator("queue-row").focus()
    page.keyboard.press("s")
    until(lambda: not fixture.desk.queue("keys-fail"), "it is skipped")
    page.wait_for_timeout(600)
    card(page, "for later").focus()
    page.keyboard.press("s")
    shown(card(page, "for later")).to_contain_text("The agent keeps waiting")
    card(page, "for later").get_by_role("button", name="Show it again").click()
    line(page, "keys-ask").get_by_role("link").focus()
    page.keyboard.press("c")
    shown(page.get_by_label("New message")).to_be_focused()
    expect(page.url.endswith("#/s/keys-ask"), f"the page is at {page.url}")
    fixture.desk.cli("approve", "keys-ask")


def check_tab_stops(browser, fixture, figures):
    """However many rows there are, Tab goes through a view in at most 40 steps, and the arrow keys reach each row."""
    # The daemon does not know the session.
    browser.excused = True
    page = browser.page()
    take(page, "session", {"id": "rows-300", "waiting": 300})
    take(page, "messages", {"session": "rows-300", "changes": [{"change": "insert", "at": at, "item": {
        "id": f"00000000-0000-4000-9000-{at:012x}", "status": "queued", "content": f"row {at}", "priority": "normal", "position": at + 1,
        "createdAt": "2026-01-01T00:00:00Z"}} for at in range(300)]})
    for number in range(300):
        page.evaluate("""async number => { const { model } = await import('/app.js'); model.take('session', { id: `tab-${number}`, waiting: 0 })
          model.take('threads', { changes: [{ change: 'insert', at: model.threads.length, item: { session: `tab-${number}`, name: `tab-${number}`,
            locked: false, queuedAt: '2026-01-01T00:00:00Z' } }] }) }""", number)
    for place, rows in (("#/needs", "inbox-line"), ("#/s/rows-300", "queue-row"), ("#/sessions", "main li")):
        go(page, place)
        until(lambda: page.locator(rows).count() >= 300, f"{place} has its rows")
        page.wait_for_timeout(300)
        stops = page.evaluate("""() => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')]
          .filter(each => each.checkVisibility() && !each.disabled && each.tabIndex >= 0).length""")
        figures[f"tab stops of {place} with 300 rows"] = stops
        expect(stops <= 40, f"{place} has {stops} stops")
    go(page, "#/needs")
    until(lambda: page.locator("inbox-line").count() >= 300, "they are back")
    last = line(page, "tab-200").get_by_role("link")
    line(page, "tab-199").get_by_role("link").focus()
    page.keyboard.press("ArrowDown")
    shown(last).to_be_focused()
    # Its own controls are reached from there.
    page.keyboard.press("Tab")
    shown(line(page, "tab-200").get_by_role("button", name="Move up: tab-200")).to_be_focused()


def check_palette(browser, fixture, figures):
    """Ctrl+K leads to a session, a prompt, a view, a command or a new session, by keys alone, also from a text field."""
    fixture.desk.send("palette-one", "Look at the albatross")
    page = browser.page()
    go(page, "#/s/palette-one")
    page.get_by_label("New message").focus()
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Go to")
    shown(field).to_be_focused()
    field.fill("albatross")
    shown(page.locator("[role=option]").first).to_contain_text("Prompt in palette-one")
    picture(page, "palette")
    page.keyboard.press("Escape")
    shown(page.get_by_label("New message")).to_be_focused()
    for typed, steps, place in (("devi", 0, "#/devices"), ("palette-o", 0, "#/s/palette-one"), ("fresh one", 0, "#/s/fresh%20one"), ("", 1, "#/sessions")):
        page.keyboard.press("Control+k")
        field.fill(typed)
        for _ in range(steps):
            page.keyboard.press("ArrowDown")
        selected = page.locator("[role=option][aria-selected=true]")
        shown(selected).to_have_count(1)
        expect(field.get_attribute("aria-activedescendant") == selected.get_attribute("id"), "a screen reader hears another one")
        page.keyboard.press("Enter")
        until(lambda: page.url.endswith(place), f"{typed} leads to {place}")
        shown(page.get_by_role("dialog")).to_have_count(0)


def check_modules_at_once(browser, fixture, figures):
    """The page names all its modules at its beginning, so that none waits for another one; each comes once."""
    page = browser.page()
    page.reload()
    shown(page.locator("#sync")).to_have_text("in sync")
    loaded = page.evaluate("performance.getEntriesByType('resource').map(each => new URL(each.name).pathname.slice(1)).filter(each => each.endsWith('.js'))")
    named = page.evaluate("[...document.querySelectorAll('link[rel=modulepreload], script[src]')].map(each => each.getAttribute('href') ?? each.getAttribute('src'))")
    expect(sorted(loaded) == sorted(named), f"loaded without a name, or twice: {sorted(set(loaded) ^ set(named)) or loaded}")
