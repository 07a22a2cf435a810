"""A session as a conversation: past, present and future prompts; see page_test.py."""

import time

from playwright.sync_api import expect as shown

from page_common import go, order, picture, row
from page_everybody import AXE, TAGS
from page_fixture import expect, until

PHONE = {"viewport": {"width": 375, "height": 740}, "has_touch": True}


def agent(fixture, script, device=None):
    """An agent that does as a script says, which has the prompt as `$x`."""
    device = device or fixture.desk
    path = fixture.folder / f"agent-{device.name}.sh"
    path.write_text(f"read x\n{script}\n")
    device.api("PUT", "settings/command", {"value": f"sh {path}"})
    device.api("PUT", "settings/agent", {"value": "command"})


def hosted(device, session, *texts):
    device.api("POST", "sessions", {"id": session})
    device.api("PUT", f"sessions/{session}/host", {"device": "this"})
    return [device.send(session, text) for text in texts]


def runs(device, session):
    return any(each["status"] == "running" for each in device.queue(session))


def turn(page, text):
    return page.locator(".turn", has_text=text)


def place(element):
    return element.evaluate("each => { const { x, y, width, height } = each.getBoundingClientRect(); return { x, y, width, height } }")


# What was


def check_conversation(browser, fixture, figures):
    """Prompts that have ended stay readable: who sent them, what was written, asked and done, and how long it took."""
    desk, laptop = fixture.desk, fixture.laptop
    agent(fixture, """case $x in
      many*) seq 1 30 | sed 's/^/line /';;
      ask*) while [ ! -e GO ]; do sleep .1; done; echo pushed;;
      fail*) echo no such branch >&2; exit 3;;
      stop*) echo begun; sleep 300;;
    esac""".replace("GO", str(fixture.folder / "go")))
    hosted(desk, "talk", "many lines")
    until(lambda: not desk.queue("talk"), "it is done")
    laptop.send("talk", "ask before you push")
    until(lambda: runs(desk, "talk"), "it runs")
    page = browser.page()
    go(page, "#/s/talk")
    desk.ask("talk", kind="approval", toolName="Bash", summary="git push origin main")
    page.get_by_role("button", name="Allow").click()
    shown(page.locator("request-card")).to_contain_text("Allowed")
    (fixture.folder / "go").touch()
    # It ends while one looks.
    asked = turn(page, "ask before you push")
    shown(asked).to_contain_text("pushed")
    shown(asked.locator(".meta").first).to_contain_text("laptop")
    shown(asked.locator(".decision")).to_contain_text("Bash: git push origin main")
    shown(asked.locator(".decision")).to_contain_text("Allowed")
    shown(asked.locator(".end")).to_contain_text("✓ Done")
    shown(asked.locator(".end")).to_contain_text(" s")
    # Of a long output the end is shown, and all of it on demand.
    many = turn(page, "many lines")
    shown(many.locator(".said")).to_contain_text("line 30")
    shown(many.locator(".said")).not_to_contain_text("line 12")
    many.get_by_role("button", name="Show all 30 lines").click()
    shown(many.locator(".said")).to_contain_text("line 12")
    # A failed message that was skipped, and one that was stopped.
    desk.send("talk", "fail at once")
    page.locator("queue-row.failed").get_by_role("button", name="Skip").click()
    shown(turn(page, "fail at once")).to_contain_text("no such branch")
    shown(turn(page, "fail at once").locator(".end")).to_contain_text("Skipped: exit code 3")
    desk.send("talk", "stop me")
    shown(page.locator(".output")).to_contain_text("begun")
    page.get_by_role("button", name="Stop", exact=True).click()
    shown(turn(page, "stop me").locator(".end")).to_contain_text("Stopped")
    shown(turn(page, "stop me").locator(".said")).to_contain_text("begun")
    # What was cancelled before it ran is not among them.
    desk.api("PUT", "sessions/talk/pause")
    desk.api("POST", "messages/cancel", {"ids": [desk.send("talk", "never run")]})
    page.reload()
    shown(page.locator(".turn")).to_have_count(4)
    texts = page.locator(".turn .prompt").all_inner_texts()
    expect(texts == ["many lines", "ask before you push", "fail at once", "stop me"], f"they stand as {texts}")
    exact = page.locator(".turn time").first.get_attribute("title")
    expect(len(exact) > 12, f"the exact time is {exact}")
    picture(page, "conversation")
    # What another device ran is read from there, while that is connected.
    agent(fixture, "echo written there", laptop)
    laptop.api("POST", "sessions", {"id": "talk-there"})
    laptop.api("PUT", "sessions/talk-there/host", {"device": "this"})
    laptop.send("talk-there", "over there")
    until(lambda: any(each["id"] == "talk-there" for each in desk.api("GET", "sessions")["sessions"])
          and desk.api("GET", "queues?state=done&session=talk-there")["queues"], "it is done")
    # The page asks once more if the other device is slow.
    browser.excused = True
    go(page, "#/s/talk-there")
    shown(turn(page, "over there").locator(".said")).to_contain_text("written there")
    browser.excused = True
    laptop.stop()
    try:
        until(lambda: not any(each["connected"] for each in desk.api("GET", "status")["sync"]["devices"] if each["name"] == "laptop"),
              "the laptop is away")
        page.reload()
        shown(turn(page, "over there")).to_contain_text("Its output is on laptop, which has been away since")
    finally:
        laptop.start()
    for device in (desk, laptop):
        device.api("PUT", "settings/agent", {"value": "none"})


def check_older_prompts(browser, fixture, figures):
    """The last 20 are shown at once, and older ones on demand: the visible part stays in its place."""
    desk = fixture.desk
    agent(fixture, "echo $x: done")
    hosted(desk, "older", *(f"prompt {number:02}" for number in range(26)))
    until(lambda: not desk.queue("older"), "all are done")
    desk.api("PUT", "settings/agent", {"value": "none"})
    page = browser.page()
    go(page, "#/s/older")
    shown(page.locator(".turn")).to_have_count(20)
    shown(page.locator(".turn .prompt").first).to_have_text("prompt 06")
    # The latest are looked at first.
    expect(0 < place(turn(page, "prompt 25"))["y"] < 700, "the last one is out of sight")
    more = page.get_by_role("button", name="Show 6 older")
    page.evaluate("scrollTo(0, 0)")
    before = place(turn(page, "prompt 06"))["y"]
    more.click()
    shown(page.locator(".turn")).to_have_count(26)
    shown(page.locator(".turn .prompt").first).to_have_text("prompt 00")
    after = place(turn(page, "prompt 06"))["y"]
    expect(abs(after - before) < 2, f"it went from {before} to {after}")
    shown(more).to_be_hidden()


def check_undone_stop(browser, fixture, figures):
    """A prompt that waits again, by an undo or a restore, is only in the queue."""
    desk = fixture.desk
    agent(fixture, "sleep 300")
    message, = hosted(desk, "again", "to be stopped")
    page = browser.page()
    go(page, "#/s/again")
    shown(page.locator("queue-row.running")).to_be_visible()
    desk.api("PUT", "settings/agent", {"value": "none"})
    page.get_by_role("button", name="Stop", exact=True).click()
    shown(turn(page, "to be stopped").locator(".end")).to_contain_text("Stopped")
    desk.api("POST", f"messages/{message}/restore")
    shown(row(page, "to be stopped")).to_be_visible()
    shown(page.locator(".turn")).to_have_count(0)
    desk.api("DELETE", "sessions/again/queue")


# What is


def check_colours(browser, fixture, figures):
    """An output has the colours and weights that its program wrote, and no other control codes of a terminal."""
    page = browser.page()
    told = page.evaluate(r"""async () => {
      const { coloured, bare, Screen } = await import('/ansi.js')
      const box = document.createElement('pre')
      const told = (text) => { box.replaceChildren(...coloured(text)); return [...box.childNodes].map(each => [each.className ?? '', each.textContent]) }
      const screen = new Screen(box)
      const result = {
        basic: told('a\x1b[31mb\x1b[1mc\x1b[0md'), many: told('\x1b[38;5;208mo\x1b[38;2;10;200;30mg\x1b[0;38;5;240my\x1b[48;5;196mz'),
        bright: told('\x1b[91mr\x1b[90mg\x1b[97mw'), ends: told('\x1b[1;4mx\x1b[22my\x1b[24mz'),
        moves: told('\x1b[2J\x1b[?25lseen\x1b]0;title\x07\x1b(B.\x08'), over: told('10 %\r20 %\r30 %\nend\r\n'), bare: bare('\x1b[32mok\x1b[0m'),
        text: told('<b>\x1b[31m<i>'),
      }
      screen.clear()
      screen.show('one\n\x1b[32mtw')
      const first = box.firstChild
      screen.show('one\n\x1b[32mtwo\nthree')
      return { ...result, grown: [...box.querySelectorAll('.ink-2')].map(each => each.textContent), stays: first === box.firstChild, all: box.textContent } }""")
    wanted = {
        "basic": [["", "a"], ["ink-1", "b"], ["ink-1 bold", "c"], ["", "d"]],
        "many": [["ink-3", "o"], ["ink-2", "g"], ["dim", "y"], ["dim on-1", "z"]],
        "bright": [["ink-1", "r"], ["dim", "g"], ["", "w"]],
        "ends": [["bold under", "x"], ["under", "y"], ["", "z"]],
        "moves": [["", "seen"], ["", "."]], "bare": "ok", "text": [["", "<b>"], ["ink-1", "<i>"]],
        "grown": ["two\n", "three"], "stays": True, "all": "one\ntwo\nthree",
    }
    for name, value in wanted.items():
        found = told[name]
        if name in ("basic", "many", "bright", "ends"):
            found = [[" ".join(sorted(names.split())), text] for names, text in found]
            value = [[" ".join(sorted(names.split())), text] for names, text in value]
        expect(found == value, f"{name}: {found}, not {value}")
    expect("".join(text for _, text in told["over"]) == "30 %\nend\n", f"written over: {told['over']}")
    # Live, and followed until the user looks further up.
    desk = fixture.desk
    agent(fixture, r"""for n in $(seq 1 60); do printf '\033[32m✓\033[0m check %s\n' $n; done; sleep 2; echo last; sleep 300""")
    hosted(desk, "coloured", "show colours")
    go(page, "#/s/coloured")
    output = page.locator(".output")
    shown(output).to_contain_text("check 60")
    shown(output.locator(".ink-2").first).to_have_text("✓")
    follow = page.get_by_role("button", name="Follow")
    shown(follow).to_have_attribute("aria-pressed", "true")
    shown(output).to_contain_text("last")
    at_end = "each => each.scrollTop + each.clientHeight >= each.scrollHeight - 8"
    expect(output.evaluate(at_end), "it does not follow")
    output.evaluate("each => { each.scrollTop = 0 }")
    shown(follow).to_have_attribute("aria-pressed", "false")
    follow.click()
    expect(output.evaluate(at_end), "it does not go to the end")
    desk.api("PUT", "settings/agent", {"value": "none"})
    desk.api("POST", "sessions/coloured/stop")
    # It has ended: it is in the conversation, with its colours.
    shown(turn(page, "show colours").locator(".said .ink-2").first).to_be_visible()
    shown(output).to_be_hidden()


def check_failure_card(browser, fixture, figures):
    """A failure is one card: its reason once, the last five lines, and the possible actions."""
    desk = fixture.desk
    agent(fixture, r"""seq 1 9; printf '\033[31mfatal:\033[0m no such branch\n'; exit 3""")
    hosted(desk, "fails", "Rebuild the site", "Publish it")
    page = browser.page()
    go(page, "#/s/fails")
    card = page.locator(".now queue-row.failed")
    shown(card.locator(".failure .title")).to_have_text("Failed: exit code 3")
    shown(card.locator(".said")).to_have_text("6\n7\n8\n9\nfatal: no such branch")
    shown(card.locator(".said .ink-1")).to_have_text("fatal:")
    buttons = [name.split(":")[0] for name in card.locator(".quick button:visible").evaluate_all("all => all.map(each => each.getAttribute('aria-label'))")]
    expect(buttons == ["Retry", "Edit and retry", "Skip", "Output"], f"it offers {buttons}")
    told = page.locator("session-view").inner_text().count("no such branch")
    expect(told == 1, f"the error is shown {told} times")
    shown(page.locator("#composer-what")).to_have_text("Waits: the queue is stopped")
    picture(page, "failure-card")
    card.get_by_role("button", name="Output").click()
    shown(page.locator(".output")).to_contain_text("1\n2\n3")
    card.get_by_role("button", name="Retry", exact=False).first.click()
    until(lambda: desk.queue("fails")[0].get("attempts") == 2, "it is tried again")
    shown(card).to_contain_text("2 attempts")
    desk.api("PUT", "settings/agent", {"value": "none"})
    desk.api("DELETE", "sessions/fails/queue")


def check_strip(browser, fixture, figures):
    """The reason why a queue does not continue is below the title, in the daemon's words."""
    desk = fixture.desk
    desk.send("strip", "x")
    page = browser.page()
    known = {**desk.api("GET", "sessions/strip"), "standing": "waiting", "note": "somebody is using its agent, which gets the next message afterwards"}
    page.route("**/v1/sessions/strip", lambda route: route.fulfill(json=known))
    agent(fixture, "sleep 300")
    desk.api("PUT", "sessions/strip/pause")
    desk.api("PUT", "sessions/strip/host", {"device": "this"})
    go(page, "#/s/strip")
    shown(row(page, "x")).to_be_visible()
    page.evaluate("""async () => { const { model } = await import('/app.js')
      model.take('session', { ...model.sessions.get('strip'), paused: false }) }""")
    shown(page.locator(".session-head .strip:visible span")).to_have_text("It waits: somebody is using its agent, which gets the next message afterwards.")
    desk.api("DELETE", "sessions/strip/queue")
    desk.api("DELETE", "sessions/strip/pause")
    desk.api("PUT", "settings/agent", {"value": "none"})
    shown(page.locator(".session-head .strip:visible")).to_have_count(0)


# What comes


def check_drag_by_touch(browser, fixture, figures):
    """A finger drags a row by its grip; the page does not scroll meanwhile, and Escape leaves everything as it was."""
    desk = fixture.desk
    for name in ("t1", "t2", "t3", "t4"):
        desk.send("touch", name)
    page = browser.page(**PHONE)
    go(page, "#/s/touch")
    shown(page.locator("queue-row")).to_have_count(4)
    page.wait_for_timeout(600)
    finger = page.context.new_cdp_session(page)

    def touch(kind, x=None, y=None):
        points = [] if x is None else [{"x": x, "y": y}]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def drag(name, onto, part, end="touchEnd"):
        grip, target = place(row(page, name).locator(".handle")), place(row(page, onto))
        x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
        to = target["y"] + target["height"] * part
        scrolled = page.evaluate("scrollY")
        touch("touchStart", x, y)
        for step in range(1, 6):
            touch("touchMove", x, y + (to - y) * step / 5)
        shown(page.locator("queue-row.dragged")).to_have_count(1)
        expect(page.evaluate("scrollY") == scrolled, "the page scrolls")
        if end == "Escape":
            page.keyboard.press("Escape")
        touch("touchEnd")
        shown(page.locator("queue-row.dragged")).to_have_count(0)

    drag("t1", "t3", 0.9)
    until(lambda: desk.contents("touch") == ["t2", "t3", "t1", "t4"], "it is dragged down")
    until(lambda: order(page) == ["t2", "t3", "t1", "t4"], "the page shows it")
    drag("t4", "t2", 0.1)
    until(lambda: desk.contents("touch") == ["t4", "t2", "t3", "t1"], "it is dragged to the top")
    until(lambda: order(page) == ["t4", "t2", "t3", "t1"], "the page shows it")
    drag("t1", "t4", 0.1, end="Escape")
    page.wait_for_timeout(200)
    expect(desk.contents("touch") == ["t4", "t2", "t3", "t1"], f"Escape leaves {desk.contents('touch')}")
    desk.api("DELETE", "sessions/touch/queue")


def check_drag_far(browser, fixture, figures):
    """A list that is longer than the window scrolls with a row that is dragged to its edge."""
    desk = fixture.desk
    for number in range(30):
        desk.send("far", f"far {number:02}")
    page = browser.page()
    go(page, "#/s/far")
    shown(page.locator("queue-row")).to_have_count(30)
    page.wait_for_timeout(600)
    grip = place(row(page, "far 01").locator(".handle"))
    box = place(page.locator("next-list"))
    x = grip["x"] + grip["width"] / 2
    page.mouse.move(x, grip["y"] + 8)
    page.mouse.down()
    page.mouse.move(x, box["y"] + box["height"] - 6, steps=4)
    until(lambda: page.evaluate("""() => { const list = document.querySelector('next-list')
      return list.scrollTop + list.clientHeight >= list.scrollHeight - 2 }""") or page.wait_for_timeout(50), "the list went along")
    page.mouse.up()
    until(lambda: desk.contents("far").index("far 01") >= 27, "it is dragged to the end")
    desk.api("DELETE", "sessions/far/queue")


def check_move_to(browser, fixture, figures):
    """A prompt is moved to a position that one names."""
    desk = fixture.desk
    for name in ("m1", "m2", "m3", "m4", "m5"):
        desk.send("move-to", name)
    page = browser.page()
    go(page, "#/s/move-to")
    row(page, "m5").get_by_role("button", name="More").click()
    row(page, "m5").get_by_role("button", name="Move to …").click()
    field = page.get_by_label("Position, 1 to 5")
    shown(field).to_have_value("5")
    shown(field).to_be_focused()
    field.fill("2")
    field.press("Enter")
    until(lambda: desk.contents("move-to") == ["m1", "m5", "m2", "m3", "m4"], "it is second")
    shown(page.locator("dialog")).to_have_count(0)
    desk.api("DELETE", "sessions/move-to/queue")


def check_select_several(browser, fixture, figures):
    """Several prompts are moved and cancelled at once, and one Undo takes that back."""
    desk = fixture.desk
    for name in ("s1", "s2", "s3", "s4"):
        desk.send("several", name)
    page = browser.page()
    go(page, "#/s/several")
    shown(page.locator("queue-row")).to_have_count(4)
    page.get_by_role("button", name="Select", exact=True).click()
    for name in ("s4", "s2"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    shown(page.locator(".chosen")).to_contain_text("2 selected")
    picture(page, "select")
    page.get_by_role("button", name="To top", exact=True).click()
    until(lambda: desk.contents("several") == ["s2", "s4", "s1", "s3"], "both are first, in their order")
    shown(page.get_by_role("checkbox", name="Select s2")).to_have_count(0)
    page.get_by_role("button", name="Select", exact=True).click()
    for name in ("s1", "s3"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    page.get_by_role("button", name="Cancel them").click()
    shown(page.locator("#toast")).to_contain_text("2 messages cancelled")
    until(lambda: desk.contents("several") == ["s2", "s4"], "both are cancelled")
    page.get_by_role("button", name="Undo").click()
    until(lambda: sorted(desk.contents("several")) == ["s1", "s2", "s3", "s4"], "both are back")
    desk.api("DELETE", "sessions/several/queue")


def check_beside(browser, fixture, figures):
    """From 1,100 px on the queue is beside the conversation and stays visible; below that it is after it."""
    desk = fixture.desk
    agent(fixture, "seq 1 8")
    hosted(desk, "beside", *(f"done {number}" for number in range(8)))
    until(lambda: not desk.queue("beside"), "they are done")
    desk.api("PUT", "sessions/beside/pause")
    for number in range(3):
        desk.send("beside", f"waits {number}")
    for width in (1280, 1100, 1099, 700, 375):
        page = browser.page(viewport={"width": width, "height": 800})
        go(page, "#/s/beside")
        shown(page.locator(".turn")).to_have_count(8)
        shown(page.locator("queue-row")).to_have_count(3)
        page.wait_for_timeout(100)
        talk, queue = place(page.locator("past-turns")), place(page.locator("next-list"))
        is_beside = queue["x"] >= talk["x"] + talk["width"]
        expect(is_beside == (width >= 1100), f"at {width} the queue is at {queue}, the conversation at {talk}")
        first = place(row(page, "waits 0"))
        expect(0 < first["y"] < 800 - 100, f"at {width} the queue begins at {first['y']}")
        expect(0 < place(turn(page, "done 7"))["y"] + place(turn(page, "done 7"))["height"] < 800, f"at {width} the last prompt is out of sight")
        if is_beside:
            page.evaluate("scrollTo(0, 0)")
            expect(abs(place(row(page, "waits 0"))["y"] - first["y"]) < 2, "the queue scrolls away")
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        expect(wide <= 0, f"{wide} px too wide at {width}")
        page.context.close()
    desk.api("PUT", "settings/agent", {"value": "none"})
    desk.api("DELETE", "sessions/beside/queue")


def check_queue_stays(browser, fixture, figures):
    """If the queue is below, a prompt that ends and one that starts above it move nothing under the pointer."""
    desk = fixture.desk
    agent(fixture, "echo $x is done; while [ ! -e GO-$x ]; do sleep .1; done".replace("GO", str(fixture.folder / "go")))
    hosted(desk, "stays", *(f"prompt{number}" for number in range(12)))
    page = browser.page(viewport={"width": 800, "height": 600})
    go(page, "#/s/stays")
    shown(page.locator(".output")).to_contain_text("prompt0 is done")
    line = row(page, "prompt9")
    line.scroll_into_view_if_needed()
    line.hover()
    page.wait_for_timeout(300)
    before = place(line)["y"]
    for number in range(3):
        (fixture.folder / f"go-prompt{number}").touch()
        shown(page.locator(".output")).to_contain_text(f"prompt{number + 1} is done")
        shown(page.locator(".turn")).to_have_count(number + 1)
        page.wait_for_timeout(200)
        # One row went from above it.
        moved = before - place(line)["y"]
        expect(0 <= moved <= 70 * (number + 1), f"it went up by {moved}")
    desk.api("PUT", "sessions/stays/pause")
    desk.api("PUT", "settings/agent", {"value": "none"})
    desk.api("POST", "sessions/stays/stop")
    desk.api("DELETE", "sessions/stays/queue")


def check_whole_text(browser, fixture, figures):
    """All of a prompt can be read in its place, by touch too, and nothing changes its size under the pointer."""
    fixture.desk.send("whole", "\n".join(f"line {number} of the prompt" for number in range(20)))
    fixture.desk.send("whole", "short")
    page = browser.page()
    go(page, "#/s/whole")
    line = row(page, "line 1 of")
    shown(line).to_be_visible()
    height = place(line)["height"]
    line.hover()
    expect(place(line)["height"] == height, "it grows under the pointer")
    shown(row(page, "short").get_by_role("button", name="Show all")).to_have_count(0)
    line.get_by_role("button", name="Show all").click()
    expect(place(line)["height"] > height + 200, "it is not shown")
    line.get_by_role("button", name="Show less").click()
    expect(place(line)["height"] == height, "it is not folded again")
    fixture.desk.api("DELETE", "sessions/whole/queue")


PLAN = """Do this:

- **first** the test
- then `make it pass`

| file | why |
|---|---|
| a.swift | <b>no markup</b> |"""


def check_markdown_of_prompts(browser, fixture, figures):
    """A prompt is shown folded as it was written, and whole as it was meant; the editor has the written text."""
    fixture.desk.send("plan", PLAN)
    page = browser.page()
    go(page, "#/s/plan")
    line = page.locator("queue-row")
    shown(line.locator(".content")).to_contain_text("**first**")
    line.get_by_role("button", name="Show all").click()
    whole = line.get_by_role("group", name="Whole text")
    shown(whole.locator("li strong")).to_have_text("first")
    shown(whole.locator("td").last).to_have_text("<b>no markup</b>")
    shown(line.locator(".content")).to_be_hidden()
    picture(page, "markdown-prompt")
    # A change by another user meanwhile is shown in the same way, too.
    fixture.laptop.api("PUT", f"messages/{fixture.desk.queue('plan')[0]['id']}/content", {"content": PLAN.replace("first", "second")})
    shown(whole.locator("li strong")).to_have_text("second")
    line.get_by_role("button", name="Show less").click()
    shown(line.locator(".content")).to_contain_text("**second**")
    line.get_by_role("button", name="Show all").click()
    line.get_by_role("button", name="Edit").click()
    shown(page.get_by_label("Text of the message")).to_have_value(PLAN.replace("first", "second"))
    page.keyboard.press("Escape")
    shown(line.locator(".content")).to_be_visible()
    fixture.desk.api("DELETE", "sessions/plan/queue")


def check_markdown_of_output(browser, fixture, figures):
    """What an agent wrote as Markdown is shown so, and as it was written on demand; a log stays as it is."""
    desk = fixture.desk
    agent(fixture, r"""case $x in
      report*) printf '## What I did\n\n- **renamed** foo\n- see https://example.org/x\n\n```swift\nlet a = 1\nlet b = 2\nlet c = 3\nlet d = 4\nlet e = 5\nlet f = 6\nlet g = 7\n```\n';;
      log*) printf '# comment\n  - indented\n* starred *\n';;
    esac""")
    hosted(desk, "report", "report it", "log it")
    until(lambda: not desk.queue("report"), "they are done")
    page = browser.page()
    go(page, "#/s/report")
    report = turn(page, "report it")
    # The piece of code in which the last lines are is whole.
    shown(report.locator(".said pre code")).to_contain_text("let a = 1")
    report.get_by_role("button", name="lines of output").click()
    shown(report.locator(".said .heading")).to_have_text("What I did")
    shown(report.locator(".said li strong")).to_have_text("renamed")
    shown(report.locator(".said a")).to_have_attribute("rel", "noreferrer noopener")
    picture(page, "markdown-output")
    report.get_by_role("button", name="Show as written").click()
    shown(report.locator(".said")).to_contain_text("## What I did")
    shown(report.locator(".said")).to_contain_text("- **renamed** foo")
    report.get_by_role("button", name="Show formatted").click()
    shown(report.locator(".said li strong")).to_be_visible()
    log = turn(page, "log it")
    expect(log.locator(".said").inner_text().rstrip() == "# comment\n  - indented\n* starred *", "the log is changed")
    shown(log.get_by_role("button", name="Show as written")).to_have_count(0)
    page.set_viewport_size({"width": 375, "height": 740})
    picture(page, "markdown-output-375")
    desk.api("PUT", "settings/agent", {"value": "none"})


# Writing


def check_forecast(browser, fixture, figures):
    """The composer shows the effect before sending, in one line that grows with the text."""
    desk = fixture.desk
    agent(fixture, "sleep 300")
    page = browser.page()
    what, field = page.locator("#composer-what"), page.get_by_label("New message")
    go(page, "#/s/forecast")
    shown(what).to_have_text("Waits: no device runs this session")
    hosted(desk, "forecast")
    shown(what).to_have_text("Runs at once on desk")
    height = place(field)["height"]
    foot = place(page.locator("queue-composer"))
    expect(abs(foot["y"] + foot["height"] - 800) < 1, f"in a short session it is at {foot}")
    expect(height < 40, f"it is {height} px high")
    field.fill("one\ntwo\nthree\nfour")
    expect(place(field)["height"] > height + 40, "it does not grow")
    field.fill("the first")
    field.press("Control+Enter")
    shown(page.locator("queue-row.running")).to_be_visible()
    shown(what).to_have_text("Waits: next in line")
    desk.send("forecast", "a")
    desk.send("forecast", "b")
    shown(what).to_have_text("Waits: third in line")
    page.get_by_label("urgent").check()
    shown(what).to_have_text("Waits: next in line")
    desk.api("PUT", "sessions/forecast/pause")
    shown(what).to_have_text("Waits: the queue is paused")
    desk.api("PUT", "settings/agent", {"value": "none"})
    desk.api("POST", "sessions/forecast/stop")
    desk.api("DELETE", "sessions/forecast/queue")


def check_previews(browser, fixture, figures):
    """A picture is shown small before it is sent; without words the page asks for some."""
    page = browser.page()
    go(page, "#/s/previews")
    page.evaluate("""async () => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 40, height: 20 })
      canvas.getContext('2d').fillRect(0, 0, 20, 20)
      const blob = await new Promise(done => canvas.toBlob(done))
      document.querySelector('queue-composer').add([new File([blob], 'shot.png', { type: 'image/png' }), new File(['none'], 'broken.png', { type: 'image/png' })]) }""")
    shown(page.locator("queue-composer img")).to_have_count(1)
    until(lambda: page.evaluate("document.querySelector('queue-composer img').naturalWidth") == 40, "it is shown")
    picture(page, "previews")
    page.get_by_role("button", name="Queue", exact=True).click()
    shown(page.locator("#toast")).to_contain_text("Add a few words")
    page.get_by_role("button", name="Remove shot.png").click()
    shown(page.locator("queue-composer img")).to_have_count(0)
    page.get_by_role("button", name="Remove broken.png").click()


def check_keyboard_on_a_phone(browser, fixture, figures):
    """With the keyboard of a phone up, and three lines typed, four lines of the conversation are seen at least."""
    desk = fixture.desk
    agent(fixture, "seq 1 9")
    hosted(desk, "phone", "one", "two", "three")
    until(lambda: not desk.queue("phone"), "they are done")
    desk.api("PUT", "settings/agent", {"value": "none"})
    for height in (740, 400):
        page = browser.page(**{**PHONE, "viewport": {"width": 375, "height": height}})
        go(page, "#/s/phone")
        shown(page.locator(".turn")).to_have_count(3)
        page.get_by_label("New message").tap()
        page.get_by_label("New message").fill("one\ntwo\nthree")
        page.wait_for_timeout(200)
        picture(page, f"phone-keyboard-{height}")
        seen = page.evaluate("""() => { let seen = 0
          for (let y = 0; y < innerHeight; y += 4) {
            if (document.elementFromPoint(innerWidth / 2, y)?.closest('.past-and-now, .beside')) seen += 4
          }
          return seen / parseFloat(getComputedStyle(document.body).lineHeight) }""")
        expect(seen >= 4, f"{seen:.1f} lines are seen at {height}")
        page.get_by_label("New message").fill("")
        page.context.close()


def check_panel(browser, fixture, figures):
    """A long text is edited in a panel: over the whole screen of a phone, with Save on top; unsaved text survives."""
    desk = fixture.desk
    text = "\n".join(f"line {number}" for number in range(40))
    message = desk.send("panel", text)
    page = browser.page(**PHONE)
    go(page, "#/s/panel")
    page.locator("queue-row").get_by_role("button", name="Edit").tap()
    panel = page.get_by_role("dialog", name="Edit the message")
    box = place(panel)
    expect((box["x"], box["y"], box["width"], box["height"]) == (0, 0, 375, 740), f"it covers {box}")
    save = panel.get_by_role("button", name="Save")
    expect(place(save)["y"] < 60 < place(panel.get_by_label("Text of the message"))["y"], "Save is not on top")
    panel.get_by_label("Text of the message").press("Control+End")
    panel.get_by_label("Text of the message").press_sequentially(" and more")
    picture(page, "panel-phone")
    page.reload()
    # What was begun goes on.
    shown(panel.get_by_label("Text of the message")).to_have_value(text + " and more")
    save.tap()
    shown(panel).to_have_count(0)
    until(lambda: desk.contents("panel") == [text + " and more"], "it is saved")
    wide = browser.page()
    go(wide, "#/s/panel")
    wide.locator("queue-row").get_by_role("button", name="Edit").click()
    field = wide.get_by_label("Text of the message")
    shown(field).to_be_focused()
    field.press("Control+Home")
    field.press_sequentially("first ")
    # Left by Escape it can be taken back.
    field.press("Escape")
    shown(wide.get_by_role("dialog")).to_have_count(0)
    shown(wide.locator("queue-row").get_by_role("button", name="Edit")).to_be_focused()
    wide.get_by_role("button", name="Continue editing").click()
    shown(field).to_have_value("first " + text + " and more")
    # The view leaves none, either.
    go(wide, "#/needs")
    shown(wide.get_by_role("dialog")).to_have_count(0)
    until(lambda: desk.queue("panel")[0].get("heldUntil", "") < time.strftime(
        "%Y-%m-%dT%H:%M:%S.999Z", time.gmtime()), "it is let go")
    desk.api("POST", "messages/cancel", {"ids": [message]})


# The session itself


def check_title_menu(browser, fixture, figures):
    """A session is renamed, gets a project and an agent, and is deleted, from its title."""
    desk = fixture.desk
    desk.send("titled", "waits here")
    desk.api("PUT", "sessions/titled/pause")
    desk.api("PUT", "settings/browserAgents", {"value": "default,codex"})
    desk.api("PUT", "sessions/titled/host", {"device": "this"})
    page = browser.page()
    go(page, "#/s/titled")
    options = page.get_by_role("button", name="Session options")

    def choose(name):
        options.click()
        page.get_by_role("group", name="Session options").get_by_role("button", name=name).click()

    choose("Rename")
    page.get_by_label("Name", exact=True).fill("Another title")
    page.keyboard.press("Enter")
    shown(page.locator("main h1")).to_have_text("Another title")
    page.get_by_role("button", name="Undo").click()
    shown(page.locator("main h1")).to_have_text("titled")
    choose("Project")
    page.get_by_label("Folder").fill("/tmp/shop")
    page.get_by_role("button", name="Set", exact=True).click()
    shown(page.locator(".about")).to_contain_text("/tmp/shop")
    choose("Agent")
    page.get_by_label("What runs its messages here").select_option("codex")
    page.get_by_role("button", name="Set", exact=True).click()
    until(lambda: desk.api("GET", "sessions/titled/agent") | {"sessionName": None} == {"agent": "codex", "own": True, "session": "titled", "sessionName": None}, "it has its agent")
    options.click()
    shown(page.get_by_role("group", name="Session options")).to_be_visible()
    page.keyboard.press("Escape")
    shown(page.get_by_role("group", name="Session options")).to_be_hidden()
    shown(options).to_be_focused()
    desk.api("PUT", "sessions/titled/host", {"device": "laptop"})
    page.get_by_role("button", name="Resume").click()
    choose("Pause with a reason")
    page.get_by_label("Reason").fill("until Monday")
    page.keyboard.press("Enter")
    shown(page.locator(".strip:visible", has_text="Paused")).to_contain_text("(until Monday)")
    choose("Delete")
    shown(page.get_by_role("dialog")).to_contain_text("1 message that waits is cancelled")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(desk.contents("titled") == ["waits here"], "it is gone")
    choose("Delete")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    shown(page.locator("needs-view")).to_be_visible()
    until(lambda: not desk.queue("titled"), "it is deleted")
    shown(page.locator("#toast")).to_contain_text("titled is deleted")
    desk.api("DELETE", "settings/browserAgents")


def check_archive(browser, fixture, figures):
    """A session with nothing to do leaves the lists by its title, and comes back by a message, from there or elsewhere."""
    browser.excused = True  # The daemon refuses to archive a session in which a prompt waits.
    desk = fixture.desk
    desk.send("put-away", "waits here")
    page = browser.page()
    go(page, "#/s/put-away")
    listed = page.locator("#sessions li", has_text="put-away")

    def choose(name):
        page.get_by_role("button", name="Session options").click()
        page.get_by_role("group", name="Session options").get_by_role("button", name=name, exact=True).click()

    def archived():
        return desk.api("GET", "sessions/put-away").get("archived", False)

    choose("Archive")
    shown(page.locator("#toast")).to_contain_text("1 message waits in put-away, so it cannot be archived.")
    shown(page.locator("main h1")).to_have_text("put-away")
    [message] = desk.queue("put-away")
    desk.api("POST", "messages/cancel", {"ids": [message["id"]]})
    shown(page.locator("queue-row")).to_have_count(0)
    choose("Archive")
    shown(page.locator("needs-view")).to_be_visible()
    shown(listed).to_have_count(0)
    expect(archived(), "it is not archived")
    page.get_by_role("button", name="Undo").click()
    shown(listed).to_be_visible()
    desk.api("PUT", "sessions/put-away/archive")
    shown(listed).to_have_count(0)
    # The search and the list of sessions have it.
    page.locator("#inbox-search").fill("put-away")
    shown(page.locator("inbox-line", has_text="Archived")).to_be_visible()
    go(page, "#/sessions")
    page.locator("summary", has_text="Archived").click()
    picture(page, "archived")
    page.locator("details li", has_text="put-away").click()
    shown(page.locator(".about")).to_contain_text("Archived")
    choose("Unarchive")
    shown(listed).to_be_visible()
    shown(page.locator("main h1")).to_have_text("put-away")
    desk.api("PUT", "sessions/put-away/archive")
    shown(listed).to_have_count(0)
    until(lambda: any(each["id"] == "put-away" for each in fixture.laptop.api("GET", "sessions?archived=true")["sessions"]), "the other device has it")
    fixture.laptop.send("put-away", "goes on")
    shown(listed).to_be_visible()
    expect(not archived(), "it is still archived")


def check_new_session(browser, fixture, figures):
    """A new session has a name, a project and a device before its first prompt."""
    desk = fixture.desk
    desk.api("POST", "sessions", {"id": "known", "project": "/tmp/known"})
    page = browser.page()
    shown(page.locator("#sessions li", has_text="known")).to_be_visible()
    page.get_by_role("button", name="New session").click()
    shown(page.get_by_label("Name", exact=True)).to_be_focused()
    page.get_by_label("Name", exact=True).fill("fresh one")
    expect("/tmp/known" in page.locator("datalist option").evaluate_all("all => all.map(each => each.value)"), "the known project is not offered")
    page.get_by_label("Project", exact=True).fill("/tmp/known")
    shown(page.get_by_label("Runs on")).to_have_value(desk.api("GET", "status")["sync"]["device"])
    picture(page, "new-session")
    page.get_by_role("button", name="Create").click()
    shown(page.locator("main h1")).to_have_text("fresh one")
    made = until(lambda: next((each for each in desk.api("GET", "sessions")["sessions"] if each["id"] == "fresh one" and each.get("host")), None), "it is made")
    expect(made["project"] == "/tmp/known", f"its project is {made['project']}")
    shown(page.locator(".past-and-now")).to_contain_text("Nothing has run here yet.")
    # On a phone it is made from the list of sessions.
    phone = browser.page(**PHONE)
    go(phone, "#/sessions")
    phone.locator("main").get_by_role("button", name="New session").tap()
    phone.get_by_label("Name", exact=True).fill("fresh two")
    phone.get_by_label("Runs on").select_option("")
    phone.get_by_role("button", name="Create").tap()
    shown(phone.locator("main h1")).to_have_text("fresh two")
    expect(desk.api("GET", "sessions/fresh%20two").get("host") is None, "it has a device")


# For everybody


def check_conversation_for_everybody(browser, fixture, figures):
    """axe finds nothing in a conversation with a failure, an output, chosen rows and panels, light and dark."""
    desk = fixture.desk
    agent(fixture, r"""case $x in fail*) exit 3;; *) printf '\033[31ma\033[32mb\033[33mc\033[34md\033[35me\033[36mf\033[0m\033[2mg\033[0m\033[41mh\033[0m\033[7mi\033[0m\n'; seq 1 20;; esac""")
    hosted(desk, "all-of-it", "first it works", "fail then")
    until(lambda: desk.queue("all-of-it") and desk.queue("all-of-it")[0]["status"] == "failed", "it fails")
    desk.api("PUT", "settings/agent", {"value": "none"})
    desk.send("all-of-it", "waits\n" * 30)
    desk.send("all-of-it", "waits, too")
    findings = []
    for width, scheme in ((1280, "light"), (1280, "dark"), (375, "light")):
        page = browser.page(viewport={"width": width, "height": 800}, color_scheme=scheme, has_touch=width == 375, reduced_motion="reduce")
        go(page, "#/s/all-of-it")
        shown(turn(page, "first it works")).to_be_visible()
        turn(page, "first it works").get_by_role("button", name="Show all").click()
        page.locator("queue-row.failed").get_by_role("button", name="Output").click()

        def look(name):
            page.wait_for_timeout(50)
            picture(page, f"{name}-{width}-{scheme}")
            page.evaluate(AXE)
            result = page.evaluate("tags => axe.run(document, { runOnly: { type: 'tag', values: tags } })", TAGS)
            findings.extend(f"{name} {width} {scheme}: {each['id']}: {each['help']}: {each['nodes'][0]['html'][:120]}" for each in result["violations"])
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            expect(wide <= 0, f"{name} is {wide} px too wide at {width}")

        look("talk")
        page.get_by_role("button", name="Select", exact=True).click()
        look("talk-select")
        page.get_by_role("button", name="Done", exact=True).click()
        page.get_by_role("button", name="Session options").click()
        look("talk-options")
        page.get_by_role("button", name="Rename").click()
        look("talk-form")
        page.keyboard.press("Escape")
        page.locator("queue-row.queued").first.get_by_role("button", name="Edit").click()
        look("talk-panel")
        page.keyboard.press("Escape")
        page.context.close()
    expect(not findings, "\n".join(sorted(set(findings))))
    desk.api("DELETE", "sessions/all-of-it/queue")
