"""Requests that need a user, and running sessions; see page_test.py."""

import statistics

from playwright.sync_api import expect as shown

from page_common import ahead, go, p99, picture, row
from page_fixture import expect, until


# Requests that need a user


def check_requests(browser, fixture, figures):
    page = browser.page()
    _, allowed = fixture.desk.ask("ask-a", kind="approval", toolName="Bash", summary="git push origin main")
    shown(page.locator("request-card")).to_contain_text("git push origin main")
    picture(page, "approval")
    page.get_by_role("button", name="Allow").click()
    until(lambda: allowed.get("ending") == "allowed", "allowed")
    shown(page.locator("request-card")).to_contain_text("Allowed by you")

    # A change on its way is not shown as unsaved, though the event comes before the answer.
    page.evaluate("""async () => { const { model, source } = await import('/app.js')
      window.unsaid = []
      new MutationObserver(() => window.unsaid.push(...document.body.innerText.match(/Your words.*/g) ?? []))
        .observe(document.body, { subtree: true, childList: true, characterData: true })
      source.act = async (name, values, ...more) => {
        const answer = await Object.getPrototypeOf(source).act.call(source, name, values, ...more)
        if (name === 'answer' && values.text) {
          while (!model.decided.has(values.id)) await new Promise(requestAnimationFrame)
          await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
        }
        return answer } }""")
    thread, denied = fixture.laptop.ask("ask-b", kind="approval", toolName="Write", summary="schema.sql")
    card = page.locator("request-card", has_text="schema.sql")
    card.get_by_label("Reason for the denial").fill("Make a migration instead")
    card.get_by_role("button", name="Deny").click()
    until(lambda: denied.get("ending") == "denied", "denied")
    expect(denied["text"] == "Make a migration instead", f"the words are {denied}")
    shown(card).to_contain_text("Denied by you")
    unsaid = page.evaluate("window.unsaid")
    expect(not unsaid, f"the page shows {unsaid}")

    _, answered = fixture.desk.ask("ask-c", kind="question", question="Which one?", options=["left", "right"])
    page.get_by_role("button", name="right").click()
    until(lambda: answered.get("ending") == "answered", "answered")
    expect(answered["text"] == "right", f"the answer is {answered}")

    thread, lost = fixture.desk.ask("ask-d", kind="approval", toolName="Bash", summary="make deploy")
    shown(page.locator("request-card", has_text="make deploy")).to_be_visible()
    until(lambda: any(each["session"] == "ask-d" and each.get("request")
                      for each in fixture.laptop.api("GET", "tasks")["tasks"]), "the other device knows")
    fixture.laptop.cli("approve", "ask-d")
    shown(page.locator("request-card", has_text="make deploy")).to_contain_text("Allowed by laptop")

    _, keyed = fixture.desk.ask("ask-e", kind="approval", toolName="Bash", summary="ls -l")
    card = page.locator("request-card", has_text="ls -l")
    shown(card).to_be_visible()
    card.get_by_role("button", name="Allow").focus()
    page.keyboard.press("a")
    until(lambda: keyed.get("ending") == "allowed", "allowed by a key")

    # Two subagents ask at once: both are shown, and the second is answered first.
    _, one = fixture.desk.ask("ask-f", kind="approval", toolName="Bash", summary="first of two")
    _, two = fixture.desk.ask("ask-f", kind="approval", toolName="Bash", summary="second of two")
    (first, second) = (page.locator("request-card", has_text=f"{each} of two") for each in ("first", "second"))
    shown(first).to_be_visible()
    second.get_by_role("button", name="Deny").click()
    until(lambda: two.get("ending") == "denied", "the second is denied")
    expect("ending" not in one, f"the first is {one}")
    shown(second).to_contain_text("Denied by you")
    first.get_by_role("button", name="Allow").click()
    until(lambda: one.get("ending") == "allowed", "the first is allowed")


def check_lost_words(browser, fixture, figures):
    """A user who types while another one answers keeps the text, and the rest of the typing decides nothing else."""
    page = browser.page()
    fixture.desk.ask("ask-k", kind="approval", toolName="Bash", summary="the first of these")
    _, other = fixture.desk.ask("ask-l", kind="approval", toolName="Bash", summary="the other of these")
    lost, left = (page.locator("request-card", has_text=f"the {each} of these") for each in ("first", "other"))
    shown(left).to_be_visible()
    # However long the machine takes: by the page's clock the user continues typing at once.
    page.evaluate("(now => { Date.now = () => now })(Date.now())")
    lost.get_by_label("Reason for the denial").press_sequentially("a better ")
    fixture.desk.cli("approve", "ask-k")
    shown(lost).to_contain_text("Your words: “a better”")
    page.keyboard.type("a ada a a")
    expect("ending" not in other, f"what was typed decided: {other}")
    lost.get_by_role("button", name="Dismiss").click()
    shown(lost).to_have_count(0)
    # Over a reload, and if the request ended while no page was open.
    left.get_by_label("Reason for the denial").fill("half a reason")
    page.reload()
    shown(left.get_by_label("Reason for the denial")).to_have_value("half a reason")
    address = page.url
    page.goto("about:blank")
    fixture.desk.cli("approve", "ask-l")
    until(lambda: other.get("ending") == "allowed", "somebody else allows the other")
    page.goto(address)
    shown(left).to_contain_text("Your words: “half a reason”")
    left.get_by_role("button", name="Dismiss").click()
    shown(left).to_have_count(0)
    page.reload()
    shown(page.locator("#sync")).not_to_be_empty()
    shown(left).to_have_count(0)


def check_old_words(browser, fixture, figures):
    """Data that an earlier page left in another form stop nothing, and the text that was typed in it is shown."""
    _, asked = fixture.desk.ask("ask-o", kind="approval", toolName="Bash", summary="after an older page")
    edited = fixture.desk.send("ask-o", "edited by an older page")
    page = browser.page()
    card = page.locator("request-card", has_text="after an older page")
    shown(card).to_be_visible()
    page.evaluate("""([request, message]) => Object.entries({
      [`draft.answer.${request}`]: '5', [`draft.edit.${message}`]: 'a plain text', 'draft.answer.gone': 'as plain text',
      'draft.answer.gone2': '{"text":"without what was asked"}', 'sending.broken': '{', later: '[5',
    }).forEach(([name, text]) => localStorage.setItem(`cospool.${name}`, text))""", [next(
        each["request"]["id"] for each in fixture.desk.api("GET", "tasks")["tasks"] if each["session"] == "ask-o"), edited])
    page.reload()
    shown(card.get_by_label("Reason for the denial")).to_have_value("5")
    card.get_by_role("button", name="Deny").click()
    until(lambda: asked.get("ending") == "denied", "denied")
    expect(asked["text"] == "5", f"the words are {asked}")
    go(page, "#/s/ask-o")
    shown(page.get_by_label("Text of the message")).to_have_value("a plain text")
    page.get_by_role("button", name="Save").click()
    until(lambda: fixture.desk.contents("ask-o") == ["a plain text"], "it is saved")


def check_shown_again(browser, fixture, figures):
    """A request that its task was without for a moment is answered with the words that were typed."""
    page = browser.page()
    _, asked = fixture.desk.ask("ask-v", kind="approval", toolName="Bash", summary="gone for a moment")
    card = page.locator("request-card", has_text="gone for a moment")
    card.get_by_label("Reason for the denial").fill("because of this")
    told = lambda change: page.evaluate("""async (change) => {
      const { model } = await import('/app.js')
      window.was ??= model.tasks.get('ask-v')
      model.take('task', { ...window.was, ...change }) }""", change)
    told({"status": "processing", "request": None})
    shown(card).to_contain_text("Your words: “because of this”")
    told({})
    shown(card.get_by_text("Your words")).to_be_hidden()
    card.get_by_role("button", name="Deny").click()
    until(lambda: asked.get("ending") == "denied", "denied")
    expect(asked["text"] == "because of this", f"the words are {asked}")


def check_clock_ahead(browser, fixture, figures):
    """A browser whose clock is wrong answers as any other."""
    page = browser.page()
    ahead(page)
    _, asked = fixture.desk.ask("ask-z", kind="approval", toolName="Bash", summary="by another clock")
    page.locator("request-card", has_text="by another clock").get_by_role("button", name="Allow").click()
    until(lambda: asked.get("ending") == "allowed", "allowed")


def check_consent(browser, fixture, figures):
    """What another device gives this one waits for a word here: by a button, by a key, or from the command line."""
    fixture.desk.api("PUT", "settings/command", {"value": "true"})
    fixture.desk.api("PUT", "settings/agent", {"value": "command"})
    page = browser.page()
    for name in ("given-a", "given-b", "given-c"):
        fixture.laptop.send(name, "work for the desk")
        fixture.laptop.api("PUT", f"sessions/{name}/host", {"device": "desk"})
    cards = {name: page.locator("request-card", has_text=f"May {name} run on this device?") for name in ("given-a", "given-b", "given-c")}
    for card in cards.values():
        shown(card).to_be_visible()
    waiting = lambda: set(fixture.desk.api("GET", "status")["unconsented"])
    # Twice, as an impatient finger does.
    cards["given-a"].get_by_role("button", name="Let it run here").dblclick()
    shown(cards["given-a"]).to_contain_text("It runs here")
    until(lambda: "given-a" not in waiting(), "it may run")
    cards["given-b"].get_by_role("button", name="Let it run here").focus()
    page.keyboard.press("d")
    shown(cards["given-b"]).to_contain_text("No device is set to run it")
    until(lambda: fixture.laptop.api("GET", "sessions/given-b").get("host") is None, "no device runs it")
    fixture.desk.cli("session", "host", "given-c", "this")
    # A decided request stays in its place until the pointer leaves the list.
    until(lambda: "given-c" not in waiting(), "it may run, too")
    page.reload()
    shown(cards["given-c"]).to_have_count(0)
    expect(not waiting() & {"given-a", "given-b", "given-c"}, f"{waiting()} wait")
    expect(len(fixture.desk.contents("given-b")) == 1, "what may not run has run")
    fixture.desk.api("PUT", "settings/agent", {"value": "none"})


def check_asked_elsewhere(browser, fixture, figures):
    """What only another device can answer says so, and offers nothing that cannot work."""
    desk, laptop = fixture.desk, fixture.laptop
    laptop.api("PUT", "settings/command", {"value": "true"})
    laptop.api("PUT", "settings/agent", {"value": "command"})
    laptop.api("PUT", "settings/hosts", {"value": "ask"})
    page = browser.page()
    desk.send("given-there", "work for the laptop")
    desk.api("PUT", "sessions/given-there/host", {"device": "laptop"})
    laptop.send("own-prompt", "x")
    laptop.api("PUT", "sessions/own-prompt/host", {"device": "this"})
    until(lambda: not laptop.contents("own-prompt"), "it is done")
    laptop.api("PUT", "sessions/own-prompt/task/prompt", {"kind": "approval", "toolName": "Bash", "summary": "make clean"})
    for words in ("May given-there run on laptop?", "make clean"):
        card = page.locator("request-card", has_text=words)
        shown(card).to_contain_text("It is open on laptop: answer it there.")
        shown(card.locator("[data-verdict]:visible, textarea:visible")).to_have_count(0)
        card.get_by_role("button", name="Snooze for 15 min").focus()
        page.keyboard.press("a")
    picture(page, "asked-elsewhere")
    laptop.cli("session", "host", "given-there", "this")
    shown(page.locator("request-card:not(.over)", has_text="May given-there run")).to_have_count(0)
    until(lambda: not laptop.contents("given-there"), "it has run")
    laptop.api("PUT", "settings/agent", {"value": "none"})
    laptop.api("DELETE", "settings/hosts")
    laptop.cli("session", "delete", "own-prompt")


def check_shortcuts(browser, fixture, figures):
    """Letters alone move and decide, until the user turns that off in this browser (WCAG 2.1.4)."""
    page = browser.page()
    _, one = fixture.desk.ask("ask-s", kind="approval", toolName="Bash", summary="first for keys")
    first = page.locator("request-card", has_text="first for keys")
    shown(first).to_be_visible()
    _, two = fixture.desk.ask("ask-t", kind="approval", toolName="Bash", summary="second for keys")
    second = page.locator("request-card", has_text="second for keys")
    shown(second).to_be_visible()
    allow = lambda card: card.get_by_role("button", name="Allow")
    allow(first).focus()
    page.keyboard.press("j")
    shown(second).to_be_focused()
    # As if the user wants to open it.
    page.keyboard.press("Enter")
    page.wait_for_timeout(300)
    expect(not two, f"Enter decided: {two}")
    switch = page.get_by_label("Single-key shortcuts")
    switch.uncheck()
    page.reload()
    shown(switch).not_to_be_checked()
    allow(second).focus()
    for key in "kjd":
        page.keyboard.press(key)
    shown(allow(second)).to_be_focused()
    switch.check()
    allow(second).focus()
    page.keyboard.press("a")
    until(lambda: two.get("ending"), "the second is decided")
    expect(two["ending"] == "allowed", f"what was turned off decided: {two}")
    # On from there, past the one that has ended.
    shown(second).to_contain_text("Allowed by you")
    shown(second).to_be_focused()
    page.keyboard.press("k")
    shown(first).to_be_focused()
    page.keyboard.press("d")
    until(lambda: one.get("ending") == "denied", "the first is denied")


def check_many_requests(browser, fixture, figures):
    """Ten subagents of one session ask at once: eight are shown, the rest counted, each is answered."""
    page = browser.page()
    asked = [fixture.desk.ask("ask-m", kind="approval", toolName="Bash", summary=f"job {number}.")[1]
             for number in range(10)]
    open_cards = page.locator("request-card:not(.over)")
    shown(open_cards).to_have_count(8)
    for number in range(8):
        shown(open_cards.nth(number)).to_contain_text(f"{number + 1} of 10")
    picture(page, "many-requests")
    go(page, "#/s/ask-m")
    shown(page.get_by_text("2 more requests will appear")).to_be_visible()
    for number in range(10):
        # Its name, as the first open one is another as soon as the page knows that this one is decided.
        card = page.locator("request-card", has_text=open_cards.first.locator(".what").inner_text())
        card.get_by_role("button", name="Allow").click()
        until(lambda: sum("ending" in each for each in asked) == number + 1, f"request {number + 1} is answered")
        shown(card).to_contain_text("Allowed by you")
        shown(open_cards).to_have_count(min(9 - number, 8))
    expect(all(each["ending"] == "allowed" for each in asked), f"they ended {asked}")


def check_expired_request(browser, fixture, figures):
    page = browser.page()
    _, asked = fixture.desk.ask("ask-x", kind="approval", toolName="Bash", summary="too late", patienceSeconds=2)
    card = page.locator("request-card", has_text="too late")
    shown(card).to_be_visible()
    until(lambda: asked.get("ending") == "expired", "it expires")
    shown(card).to_contain_text("It expired; the agent asks at its own prompt")
    shown(card.get_by_role("button", name="Allow")).to_be_hidden()


def check_approval_time(browser, fixture, figures):
    page = browser.page()
    go(page, "#/s/clock")
    times = []
    for number in range(30 if fixture.long else 5):
        thread, answer = fixture.desk.ask("clock", kind="approval", toolName="Bash", summary=f"step {number}")
        shown(page.locator("request-card:not(.over) .what")).to_have_text(f"step {number}")
        pressed = page.evaluate(
            """() => { const button = document.querySelector('request-card:not(.over) [data-verdict=allowed]');
              const at = performance.timeOrigin + performance.now(); button.click(); return at }""")
        thread.join(20)
        times.append(answer["at"] * 1000 - pressed)
    figures["approval in the page to the agent, p99 ms"] = p99(times)
    figures["approval in the page to the agent, median ms"] = round(statistics.median(times), 1)


def check_threads(browser, fixture, figures):
    page = browser.page()
    fixture.desk.api("DELETE", "threads")
    for name in ("red", "green", "blue"):
        fixture.desk.send(name, "x")
        fixture.desk.api("DELETE", f"threads/{name}/lock")
    threads = page.locator("inbox-line[data-kind=ready]")
    shown(threads).to_have_count(3)
    names = lambda: [t["session"] for t in fixture.desk.api("GET", "threads")["threads"]]
    # Pressed before it is drawn that it is the first.
    page.evaluate("""async () => { const { model } = await import('/app.js')
      const move = { change: 'move', from: model.threads.findIndex(each => each.session === 'green'), at: 0 }
      model.take('threads', { changes: [move] })
      document.querySelector('[data-session=green] [data-action=up]').click()
      model.take('threads', { changes: [{ ...move, from: 0, at: move.from }] }) }""")
    expect(names() == ["red", "green", "blue"], f"the order is {names()}")
    page.get_by_role("button", name="Move up: green").click()
    until(lambda: names() == ["green", "red", "blue"], "moved")
    page.get_by_role("button", name="Later: green").click()
    until(lambda: names() == ["red", "blue", "green"], "requeued")
    # No device runs it, so its lock does not count: it is shown at the end, with no button to unlock it.
    shown(threads.last).to_contain_text("green")
    shown(page.get_by_role("button", name="Unlock: green")).to_have_count(0)
    # Paused, it shows why, and how to resume it.
    fixture.desk.api("PUT", "sessions/green/pause", {"reason": "until Monday"})
    shown(threads.last).to_contain_text("until Monday")
    threads.last.get_by_role("button", name="Resume").click()
    until(lambda: not fixture.desk.api("GET", "sessions/green")["paused"], "it is resumed")
    shown(threads.last).not_to_contain_text("until Monday")
    fixture.desk.api("DELETE", "threads/green/lock")
    until(lambda: not fixture.desk.api("GET", "threads/green")["locked"], "unlocked")
    page.get_by_role("button", name="Done: blue").click()
    until(lambda: names() == ["red", "green"], "taken out")


def check_running(browser, fixture, figures):
    desk = fixture.desk
    page = browser.page()
    go(page, "#/s/run")
    desk.api("PUT", "settings/command", {"value": "sh -c 'echo begun; while read x; do :; done; sleep 300'"})
    desk.api("PUT", "settings/agent", {"value": "command"})
    desk.api("POST", "sessions", {"id": "run"})
    page.locator("#host").select_option(label="desk (this one)")
    page.get_by_label("New message").fill("Work for long")
    page.get_by_role("button", name="Queue", exact=True).click()
    shown(page.locator("queue-row.running")).to_be_visible()
    shown(page.locator(".output")).to_contain_text("begun")
    line = row(page, "Work for long")
    # Its output moved it: it takes presses a moment later.
    page.wait_for_timeout(600)
    # It shows why; every press has an answer.
    line.get_by_role("button", name="Edit").click(force=True)
    shown(page.locator("#toast")).to_contain_text("It is already running")
    line.get_by_role("button", name="More").click()
    shown(line.get_by_role("button", name="Cancel")).to_have_attribute("aria-disabled", "true")
    line.get_by_role("button", name="Stop the agent").click()
    shown(page.locator("queue-row.running")).to_have_count(0)
    desk.api("PUT", "settings/command", {"value": "sh -c 'echo no such branch >&2; exit 3'"})
    page.get_by_label("New message").fill("Fail at once")
    page.get_by_role("button", name="Queue", exact=True).click()
    desk.api("DELETE", "sessions/run/pause")
    shown(page.locator("queue-row.failed")).to_be_visible()
    go(page, "#/needs")
    line = row(page, "Fail at once")
    shown(page.locator("inbox-line", has=line).locator(".head")).to_contain_text("no such branch")
    page.wait_for_timeout(600)
    line.get_by_role("button", name="Retry: Fail at once", exact=True).click()
    until(lambda: any(message.get("attempts", 0) >= 2 for message in desk.queue("run")), "it is tried again")
    shown(line).to_contain_text("2 attempts")
    line.get_by_role("button", name="Skip").click()
    # It stays in its place until the pointer leaves the list.
    shown(page.locator("inbox-line.over", has=line)).to_contain_text("It no longer waits for you.")
    page.mouse.move(5, 5)
    page.evaluate("document.activeElement.blur()")
    shown(line).to_have_count(0)
    desk.api("PUT", "settings/agent", {"value": "none"})


def check_output_of_the_next(browser, fixture, figures):
    """The last of one output that comes late takes nothing of the next one, which goes on to grow."""
    page = browser.page()
    fixture.desk.api("POST", "sessions", {"id": "outputs"})
    go(page, "#/s/outputs")
    shown(page.locator("#host")).to_be_visible()
    page.evaluate("""async () => { const { model, source } = await import('/app.js')
      window.outputs = { first: 'of the first', next: 'of the next' }
      source.list = async (path, query) => {
        if (path !== 'history') return Object.getPrototypeOf(source).list.call(source, path, query)
        const text = window.outputs[query.message]
        if (query.message === 'first' && !model.message('first')) {
          window.isAsked = true
          while (!window.isShown) await new Promise(requestAnimationFrame)
        }
        return { output: { text } } }
      const item = { content: 'work', priority: 'normal', status: 'running', position: 1, createdAt: new Date().toISOString() }
      window.change = (change, id) => model.take('messages', { session: 'outputs', changes: [{ change, at: 0, id, item: { ...item, id } }] })
      window.change('insert', 'first') }""")
    output = page.locator(".output")
    shown(output).to_have_text("of the first")
    page.evaluate("window.change('remove', 'first')")
    until(lambda: page.evaluate("window.isAsked"), "the last of it is asked for")
    page.evaluate("window.change('insert', 'next')")
    shown(output).to_have_text("of the next")
    page.evaluate("window.isShown = true")
    page.evaluate("window.outputs.next += ', and more'")
    shown(output).to_have_text("of the next, and more", timeout=5000)
    page.evaluate("window.change('remove', 'next')")


def check_cancel_against_start(browser, fixture, figures):
    """A cancel on a device without a connection, while another device starts the message."""
    desk, laptop = fixture.desk, fixture.laptop
    laptop.api("PUT", "settings/command", {"value": "sleep 300"})
    laptop.api("PUT", "settings/agent", {"value": "command"})
    desk.api("POST", "sessions", {"id": "race"})
    desk.api("PUT", "sessions/race/pause")
    desk.api("PUT", "sessions/race/host", {"device": "laptop"})
    desk.send("race", "started elsewhere")
    until(lambda: laptop.contents("race"), "the host has it")
    laptop.api("PUT", "sessions/race/host", {"device": "this"})
    page = browser.page()
    go(page, "#/s/race")
    shown(row(page, "started elsewhere")).to_be_visible()
    desk.api("PUT", "sync", {"enabled": False})
    laptop.api("DELETE", "sessions/race/pause")
    until(lambda: laptop.queue("race")[0]["status"] == "running", "the host started it")
    row(page, "started elsewhere").get_by_role("button", name="More").click()
    page.get_by_role("button", name="Cancel").click()
    shown(page.locator("#toast")).to_contain_text("not known yet")
    desk.api("PUT", "sync", {"enabled": True})
    line = row(page, "started elsewhere")
    shown(page.locator("queue-row.running")).to_be_visible()
    line.get_by_role("button", name="More").click()
    # It is stopped from here, too.
    line.get_by_role("button", name="Stop the agent").click()
    shown(page.locator("#live")).to_contain_text("Stopping “started elsewhere” on laptop")
    shown(page.locator("queue-row.running")).to_have_count(0)
    laptop.api("PUT", "settings/agent", {"value": "none"})
