"""Actions of the page that must not harm its user; see page_test.py."""

import time

from playwright.sync_api import expect as shown

from page_common import go, picture, row
from page_fixture import expect, until

PHONE = {"viewport": {"width": 375, "height": 740}, "has_touch": True}


def approval(fixture, session, command, **more):
    return fixture.desk.ask(session, kind="approval", toolName="Bash", summary=command, **more)[1]


def card(page, words):
    return page.locator("request-card", has_text=words)


def middle(element):
    box = element.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def under(page, x, y):
    """The request that a press there would decide; null if it would decide none."""
    return page.evaluate("""([x, y]) => { const at = document.elementFromPoint(x, y)
      return at?.closest('[data-verdict]') ? at.closest('request-card').querySelector('.what').textContent : null }""", [x, y])


def tick(page):
    """As after the time in which the page looks at itself again."""
    page.evaluate("""async () => { const { model } = await import('/app.js')
      model.touch()
      await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))) }""")


# A request that was decided


def check_allow_stays(browser, fixture, figures):
    """Nothing comes under the pointer that allowed something: not by time, and not because something else ends."""
    page = browser.page()
    asked = [approval(fixture, f"stay-{number}", f"rm -rf y{number}") for number in range(3)]
    for number in range(3):
        shown(card(page, f"rm -rf y{number}")).to_be_visible()
    allow = card(page, "rm -rf y0").get_by_role("button", name="Allow")
    # Requests of other checks may be above it.
    page.locator("inbox-line", has=card(page, "rm -rf y0")).evaluate("each => each.scrollIntoView({ block: 'start' })")
    page.wait_for_timeout(600)
    place = middle(allow)
    tops = lambda: [card(page, f"rm -rf y{number}").bounding_box()["y"] for number in (1, 2)]
    before = tops()
    allow.click()
    until(lambda: asked[0].get("ending") == "allowed", "the first is allowed")
    shown(card(page, "rm -rf y0")).to_contain_text("Allowed by you")
    expect(tops() == before, f"the others moved from {before} to {tops()}")
    # Long after that, as the page counts.
    page.evaluate("(now => { performance.now = () => now() + 60_000 })(performance.now.bind(performance))")
    for _ in range(3):
        tick(page)
        time.sleep(3)
    expect(under(page, *place) is None, f"a press would decide on {under(page, *place)}")
    page.mouse.click(*place)
    expect(tops() == before, f"the others moved from {before} to {tops()}")
    expect(not any(each.get("ending") for each in asked[1:]), f"what was not decided ended: {asked}")
    # A request of another session that is answered elsewhere, and one that is put off, move nothing either.
    fixture.desk.cli("approve", "stay-1")
    shown(card(page, "rm -rf y1")).to_contain_text("Allowed")
    expect(tops() == before, f"the others moved from {before} to {tops()}")
    page.get_by_role("button", name="Hide decided ones").click()
    shown(card(page, "rm -rf y0")).to_have_count(0)
    shown(card(page, "rm -rf y2")).to_be_visible()


def check_press_on_what_moved(browser, fixture, figures):
    """A press on a button that moved under the pointer a moment ago does nothing, and says so; the next one does."""
    page = browser.page(**PHONE)
    first, second = approval(fixture, "moved-1", "one of two"), approval(fixture, "moved-2", "two of two")
    for words in ("one of two", "two of two"):
        shown(card(page, words)).to_be_visible()
    # Requests of other checks may be above it.
    card(page, "two of two").evaluate("each => each.scrollIntoView({ block: 'center' })")
    page.wait_for_timeout(600)
    allow = card(page, "two of two").get_by_role("button", name="Allow")
    # As if an element above it disappears.
    place = page.evaluate("""async () => { const { model } = await import('/app.js')
      const { settle } = await import('/dom.js')
      const [one, two] = ['one', 'two'].map(word => [...document.querySelectorAll('request-card')].find(each => each.textContent.includes(`${word} of two`)))
      window.two = two
      one.style.marginTop = '3rem'
      settle([one, two])
      const box = two.querySelector('[data-verdict=allowed]').getBoundingClientRect()
      if (!(two.settlesUntil > performance.now())) throw new Error('it takes presses at once')
      // However slow the machine is.
      two.settlesUntil += 20_000
      return [box.x + box.width / 2, box.y + box.height / 2] }""")
    page.touchscreen.tap(*place)
    shown(page.locator("#toast")).to_contain_text("That has just moved")
    expect("ending" not in second, f"it decided: {second}")
    page.evaluate("window.two.settlesUntil -= 20_000")
    allow.tap()
    until(lambda: second.get("ending") == "allowed", "the second press allows it")
    expect("ending" not in first, f"the first is {first}")
    fixture.desk.cli("approve", "moved-1")


def check_rows_that_move(browser, fixture, figures):
    """A press on an element that came under the pointer when a row of a session disappeared has no effect, in its menu neither."""
    ids = [fixture.desk.send("rows", text) for text in ("row one", "row two", "row three", "row four")]
    page = browser.page()
    go(page, "#/s/rows")
    lines = {text: row(page, text) for text in ("row two", "row three", "row four")}
    shown(lines["row four"]).to_be_visible()
    for button, move in (("Move up: row two", 0), ("Cancel", 2)):
        if button == "Cancel":
            lines["row four"].get_by_role("button", name="More").click()
        page.wait_for_timeout(600)
        place = middle(page.get_by_role("button", name=button))
        before = page.evaluate("document.querySelector('queue-row:last-of-type').settlesUntil")
        fixture.desk.api("POST", "messages/cancel", {"ids": [ids[move]]})
        until(lambda: page.evaluate("""before => { const last = document.querySelector('queue-row:last-of-type')
          if (last.settlesUntil === before) return false
          // However slow the machine is.
          for (const each of document.querySelectorAll('queue-row')) each.settlesUntil += 20_000
          return true }""", before), "the last row moved")
        queue = fixture.desk.contents("rows")
        at = middle(page.get_by_role("button", name=button)) if button == "Cancel" else place
        page.mouse.click(*at)
        shown(page.locator("#toast")).to_contain_text("That has just moved")
        expect(fixture.desk.contents("rows") == queue, f"something was done: {fixture.desk.contents('rows')}")
        page.evaluate("for (const each of document.querySelectorAll('queue-row')) each.settlesUntil -= 20_000")
    page.wait_for_timeout(600)
    page.get_by_role("button", name="Cancel").click()
    until(lambda: fixture.desk.contents("rows") == ["row two"], "the next press cancels it")


def check_put_off(browser, fixture, figures):
    """A request that was put off stays in its place, shows that, and returns at once if its user wants it."""
    page = browser.page()
    asked = approval(fixture, "later", "not now")
    card(page, "not now").get_by_role("button", name="Snooze for 15 min").click()
    shown(card(page, "not now")).to_contain_text("The agent keeps waiting")
    card(page, "not now").get_by_role("button", name="Show it again").click()
    shown(card(page, "not now").get_by_role("button", name="Allow")).to_be_visible()
    card(page, "not now").get_by_role("button", name="Snooze for 15 min").click()
    go(page, "#/devices")
    go(page, "#/needs")
    shown(card(page, "not now")).to_have_count(0)
    shown(page.locator("needs-view")).to_contain_text("1 request hidden in this browser")
    page.get_by_role("button", name="Show", exact=True).click()
    card(page, "not now").get_by_role("button", name="Allow").click()
    until(lambda: asked.get("ending") == "allowed", "allowed")


def check_words_of_a_request(browser, fixture, figures):
    """A question keeps its lines, equal details are shown once, and declining shows its effect."""
    page = browser.page()
    fixture.desk.ask("lines", kind="question", question="Which?\n1. Keep it\n2. Make it new", options=["1", "2"])
    approval(fixture, "twice", "make all", details="make all")
    title = card(page, "Keep it").locator(".title")
    shown(title).to_be_visible()
    lines = title.evaluate("each => each.getClientRects().length && Math.round(each.offsetHeight / parseFloat(getComputedStyle(each).lineHeight))")
    expect(lines == 3, f"the question has {lines} lines")
    shown(card(page, "make all").locator(".what")).to_have_text("make all")
    shown(card(page, "Keep it").get_by_role("button", name="Decline and stop the turn")).to_be_visible()
    picture(page, "words-of-a-request")
    fixture.desk.cli("approve", "twice")
    card(page, "Keep it").get_by_role("button", name="1", exact=True).click()


# Undo


def check_undo_of_a_notice(browser, fixture, figures):
    """A notice's undo is about the change that it reports, whatever was changed since."""
    browser.excused = True
    desk = fixture.desk
    desk.send("bound", "cancel this one")
    desk.send("bound", "and this is urgent")
    page = browser.page()
    go(page, "#/s/bound")
    row(page, "cancel this one").get_by_role("button", name="More").click()
    page.get_by_role("button", name="Cancel", exact=True).click()
    shown(page.locator("#toast")).to_contain_text("Cancelled “cancel this one”")
    # The same device does something else.
    desk.send("bound-2", "by the command line")
    page.get_by_role("button", name="Undo").click()
    shown(page.locator("#toast")).to_contain_text("Undone: Cancelled “cancel this one”")
    expect(desk.contents("bound-2") == ["by the command line"], f"there is {desk.contents('bound-2')}")
    until(lambda: desk.contents("bound") == ["cancel this one", "and this is urgent"], "it is back")
    row(page, "and this is urgent").get_by_role("button", name="More").click()
    page.get_by_role("button", name="Make urgent").click()
    shown(page.locator("#toast")).to_contain_text("urgent: before all")
    desk.send("bound-2", "another")
    page.get_by_role("button", name="Undo").click()
    shown(page.locator("#toast")).to_contain_text("Undone: “and this is urgent” is urgent")
    expect(desk.contents("bound-2") == ["by the command line", "another"], f"there is {desk.contents('bound-2')}")
    expect([each["priority"] for each in desk.queue("bound")] == ["normal", "normal"], "it is not undone")
    # What is in the way is said. The menu may be open from before.
    urgent = page.get_by_role("button", name="Make urgent")
    if not urgent.is_visible():
        row(page, "and this is urgent").get_by_role("button", name="More").click()
    urgent.click()
    # The notice of the undo names the same change.
    until(lambda: desk.queue("bound")[0]["priority"] == "urgent", "it is urgent")
    shown(page.locator("#toast")).not_to_contain_text("Undone")
    desk.cli("queue", "priority", desk.queue("bound")[0]["id"], "normal")
    page.get_by_role("button", name="Undo").click()
    shown(page.locator("#toast")).to_contain_text("changed it since")
    # By a key, the same: it undoes only changes of this page.
    page.locator("main h1").click()
    page.keyboard.press("Control+z")
    shown(page.locator("#toast")).to_contain_text("nothing to undo")
    expect(desk.contents("bound-2") == ["by the command line", "another"], f"there is {desk.contents('bound-2')}")


# The daemon is away


def check_notice_that_goes(browser, fixture, figures):
    """A finger that comes a moment after a notice went presses that notice, and nothing behind it."""
    fixture.desk.send("behind", "stands behind the notice")
    page = browser.page(**PHONE)
    go(page, "#/s/behind")
    shown(row(page, "stands behind the notice")).to_be_visible()
    page.evaluate("""async () => { const { toast } = await import('/dom.js')
      const wait = setTimeout
      // It goes at once, and the moment is as long as this machine needs.
      window.setTimeout = (run, time) => wait(run, { 10_000: 50, 500: 20_000 }[time] ?? time)
      toast('Something was done', { label: 'Undo', run: () => (window.isUndone = true) }) }""")
    shown(page.locator("#toast.going")).to_be_visible()
    page.touchscreen.tap(*middle(page.locator("#toast").get_by_role("button", name="Undo")))
    until(lambda: page.evaluate("window.isUndone"), "it is undone")
    shown(page.locator("#toast")).to_be_hidden()


def check_decision_while_away(browser, fixture, figures):
    """A decision without an answer shows that, and counts when the daemon is back, if the request is still open."""
    browser.excused = True
    page = browser.page()
    denied = approval(fixture, "away-1", "rm -rf build")
    gone = approval(fixture, "away-2", "rm -rf dist")
    for words in ("rm -rf build", "rm -rf dist"):
        shown(card(page, words)).to_be_visible()
    page.wait_for_timeout(600)
    page.route("**/v1/asks/**", lambda route: route.abort())
    card(page, "rm -rf build").get_by_label("Reason for the denial").fill("keep it")
    card(page, "rm -rf build").get_by_role("button", name="Deny").click()
    told = card(page, "rm -rf build").locator(".note")
    shown(told).to_contain_text("Not confirmed: Cospool does not answer")
    expect("kept here and sent" not in page.locator("main").inner_text(), "the page says that it is sent")
    shown(card(page, "rm -rf build").get_by_role("button", name="Try again")).to_be_visible()
    card(page, "rm -rf dist").get_by_role("button", name="Deny").click()
    shown(card(page, "rm -rf dist").locator(".note")).to_contain_text("Not confirmed")
    fixture.desk.cli("approve", "away-2")
    until(lambda: gone.get("ending") == "allowed", "somebody else allows it")
    page.unroute("**/v1/asks/**")
    # As after a start of the daemon: everything is reported again.
    page.evaluate("async () => { const { model } = await import('/app.js'); model.take('present', {}) }")
    until(lambda: denied.get("ending") == "denied", "it is sent")
    expect(denied["text"] == "keep it", f"the words are {denied}")
    shown(card(page, "rm -rf build")).to_contain_text("Denied by you")
    shown(card(page, "rm -rf dist")).to_contain_text("Allowed")
    expect("Not confirmed" not in page.locator("main").inner_text(), "what is over is still said")


def check_edit_while_away(browser, fixture, figures):
    """An edit that could not be saved says that, offers no second message, and is saved when the daemon is back."""
    browser.excused = True
    fixture.desk.send("edit-away", "one two")
    page = browser.page()
    go(page, "#/s/edit-away")
    line = row(page, "one two")
    line.get_by_role("button", name="Edit").click()
    field = page.get_by_label("Text of the message")
    field.press("End")
    field.press_sequentially(" three")
    page.route("**/content", lambda route: route.abort())
    page.get_by_role("button", name="Save").click()
    shown(page.locator(".editor .note.error")).to_contain_text("Not saved: Cospool does not answer. Your text is kept.")
    shown(page.get_by_role("button", name="Queue it as a new message")).to_have_count(0)
    page.unroute("**/content")
    page.evaluate("async () => { const { model } = await import('/app.js'); model.take('present', {}) }")
    shown(page.locator(".editor .note.error")).to_be_hidden()
    page.get_by_role("button", name="Save").click()
    until(lambda: fixture.desk.contents("edit-away") == ["one two three"], "it is saved")
    # No other change is reported as kept and sent, either.
    page.route("**/messages/cancel", lambda route: route.abort())
    row(page, "one two three").get_by_role("button", name="More").click()
    page.get_by_role("button", name="Cancel").click()
    shown(row(page, "one two three").locator(".note.error")).to_have_text("Not confirmed: Cospool did not answer.Try againDismiss")


def check_long_edit(browser, fixture, figures):
    """In a text of many pages, Save and changes from elsewhere are visible while the user writes at its end."""
    text = "\n".join(f"line {number} of a long text that somebody wrote" for number in range(500))
    for name, options in (("wide", {"viewport": {"width": 1280, "height": 800}}), ("phone", PHONE), ("low", {"viewport": {"width": 1000, "height": 420}})):
        session = f"long-{name}"
        message = fixture.desk.send(session, text)
        page = browser.page(**options)
        go(page, f"#/s/{session}")
        page.locator("queue-row").get_by_role("button", name="Edit").click()
        field = page.get_by_label("Text of the message")
        shown(field).to_be_focused()
        field.press("Control+End")
        field.press_sequentially(" and more")
        fixture.desk.cli("queue", "edit", message, text.replace("line 250 of a long text", "line 250 of a short text"))
        shown(page.locator(".news")).to_contain_text("short")
        field.press("Control+End")
        field.press_sequentially("!")
        page.wait_for_timeout(100)
        picture(page, f"long-edit-{name}")
        for what, element in (("Save", page.get_by_role("button", name="Save")), ("the notice", page.locator(".news")), ("the text", field)):
            hidden = element.evaluate("""each => { const box = each.getBoundingClientRect()
              const y = Math.max(0, box.top) / 2 + Math.min(innerHeight, box.bottom) / 2
              const at = document.elementFromPoint(box.left + box.width / 2, y)
              return box.bottom > 0 && box.top < innerHeight && (each === at || each.contains(at)) ? null
                : `at ${Math.round(box.top)} to ${Math.round(box.bottom)} of ${innerHeight}, under ${at?.tagName}.${at?.className}` }""")
            expect(not hidden, f"{name}: {what} is not seen: {hidden}")
        expect("line 250 of a long text" not in page.locator(".news").inner_text().split("short")[1], "the notice shows no difference")
        # Not if the user looks elsewhere, either.
        page.evaluate("document.activeElement.blur()")
        page.wait_for_timeout(100)
        seen = page.get_by_role("button", name="Save").evaluate("""each => { const box = each.getBoundingClientRect()
          return each.contains(document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2)) }""")
        expect(seen, f"{name}: Save is covered where nobody types")
        page.get_by_role("button", name="Save").click()
        shown(page.locator("#toast")).to_contain_text("merged")
        page.context.close()


# Browsers


def check_revoke_asks(browser, fixture, figures):
    """The page asks before it revokes this very browser; a revoked one shows no data, and all of them once it has access again."""
    browser.excused = True
    fixture.desk.send("secret-plan", "nobody else reads this")
    page = browser.page()
    go(page, "#/devices")
    page.locator("li", has_text="(this one)").get_by_role("button", name="Revoke").click()
    dialog = page.get_by_role("dialog")
    shown(dialog).to_contain_text("This immediately signs you out here")
    picture(page, "revoke")
    dialog.get_by_role("button", name="Cancel").click()
    shown(page.locator("li", has_text="(this one)")).to_be_visible()
    shown(page.locator("#sessions")).to_contain_text("secret-plan")
    page.locator("li", has_text="(this one)").get_by_role("button", name="Revoke").click()
    dialog.get_by_role("button", name="Revoke this browser").click()
    shown(page.get_by_text("This browser is not signed in")).to_be_visible()
    tick(page)
    left = page.evaluate("document.documentElement.textContent")
    expect("secret-plan" not in left and "nobody else" not in left, "it still shows what there is")
    expect(page.locator("#sessions li").count() == 0, "it still shows sessions")
    expect(page.title() == "Cospool", f"the title is {page.title()}")
    # The same from elsewhere, over a session; then another tab gives the browser access again.
    page = browser.page()
    go(page, "#/s/secret-plan")
    shown(row(page, "nobody else reads this")).to_be_visible()
    current = next(each for each in fixture.desk.api("GET", "web")["browsers"])
    fixture.desk.cli("web", "revoke", current["id"])
    shown(page.get_by_text("This browser is not signed in")).to_be_visible()
    expect("nobody else" not in page.evaluate("document.documentElement.textContent"), "it still shows what there is")
    tab = page.context.new_page()
    browser.watch(tab)
    browser.enter(tab, fixture.desk.link())
    shown(row(page, "nobody else reads this")).to_be_visible()
    shown(page.locator("#sessions")).to_contain_text("secret-plan")


def check_sync_off(browser, fixture, figures):
    """Sync that was turned off by a slip is on again by the notice."""
    # Addresses that the page asks for meanwhile are refused.
    browser.excused = True
    page = browser.page()
    go(page, "#/devices")
    page.get_by_role("button", name="Turn sync off").click()
    shown(page.locator("#toast")).to_contain_text("Sync is off")
    page.locator("#toast").get_by_role("button", name="Undo").click()
    shown(page.locator("#sync")).to_have_text("in sync")


# What it costs


def check_cost_of_pages(browser, fixture, figures):
    """No page asks for unsent changes more than once a second, and ten pages make a send dearer only by their events."""
    desk = fixture.desk
    sends = 60
    for number in range(300):
        desk.send("dear", f"before {number}")
    desk.api("POST", "sync/wait", {"timeoutSeconds": 60})

    def cost(session):
        begin = desk.processor()
        for number in range(sends):
            desk.send(session, f"message {number}")
        desk.api("POST", "sync/wait", {"timeoutSeconds": 60})
        # What the pages ask for behind it counts, too.
        time.sleep(2)
        return (desk.processor() - begin) * 1000 / sends

    time.sleep(2)
    alone = cost("dear-alone")
    pages = [browser.page() for _ in range(10)]
    asked = []
    for page in pages:
        go(page, "#/s/dear")
        page.on("request", lambda request: request.url.endswith("messages/unsent") and asked.append(time.monotonic()))
    time.sleep(3)
    asked.clear()
    begin = time.monotonic()
    together = cost("dear-together")
    length = time.monotonic() - begin
    figures["a send without a page, ms of a processor"] = round(alone, 2)
    figures["a send with ten open pages, ms of a processor"] = round(together, 2)
    figures["questions for what is unsent by ten pages"] = len(asked)
    expect(len(asked) <= 10 * (length + 1), f"they asked {len(asked)} times in {length:.1f} s")
    # Each page is written to twice for a send, for the change and for its way to the server: about 2.3 times in a
    # debug build. Twice is the aim.
    expect(together <= 3 * alone, f"a send costs {together:.1f} ms with ten pages, {alone:.1f} ms without")


# The places of elements


def check_why_it_waits(browser, fixture, figures):
    """A queue that does not move shows why, and offers the remedy; another device's output is shown."""
    desk, laptop = fixture.desk, fixture.laptop
    desk.api("PUT", "settings/agent", {"value": "none"})
    page = browser.page()
    desk.send("nowhere", "waits for a device")
    go(page, "#/s/nowhere")
    why = page.locator(".strip:visible")
    shown(why).to_contain_text("No device runs this session.")
    shown(page.locator("#sessions li", has_text="nowhere")).to_contain_text("does not run")
    why.get_by_role("button", name="Run on desk").click()
    until(lambda: desk.api("GET", "sessions/nowhere").get("host"), "it has a device")
    shown(page.locator(".strip:visible")).to_contain_text("desk has no agent for it")
    laptop.api("PUT", "settings/command", {"value": "sh -c 'echo written there; sleep 300'"})
    laptop.api("PUT", "settings/agent", {"value": "command"})
    laptop.send("there", "runs on the laptop")
    laptop.api("PUT", "sessions/there/host", {"device": "this"})
    go(page, "#/s/there")
    shown(page.locator("queue-row.running")).to_be_visible()
    page.locator("queue-row").get_by_role("button", name="More").click()
    page.get_by_role("button", name="Output", exact=True).click()
    shown(page.locator(".output")).to_contain_text("written there")
    laptop.api("POST", "sessions/there/stop")
    laptop.api("PUT", "sessions/there/pause")
    laptop.send("there", "waits for the laptop")
    laptop.api("PUT", "settings/agent", {"value": "none"})
    laptop.api("DELETE", "sessions/there/pause")
    until(lambda: "waits for the laptop" in desk.contents("there"), "the desk has it")
    # The outputs that are there cannot be read meanwhile.
    browser.excused = True
    laptop.stop()
    try:
        shown(page.locator(".strip", has_text="laptop is offline")).to_contain_text("The queue continues when it is back.")
        shown(page.get_by_role("button", name="Run on desk instead")).to_be_visible()
        picture(page, "host-away")
    finally:
        laptop.start()
    shown(page.locator(".strip:visible", has_text="laptop is offline")).to_have_count(0)
    laptop.api("DELETE", "sessions/there/queue")
    desk.api("PUT", "sessions/nowhere/pause", {"reason": "until Monday"})
    go(page, "#/s/nowhere")
    shown(page.locator(".strip:visible")).to_contain_text("until Monday")
    desk.api("DELETE", "sessions/nowhere/queue")


def check_failed_in_the_sidebar(browser, fixture, figures):
    """A session whose message failed comes before those that need no user, and shows that by colour, form and words."""
    desk = fixture.desk
    desk.api("PUT", "settings/command", {"value": "sh -c 'echo no such branch >&2; exit 3'"})
    desk.api("PUT", "settings/agent", {"value": "command"})
    desk.send("aaa-idle", "x")
    desk.api("DELETE", "sessions/aaa-idle/queue")
    desk.send("zzz-fails", "Fail at once")
    desk.api("PUT", "sessions/zzz-fails/host", {"device": "this"})
    page = browser.page()
    line = page.locator("#sessions li", has_text="zzz-fails")
    shown(line).to_contain_text("failed")
    shown(line.locator(".dot.fail")).to_be_visible()
    names = page.locator("#sessions a > span:first-of-type").all_inner_texts()
    expect(names.index("zzz-fails") < names.index("aaa-idle"), f"they stand as {names}")
    go(page, "#/s/zzz-fails")
    shown(page.locator("queue-row.failed")).to_contain_text("no such branch")
    shown(page.locator(".task")).to_be_hidden()
    picture(page, "failed")
    # With another text it is another try.
    page.locator("queue-row").get_by_role("button", name="Edit and retry").click()
    field = page.get_by_label("Text of the message")
    until(lambda: field.input_value() == "Fail at once", "the editor is open")
    field.fill("Fail again")
    # The editor may ask to hold a message that has begun already, until it is closed: it is refused, without any effect.
    browser.excused = True
    page.get_by_role("button", name="Save and retry").click()
    until(lambda: [(each["content"], each["status"], each.get("attempts")) for each in desk.queue("zzz-fails")]
          == [("Fail again", "failed", 2)], "it is tried again with the other text")
    page.locator("queue-row").get_by_role("button", name="Skip").click()
    shown(page.locator("queue-row")).to_have_count(0)
    desk.api("PUT", "settings/agent", {"value": "none"})


def check_slow_line(browser, fixture, figures):
    """A page that is still loading on a slow line raises no alarm; one without an answer does."""
    page = browser.page()
    held = []
    page.route("**/v1/events", lambda route: held.append(route))
    page.reload()
    until(lambda: held or page.wait_for_timeout(20), "it asks for events")
    page.wait_for_timeout(1500)
    shown(page.locator("#banner")).to_be_hidden()
    shown(page.locator("#sync")).to_have_text("connecting …")
    held[0].continue_()
    shown(page.locator("#sync")).to_have_text("in sync")
    browser.excused = True
    page.unroute("**/v1/events")
    page.route("**/v1/events", lambda route: route.abort())
    page.reload()
    shown(page.locator("#banner")).to_contain_text("does not answer", timeout=5000)


def check_devices_after_a_restart(browser, fixture, figures):
    """While the daemon is away the devices' view shows nothing old as present; when it is back, all is read again."""
    browser.excused = True
    page = browser.page()
    go(page, "#/devices")
    shown(page.locator("li", has_text="laptop")).to_contain_text("connected")
    fixture.desk.stop()
    try:
        shown(page.locator("#banner")).to_contain_text("does not answer")
        shown(page.locator("li", has_text="laptop")).to_contain_text("unknown at the moment")
        shown(page.locator("devices-view section").first).not_to_contain_text("in sync")
        go(page, "#/needs")
        go(page, "#/devices")
        shown(page.locator("devices-view")).to_contain_text("Cospool does not answer.")
    finally:
        fixture.desk.start()
    shown(page.get_by_text("(this one)")).to_be_visible()
    shown(page.locator("devices-view li", has_text="Cospool does not answer")).to_have_count(0)


def check_drag_then_select(browser, fixture, figures):
    """After a row was dragged its text can be selected, and is not dragged by it."""
    for name in ("drag a1", "drag b2"):
        fixture.desk.send("drags", name)
    page = browser.page()
    go(page, "#/s/drags")
    row(page, "drag b2").locator(".handle").drag_to(row(page, "drag a1"), target_position={"x": 80, "y": 4})
    until(lambda: fixture.desk.contents("drags") == ["drag b2", "drag a1"], "dragged")
    draggable = page.evaluate("[...document.querySelectorAll('queue-row')].map(each => each.draggable)")
    expect(draggable == [False, False], f"draggable: {draggable}")


def check_right_to_left(browser, fixture, figures):
    """A text from right to left is set in that direction, wherever it is shown or written."""
    fixture.desk.send("rtl", "اكتب الاختبار أولا")
    fixture.desk.ask("rtl", kind="question", question="أيهما؟")
    page = browser.page()
    go(page, "#/s/rtl")
    shown(page.locator("queue-row")).to_be_visible()
    page.locator("queue-row").get_by_role("button", name="Edit").click()
    page.get_by_label("New message").fill("نص جديد")
    sides = page.evaluate("""() => ['queue-row .content', 'request-card .title p', '.editor textarea', '#composer-text']
      .map(each => getComputedStyle(document.querySelector(each)).direction)""")
    expect(sides == ["rtl"] * 4, f"they run {sides}")
    page.get_by_label("New message").fill("")
    page.locator("request-card").get_by_role("button", name="Decline").click()
