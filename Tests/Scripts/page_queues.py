"""Actions of a user on queues; see page_test.py."""

import pathlib
import time

from playwright.sync_api import expect as shown

from page_common import go, hold, order, picture, row
from page_conversation import agent, hosted
from page_fixture import expect, until


# Getting in


def check_enter(browser, fixture, figures):
    browser.excused = True
    stranger = browser.page(enter=False)
    address = "http://" + fixture.desk.api("GET", "web")["address"]
    stranger.goto(address)
    shown(stranger.get_by_text("This browser is not signed in")).to_be_visible()
    link = fixture.desk.link()
    page = browser.page(enter=False)
    page.goto(link)
    shown(page.locator("needs-view")).to_be_visible()
    expect("t=" not in page.url, "the ticket stays in the address")
    stranger.goto(link)
    shown(stranger.locator("#banner")).to_contain_text("The link was already used")
    log = fixture.desk.cli("web", "status")
    expect("Chrom" in log, log)


def check_pair(browser, fixture, figures):
    """Both devices are paired: at the machine, since a browser may not say which server the device has."""
    fixture.laptop.cli("pair", fixture.url, fixture.code())
    page = browser.page()
    go(page, "#/devices")
    shown(page.locator("devices-view")).to_contain_text("cospool pair SERVER CODE")
    fixture.desk.cli("pair", fixture.url, fixture.code())
    shown(page.locator("#sync")).to_have_text("in sync")
    shown(page.locator("devices-view")).to_contain_text("laptop")


# Queues


def check_send(browser, fixture, figures):
    page = browser.page()
    go(page, "#/s/review")
    field = page.get_by_label("New message")
    field.fill("Fix the flaky test")
    field.press("Control+Enter")
    shown(row(page, "Fix the flaky test")).to_be_visible()
    until(lambda: fixture.laptop.contents("review") == ["Fix the flaky test"], "the other device has it")
    fixture.laptop.cli("send", "-s", "review", "From the command line")
    shown(row(page, "From the command line")).to_be_visible()
    expect(field.input_value() == "", "the field is not empty")


def check_by_agent(browser, fixture, figures):
    """The page shows who queued it: the user of a device, or an agent there."""
    fixture.desk.send("by-agent", "an agent's idea", byAgent=True)
    fixture.laptop.send("by-agent", "a person's idea")
    page = browser.page()
    go(page, "#/s/by-agent")
    shown(row(page, "an agent's idea").locator(".meta")).to_contain_text("an agent on desk")
    shown(row(page, "a person's idea").locator(".meta")).to_contain_text("laptop")
    shown(row(page, "a person's idea").locator(".meta")).not_to_contain_text("agent")


def check_draft(browser, fixture, figures):
    page = browser.page()
    go(page, "#/s/review")
    page.get_by_label("New message").fill("Half a thought")
    page.reload()
    shown(page.get_by_label("New message")).to_have_value("Half a thought")
    page.get_by_label("New message").press_sequentially(" more")
    until(lambda: "Half a thought more" in fixture.desk.cli("draft", "list"), "the daemon keeps the draft")
    page.get_by_label("New message").fill("")
    until(lambda: "Half" not in fixture.desk.cli("draft", "list"), "the draft is gone")


def check_merge(browser, fixture, figures):
    fixture.desk.send("merge", "Write the test for the login page")
    page = browser.page()
    go(page, "#/s/merge")
    line = page.locator("queue-row")
    line.get_by_role("button", name="Edit").click()
    field = line.get_by_label("Text of the message")
    shown(field).to_be_focused()
    field.press("End")
    field.press_sequentially(", and one for the logout")
    message = fixture.desk.queue("merge")[0]
    until(lambda: fixture.desk.queue("merge")[0].get("heldUntil"), "the message is held")
    fixture.laptop.cli("queue", "edit", message["id"], "Write the failing test for the login page")
    shown(line.locator(".news")).to_contain_text("failing")
    picture(page, "merge")
    line.get_by_role("button", name="Save").click()
    shown(page.locator("#toast")).to_contain_text("merged")
    both = "Write the failing test for the login page, and one for the logout"
    until(lambda: fixture.laptop.contents("merge") == [both], "both changes are in it")
    shown(line.locator(".content").first).to_have_text(both)
    until(lambda: fixture.desk.queue("merge")[0].get("heldUntil", "") < time.strftime(
        "%Y-%m-%dT%H:%M:%S.999Z", time.gmtime()), "it is let go")


def saved_apart(device, session, before, texts):
    """A message whose text was saved several times against one base."""
    device.send(session, before)
    message = device.queue(session)[-1]
    base = device.api("GET", f"messages/{message['id']}")["base"]
    for text in texts:
        device.api("PUT", f"messages/{message['id']}/content", {"content": text, "base": base})
    return message["id"]


def check_versions(browser, fixture, figures):
    """A merged text is shown with the texts that were saved independently, and waits until one is taken."""
    texts = ["Use SQLite for the store", "Use MySQL for the store"]
    saved_apart(fixture.desk, "versions", "Use a file for the store", texts)
    page = browser.page()
    go(page, "#/s/versions")
    line = page.locator("queue-row")
    shown(line.locator(".meta").first).to_contain_text("merged, waits for you")
    shown(line.locator(".version")).to_have_count(2)
    for text, version in zip(texts, line.locator(".version").all()):
        shown(version).to_contain_text(text)
        shown(version).to_contain_text("desk")
    # The words that differ are marked, also for those who see no colour and those who hear the page.
    for word, version in zip(["SQLite", "MySQL"], line.locator(".version").all()):
        shown(version.locator("mark")).to_have_text([word])
        shown(version.locator("mark")).to_have_css("text-decoration-line", "underline")
        said = version.locator("mark").evaluate("each => getComputedStyle(each, '::before').content")
        expect("differs" in said, f"a screen reader hears {said}")
    picture(page, "versions")
    # It needs its user, and can be settled in the list of such requests.
    shown(page.locator("header .sessions a", has_text="versions").locator("small")).to_have_text("merged")
    go(page, "#/needs")
    shown(page.locator("inbox-line[data-session=versions] .tag")).to_have_text("merged text")
    shown(row(page, "for the store").locator(".version")).to_have_count(2)
    picture(page, "versions-needs")
    go(page, "#/s/versions")
    line.get_by_role("button", name="Use the version").nth(1).click()
    shown(line.locator(".content").first).to_have_text(texts[1])
    shown(line.locator(".versions")).to_be_hidden()
    until(lambda: fixture.laptop.contents("versions") == [texts[1]], "the choice is on the other device")
    page.get_by_role("button", name="Undo").click()
    shown(line.locator(".version")).to_have_count(2)
    line.get_by_role("button", name="Use the merged text").click()
    shown(line.locator(".versions")).to_be_hidden()
    expect("merged" not in fixture.desk.queue("versions")[0], "it is not merged any more")


def check_versions_of_a_long_text(browser, fixture, figures):
    """Of long texts the words that differ are marked and in sight, on a phone too; more words are marked as one."""
    lines = "".join(f"{number}. Look at file {number} and say what it does.\n" for number in range(1, 80))
    texts = [lines + "Then delete the old ones.", "Begin here.\n" + lines + "Then keep all."]
    saved_apart(fixture.desk, "long-versions", lines + "Then stop.", texts)
    for name, options in {"wide": {}, "phone": {
            "viewport": {"width": 375, "height": 740}, "has_touch": True, "color_scheme": "dark"}}.items():
        page = browser.page(**options)
        go(page, "#/s/long-versions")
        versions = page.locator("queue-row .version")
        shown(versions.nth(0).locator("mark")).to_have_text(["delete the old ones."])
        shown(versions.nth(1).locator("mark")).to_have_text(["Begin here.", "keep all."])
        for version in versions.all():
            mark, text = version.locator("mark").first.bounding_box(), version.locator("p.content").bounding_box()
            expect(text["y"] <= mark["y"] and mark["y"] + mark["height"] <= text["y"] + text["height"],
                   f"{name}: the first difference at {mark} is out of sight in {text}")
            expect(text["x"] + text["width"] <= page.viewport_size["width"], f"{name}: {text} is too wide")
        versions.first.scroll_into_view_if_needed()
        picture(page, f"versions-long-{name}")
    # Two texts of many words that have nothing in common.
    many = [" ".join(f"{kind}{number}" for number in range(2_000)) for kind in "ab"]
    saved_apart(fixture.desk, "many-versions", "Begin.", [f"Begin. {each} End." for each in many])
    go(page, "#/s/many-versions")
    for text, version in zip(many, page.locator("queue-row .version").all()):
        shown(version.locator("mark")).to_have_text([text])


def check_edit_of_a_gone_message(browser, fixture, figures):
    """A typed text stays if its message leaves the queue, and is queued as a new one."""
    # A hold of a cancelled message is refused.
    browser.excused = True
    message = fixture.desk.send("gone", "one two")
    page = browser.page()
    go(page, "#/s/gone")
    row(page, "one two").get_by_role("button", name="Edit").click()
    field = page.get_by_label("Text of the message")
    field.press("End")
    field.press_sequentially(" three")
    fixture.desk.cli("queue", "cancel", message)
    shown(page.get_by_text("It can no longer be edited")).to_be_visible()
    shown(field).to_have_value("one two three")
    page.get_by_role("button", name="Queue it as a new message").click()
    until(lambda: fixture.desk.contents("gone") == ["one two three"], "it is queued")
    shown(page.locator("queue-row")).to_have_count(1)


def check_reload_in_edit_of_a_gone_message(browser, fixture, figures):
    """The same over a reload, whether it was cancelled, runs, or is done."""
    desk = fixture.desk
    desk.api("PUT", "settings/command", {"value": "sh -c 'read x; case $x in first*) exit 0; esac; sleep 300'"})
    page = browser.page()
    ids = [desk.send("went", f"{name} to change") for name in ("first", "second", "third")]
    go(page, "#/s/went")
    for name in ("first", "second", "third"):
        row(page, name).get_by_role("button", name="Edit").click()
        field = row(page, name).get_by_label("Text of the message")
        field.press("End")
        field.press_sequentially(f" {name}ly")
    address = page.url
    page.goto("about:blank")
    for message in ids:
        desk.api("DELETE", f"messages/{message}/hold")
    desk.api("PUT", "settings/agent", {"value": "command"})
    desk.cli("queue", "cancel", ids[2])
    desk.api("PUT", "sessions/went/host", {"device": "this"})
    until(lambda: [each["status"] for each in desk.queue("went")] == ["running"], "one is done and one runs")
    # As after a crash.
    page.goto(address)
    for name, words in (("first", "done"), ("second", "it runs"), ("third", "cancelled")):
        line = page.locator(f"queue-row[data-id='{ids[('first', 'second', 'third').index(name)]}']")
        shown(line.get_by_label("Text of the message")).to_have_value(f"{name} to change {name}ly")
        shown(line).to_contain_text(f"It can no longer be edited: {words}. Your text is kept.")
    picture(page, "gone")
    page.locator(f"queue-row[data-id='{ids[0]}']").get_by_role("button", name="Queue it as a new message").click()
    until(lambda: "first to change firstly" in desk.contents("went"), "it is queued")
    page.locator(f"queue-row[data-id='{ids[2]}']").get_by_role("button", name="Discard changes").click()
    shown(page.locator("queue-row")).to_have_count(2)
    page.reload()
    shown(page.locator("queue-row")).to_have_count(2)
    desk.api("PUT", "sessions/went/pause")
    desk.api("POST", "sessions/went/stop")
    until(lambda: not any(each["status"] == "running" for each in desk.queue("went")), "it is stopped")
    desk.api("PUT", "settings/agent", {"value": "none"})


def check_reload_in_edit(browser, fixture, figures):
    message = fixture.desk.send("reload", "one two three")
    page = browser.page()
    go(page, "#/s/reload")
    row(page, "one two").get_by_role("button", name="Edit").click()
    field = page.get_by_label("Text of the message")
    field.press("End")
    field.press_sequentially(" four")
    page.reload()
    fixture.desk.cli("queue", "edit", message, "zero one two three")
    shown(field).to_have_value("one two three four")
    shown(page.locator(".news")).to_contain_text("zero")
    page.get_by_role("button", name="Save").click()
    until(lambda: fixture.desk.contents("reload") == ["zero one two three four"], "both changes are in it")


def check_reorder(browser, fixture, figures):
    for name in ("a1", "b2", "c3", "d4"):
        fixture.desk.send("order", name)
    page = browser.page()
    go(page, "#/s/order")
    shown(page.locator("queue-row")).to_have_count(4)
    handle = row(page, "a1").locator(".handle")
    handle.focus()
    handle.press("ArrowDown")
    until(lambda: fixture.desk.contents("order") == ["b2", "a1", "c3", "d4"], "moved down by a key")
    shown(handle).to_be_focused()
    shown(page.locator("#live")).to_have_text("Moved to 2 of 4")
    until(lambda: page.locator("queue-row .handle").all_inner_texts() == ["1", "2", "3", "4"], "each has its place")
    handle.press("End")
    until(lambda: fixture.desk.contents("order")[-1] == "a1", "moved to the end by a key")
    row(page, "d4").get_by_role("button", name="Move up").click()
    until(lambda: fixture.desk.contents("order") == ["b2", "d4", "c3", "a1"], "moved up by a button")
    until(lambda: order(page) == ["b2", "d4", "c3", "a1"], "the page shows it")
    row(page, "a1").locator(".handle").drag_to(row(page, "b2"), target_position={"x": 80, "y": 4})
    until(lambda: fixture.desk.contents("order") == ["a1", "b2", "d4", "c3"], "dragged to the top")
    row(page, "c3").get_by_role("button", name="More").click()
    page.get_by_role("button", name="Make urgent").click()
    until(lambda: fixture.desk.contents("order")[0] == "c3", "urgent goes first")
    browser.excused = True
    page.get_by_role("button", name="Undo").click()
    until(lambda: fixture.desk.contents("order")[0] == "a1", "undone")


def check_cancel(browser, fixture, figures):
    fixture.desk.send("cancel", "not this")
    fixture.desk.send("cancel", "but this")
    page = browser.page()
    go(page, "#/s/cancel")
    row(page, "not this").get_by_role("button", name="More").click()
    page.get_by_role("button", name="Cancel").click()
    shown(row(page, "not this")).to_have_count(0)
    shown(page.locator("#toast")).to_contain_text("Cancelled")
    until(lambda: fixture.laptop.contents("cancel") == ["but this"], "the other device has it")
    page.get_by_role("button", name="Undo").click()
    until(lambda: fixture.laptop.contents("cancel") == ["not this", "but this"], "it is back")
    page.get_by_role("button", name="Pause").click()
    shown(page.get_by_text("Paused: nothing starts")).to_be_visible()
    shown(page.locator("#composer-what")).to_contain_text("paused")
    page.get_by_role("button", name="Resume").click()
    shown(page.get_by_text("Paused: nothing starts")).to_be_hidden()


def check_after_others(browser, fixture, figures):
    """A message says what it waits for, in a session of another device, until that has succeeded."""
    desk, laptop = fixture.desk, fixture.laptop
    built = fixture.folder / "built"
    agent(fixture, f"while [ ! -e '{built}' ]; do sleep .1; done", laptop)
    first, second = (laptop.send("builds", text) for text in ("build it", "build it again"))
    laptop.api("PUT", "sessions/builds/host", {"device": "this"})
    until(lambda: len(desk.queue("builds")) == 2, "the other device knows them")
    desk.send("looks", "look at it", needs=[first])
    desk.send("looks", "look again", needs=[second])
    page = browser.page()
    go(page, "#/s/looks")
    shown(row(page, "look at it")).to_contain_text("waits for “build it” in builds")
    shown(row(page, "look again")).to_contain_text("waits for “build it again” in builds")
    laptop.api("POST", "messages/cancel", {"ids": [second]})
    shown(row(page, "look again")).to_contain_text("waits for “build it again” in builds, which was cancelled")
    built.touch()
    shown(row(page, "look at it")).not_to_contain_text("build it")
    shown(row(page, "look at it")).not_to_contain_text("after another")
    shown(row(page, "look at it").get_by_role("button", name="Start now")).to_be_hidden()
    row(page, "look again").get_by_role("button", name="Start now").click()
    shown(row(page, "look again")).not_to_contain_text("build it")
    laptop.api("PUT", "settings/agent", {"value": "none"})


def check_interrupt(browser, fixture, figures):
    """What runs on another device is stopped for a message; the page says so before it is sent."""
    desk, laptop = fixture.desk, fixture.laptop
    agent(fixture, "case $x in long*) sleep 1000 ;; esac", laptop)
    hosted(laptop, "detour", "long way")
    until(lambda: any(each["status"] == "running" for each in desk.queue("detour")), "it runs")
    desk.send("detour", "long wait")
    page = browser.page(viewport={"width": 360, "height": 740})
    go(page, "#/s/detour")
    choice, words, field = page.locator("#composer-interrupt"), page.locator("#composer-what"), page.get_by_label("New message")
    shown(words).to_have_text("Waits: second in line")
    choice.check()
    shown(words).to_have_text("Stops the running turn, then starts this")
    picture(page, "interrupt-phone")
    desk.send("detour", "long and urgent", priority="urgent")
    shown(words).to_have_text("Stops the running turn, then waits: second in line")
    page.locator("#composer-urgent").check()
    shown(words).to_have_text("Stops the running turn, then starts this")
    field.fill("short cut")
    field.press("Control+Enter")
    until(lambda: [each["content"] for each in desk.queue("detour")] == ["long and urgent", "long wait"], "it ran next")
    until(lambda: desk.queue("detour")[0]["status"] == "running", "the next one runs")
    # The choice was about the turn that has ended.
    shown(choice).not_to_be_checked()
    laptop.api("DELETE", "sessions/detour")
    laptop.api("PUT", "settings/agent", {"value": "none"})


def check_upload(browser, fixture, figures):
    page = browser.page()
    go(page, "#/s/files")
    page.locator("#composer-files").set_input_files(
        {"name": "note.txt", "mimeType": "text/plain", "buffer": b"hello " * 100_000})
    shown(page.get_by_text("note.txt (600 kB)")).to_be_visible()
    until(lambda: page.evaluate("""async () => (await (await import('/storage.js')).storedFiles.get('files.files')).length"""),
          "the file is kept")
    page.reload()
    shown(page.get_by_text("note.txt (600 kB)")).to_be_visible()
    page.get_by_label("New message").fill("Read the file")
    page.get_by_role("button", name="Queue", exact=True).click()
    shown(row(page, "Read the file").get_by_role("button", name="note.txt (600 kB)")).to_be_visible()
    with page.expect_download() as download:
        row(page, "Read the file").get_by_role("button", name="note.txt (600 kB)").click()
    expect(pathlib.Path(download.value.path()).read_bytes() == b"hello " * 100_000, "other bytes came back")
    row(page, "Read the file").get_by_role("button", name="Remove note.txt").click()
    until(lambda: not fixture.desk.queue("files")[0].get("attachments"), "it was taken away")
    # Its answer replaces the text before it.
    shown(page.locator("#toast")).to_contain_text("note.txt was taken away")
    big = fixture.folder / "big.bin"
    big.write_bytes(b"x" * (11 << 20))
    page.locator("#composer-files").set_input_files(big)
    shown(page.locator("#toast")).to_contain_text("larger than 10 MiB")


def check_host_by_keys(browser, fixture, figures):
    """Arrow keys look through the devices; the session runs on the one that is chosen, and on none before."""
    fixture.desk.send("by-keys", "x")
    page = browser.page()
    go(page, "#/s/by-keys")
    shown(row(page, "x")).to_be_visible()
    page.locator("#host").focus()
    for _ in range(2):
        page.keyboard.press("ArrowDown")
        expect(page.locator("#host").input_value() == "", "an arrow chose")
    until(lambda: page.evaluate("document.querySelector('#host').matches(':open')"), "the list is open")
    # What was chosen stays shown, though its event comes later than the answer.
    page.evaluate("""async () => { const { model } = await import('/app.js')
      const take = model.take.bind(model)
      model.take = (name, data) => name === 'session' ? setTimeout(() => take(name, data), 300) : take(name, data)
      const host = document.querySelector('#host')
      // Nor does another event change that, also where devices come.
      host.addEventListener('change', () => {
        take('session', { ...model.sessions.get('by-keys'), waiting: 7 })
        take('sync', { ...model.sync, devices: [...model.sync.devices, { id: 'another', name: 'another' }] })
      })
      window.hosts = []
      new MutationObserver(() => window.hosts.push(host.value)).observe(host, { childList: true }) }""")
    page.keyboard.press("Enter")
    host = until(lambda: fixture.desk.api("GET", "sessions/by-keys").get("host"), "it is chosen")
    until(lambda: page.evaluate("""async () => (await import('/app.js')).model.sessions.get('by-keys').host"""), "its event comes")
    hosts = page.evaluate("[...window.hosts, document.querySelector('#host').value]")
    expect(set(hosts) == {host}, f"it runs on {host}, and the page shows {hosts}")


def check_before_the_event(browser, fixture, figures):
    """What was moved and saved stays shown, whatever happens until its event comes."""
    ids = [fixture.desk.send("early", name) for name in ("a1", "b2", "c3")]
    page = browser.page()
    go(page, "#/s/early")
    shown(page.locator("queue-row")).to_have_count(3)
    hold(page, "messages")
    orders = page.evaluate("""async ([a, b, c]) => { const { model } = await import('/app.js')
      const press = (id, key) => document.querySelector(`[data-id="${id}"] .handle`)
        .dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
      const order = () => [...document.querySelectorAll('queue-row .content')].map(each => each.textContent).join()
      press(a, 'ArrowDown')
      await window.frame()
      const orders = [order()]
      window.take('messages', { session: 'early', changes: [{ change: 'update', at: 2, item: { ...model.message(c) } }] })
      await window.frame()
      orders.push(order())
      while (model.notes.get(a)?.state === 'busy') await window.frame()
      press(c, 'ArrowUp')
      return orders }""", ids)
    expect(orders == ["b2,a1,c3"] * 2, f"the page shows {orders}")
    until(lambda: fixture.desk.contents("early") == ["b2", "c3", "a1"], "both are moved as they were shown")
    page.evaluate("window.release()")
    until(lambda: order(page) == ["b2", "c3", "a1"], "the page shows it")
    line = row(page, "a1")
    line.get_by_role("button", name="Edit").click()
    until(lambda: page.evaluate("async id => (await import('/app.js')).model.message(id).heldUntil", ids[0]), "it is held")
    hold(page, "messages")
    line.get_by_label("Text of the message").fill("another text")
    line.get_by_role("button", name="Save").click()
    shown(page.locator("#toast")).to_contain_text("Saved")
    shown(row(page, "another text")).to_be_visible(timeout=5000)
    shown(row(page, "another text").locator(".meta")).not_to_contain_text("being edited", timeout=5000)
    page.evaluate("window.release()")
    until(lambda: order(page) == ["b2", "c3", "another text"], "the page shows it")


def check_words_of_a_cancel(browser, fixture, figures):
    """That a cancel was too late stays at the row, whatever is asked of the server meanwhile."""
    message = fixture.desk.send("too-late", "let out before")
    page = browser.page()
    go(page, "#/s/too-late")
    page.route("**/messages/cancel", lambda route: route.fulfill(json={"outcomes": [{"id": message, "outcome": "invoked"}]}))
    line = row(page, "let out before")
    line.get_by_role("button", name="More").click()
    page.evaluate("""async () => { const { source } = await import('/app.js')
      source.list = async path => { const answer = await Object.getPrototypeOf(source).list.call(source, path)
        setTimeout(() => (window.read = path))
        return answer } }""")
    page.get_by_role("button", name="Cancel").click()
    until(lambda: page.evaluate("window.read === 'status'"), "the page knows where it is")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    shown(line.locator(".note")).to_contain_text("Too late: it had already started.", timeout=5000)
    shown(line.get_by_role("button", name="Stop the agent")).to_be_visible()


def check_late_status(browser, fixture, figures):
    """An answer that is older than the latest event takes nothing of it back."""
    page = browser.page()
    shown(page.locator("#sync")).to_have_text("in sync")
    page.evaluate("""async () => { const { model } = await import('/app.js')
      const sync = { ...model.sync, synced: false, outgoing: 1 }
      model.take('sync', sync)
      await model.place('a message', { list: async () => {
        model.take('sync', { ...sync, synced: true, outgoing: 0 })
        return { sync } } }) }""")
    shown(page.locator("#sync")).to_have_text("in sync", timeout=5000)


def check_typed_at_once(browser, fixture, figures):
    """A text that was typed before the daemon sent its base is merged after a reload, too."""
    message = fixture.desk.send("at-once", "one two three")
    page = browser.page()
    go(page, "#/s/at-once")
    shown(row(page, "one two")).to_be_visible()
    page.evaluate("""async () => { const { source } = await import('/app.js')
      source.list = async (path, query) => { const answer = await Object.getPrototypeOf(source).list.call(source, path, query)
        if (!path.startsWith('messages/')) return answer
        while (!document.querySelector('.editor textarea').value.endsWith('four')) await new Promise(requestAnimationFrame)
        setTimeout(() => (window.isSaid = true))
        return answer } }""")
    row(page, "one two").get_by_role("button", name="Edit").click()
    field = page.get_by_label("Text of the message")
    field.press("End")
    field.press_sequentially(" four")
    until(lambda: page.evaluate("window.isSaid"), "the daemon said it")
    address = page.url
    page.goto("about:blank")
    fixture.desk.cli("queue", "edit", message, "zero one two three")
    page.goto(address)
    shown(field).to_have_value("one two three four")
    page.get_by_role("button", name="Save").click()
    shown(page.locator("#toast")).to_contain_text("Saved")
    expect(fixture.desk.contents("at-once") == ["zero one two three four"], f"there is {fixture.desk.contents('at-once')}")


def check_edit_left_and_gone_on(browser, fixture, figures):
    """What an edit is made against, said late to one that was left, takes nothing from the one that goes on with it."""
    fixture.desk.send("gone-on", "one")
    page = browser.page()
    go(page, "#/s/gone-on")
    held = []
    page.route("**/v1/messages/*", lambda route: held.append(route))
    row(page, "one").get_by_role("button", name="Edit").click()
    until(lambda: held or page.wait_for_timeout(20), "it is asked for")
    field = page.get_by_label("Text of the message")
    field.fill("one two")
    for place in ("#/needs", "#/s/gone-on"):
        go(page, place)
        shown(page.locator("needs-view" if place == "#/needs" else "session-view")).to_be_visible()
    shown(field).to_have_value("one two")
    field.fill("one two three")
    with page.expect_event("requestfinished", lambda request: "/v1/messages/" in request.url):
        held[0].continue_()
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.reload()
    shown(field).to_have_value("one two three", timeout=5000)


def check_notice_long_ago(browser, fixture, figures):
    """A notice's button returns the focus to the place that had it, and not to the one of an earlier notice."""
    page = browser.page()
    go(page, "#/s/long-ago")
    field = page.get_by_label("New message")
    field.focus()
    notice = "async () => (await import('/dom.js')).toast('Said', { label: 'Well', run() {} })"
    page.evaluate(notice)
    page.get_by_role("button", name="Well").click()
    shown(field).to_be_focused()
    page.evaluate("document.activeElement.blur()")
    page.evaluate(notice)
    page.get_by_role("button", name="Well").click()
    shown(field).not_to_be_focused(timeout=5000)


def check_go_on_elsewhere(browser, fixture, figures):
    """A user who writes elsewhere while a text is saved keeps the focus there."""
    fixture.desk.send("onward", "one two three")
    page = browser.page()
    go(page, "#/s/onward")
    line = row(page, "one two")
    line.get_by_role("button", name="Edit").click()
    line.get_by_label("Text of the message").fill("one two three four")
    held = []
    page.route("**/content", lambda route: held.append(route))
    line.get_by_role("button", name="Save").click()
    until(lambda: held or page.wait_for_timeout(20), "it is on its way")
    composer = page.get_by_label("New message")
    composer.focus()
    page.keyboard.type("and ")
    held[0].continue_()
    shown(page.locator("#toast")).to_contain_text("Saved")
    page.keyboard.type("more")
    shown(composer).to_have_value("and more", timeout=5000)
    shown(composer).to_be_focused()
    composer.fill("")


FILE = """(name) => { const files = new DataTransfer()
  files.items.add(new File(['picture ' + name], name, { type: 'image/png' })); return files }"""


def check_paste_and_drop(browser, fixture, figures):
    """Files come by paste and by drop; a file that is dropped elsewhere does not replace the page."""
    page = browser.page()
    go(page, "#/s/pasted")
    field = page.get_by_label("New message")
    field.fill("Look at both")
    expect(field.evaluate(f"""field => !field.dispatchEvent(new ClipboardEvent('paste', {{
      clipboardData: ({FILE})('pasted.png'), bubbles: true, cancelable: true }}))"""), "the browser pastes, too")
    shown(page.get_by_text("pasted.png (18 B)")).to_be_visible()
    expect(field.evaluate("""field => field.dispatchEvent(new ClipboardEvent('paste', {
      clipboardData: new DataTransfer(), bubbles: true, cancelable: true }))"""), "a pasted text is kept from the field")
    # Anywhere in the session's view.
    drop = f"""(at, name) => ['dragover', 'drop'].map(kind => !at.dispatchEvent(new DragEvent(kind, {{
      dataTransfer: ({FILE})(name), bubbles: true, cancelable: true }})))"""
    for at, name in ((field, "dropped.png"), (page.locator("main h1"), "beside.png")):
        expect(at.evaluate(drop, name) == [True, True], "the browser opens the file")
        shown(page.get_by_text(f"{name} (")).to_be_visible()
    page.get_by_role("button", name="Remove beside.png").click()
    shown(page.get_by_text("beside.png")).to_have_count(0)
    shown(field).to_be_focused()
    page.get_by_role("button", name="Queue", exact=True).click()
    until(lambda: sorted(file["name"] for file in (fixture.desk.queue("pasted") or [{}])[0].get("attachments", []))
          == ["dropped.png", "pasted.png"], "both go with the message")
    go(page, "#/needs")
    shown(page.locator("needs-view")).to_be_visible()
    expect(page.locator("main").evaluate(drop, "stray.png") == [True, True], "the browser opens the file")


def check_camera(browser, fixture, figures):
    """On a device that is touched, a picture is taken with its camera."""
    page = browser.page()
    go(page, "#/s/camera")
    shown(page.get_by_role("button", name="Add files")).to_be_visible()
    shown(page.get_by_role("button", name="Take a picture")).to_be_hidden()
    phone = browser.page(viewport={"width": 375, "height": 740}, has_touch=True)
    go(phone, "#/s/camera")
    with phone.expect_file_chooser() as chooser:
        phone.get_by_role("button", name="Take a picture").tap()
    asked = chooser.value.element.evaluate("input => [input.accept, input.getAttribute('capture')]")
    expect(asked == ["image/*", "environment"], f"the browser is asked for {asked}")
    chooser.value.set_files({"name": "image.jpg", "mimeType": "image/jpeg", "buffer": b"a picture"})
    shown(phone.get_by_text("image.jpg (9 B)")).to_be_visible()
    phone.get_by_label("New message").fill("What is this?")
    phone.get_by_role("button", name="Queue", exact=True).tap()
    until(lambda: [file["name"] for file in (fixture.desk.queue("camera") or [{}])[0].get("attachments", [])]
          == ["image.jpg"], "it goes with the message")


def check_upload_bar(browser, fixture, figures):
    """On a slow line the bar grows while files go up, and disappears when they have arrived; a row shows the part."""
    page = browser.page()
    go(page, "#/s/slow")
    fixture.desk.send("slow", "a row")
    shown(row(page, "a row")).to_be_visible()
    page.evaluate("""() => { window.parts = []; new MutationObserver(() => {
        const bar = document.querySelector('queue-composer progress')
        if (bar.checkVisibility()) window.parts.push(bar.value)
        const told = /(\\d+) % uploaded/.exec(document.querySelector('queue-row .note').textContent)
        if (told) window.parts.push(Number(told[1]))
      }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true }) }""")
    line_speed = page.context.new_cdp_session(page)
    file = {"name": "note.txt", "mimeType": "text/plain", "buffer": b"hello " * 200_000}

    def speed(bytes):
        line_speed.send("Network.emulateNetworkConditions", {
            "offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": bytes})

    def grows(what):
        """However seldom the page is drawn, it shows a slow line's progress as long as the transfer takes."""
        until(lambda: len(set(page.evaluate("window.parts"))) >= 3, f"{what} grows")
        speed(-1)

    def grown(what):
        parts = page.evaluate("window.parts.splice(0)")
        expect(parts == sorted(parts), f"{what}: {parts}")

    speed(100_000)
    page.locator("#composer-files").set_input_files(file)
    page.get_by_label("New message").fill("Read the file")
    page.get_by_role("button", name="Queue", exact=True).click()
    bar = page.get_by_role("progressbar", name="Upload")
    shown(bar).to_be_visible()
    picture(page, "upload")
    grows("the bar")
    shown(row(page, "Read the file").get_by_role("button", name="note.txt (1.2 MB)")).to_be_visible()
    shown(bar).to_be_hidden()
    grown("the bar")
    speed(100_000)
    row(page, "a row").get_by_role("button", name="More").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach a file").click()
    chooser.value.set_files({**file, "buffer": b"other " * 200_000})
    grows("the row")
    shown(row(page, "a row").get_by_role("button", name="note.txt (1.2 MB)")).to_be_visible()
    shown(row(page, "a row").locator(".note")).to_be_hidden()
    grown("the row")


def check_focus_stays(browser, fixture, figures):
    """An element that is drawn again keeps the focus; one that disappears gives it to the next one."""
    browser.excused = True
    page = browser.page()
    go(page, "#/s/focus")
    message = fixture.desk.send("focus", "with files")
    for name, data in (("one.txt", "aGVsbG8="), ("two.txt", "d29ybGQ=")):
        fixture.desk.api("POST", f"messages/{message}/attachments", {"name": name, "data": data})
    line = row(page, "with files")
    file = line.get_by_role("button", name="two.txt (5 B)")
    file.focus()
    fixture.desk.api("PUT", f"messages/{message}/priority", {"priority": "urgent"})
    shown(line.locator(".meta")).to_contain_text("urgent")
    shown(file).to_be_focused()
    line.get_by_role("button", name="Remove one.txt").focus()
    page.keyboard.press("Enter")
    shown(line.get_by_role("button", name="one.txt")).to_have_count(0)
    shown(line.get_by_role("button", name="More")).to_be_focused()
    page.keyboard.press("Enter")
    line.get_by_role("button", name="Make normal").focus()
    with page.expect_response("**/priority") as response:
        page.keyboard.press("Enter")
    shown(line.locator(".meta")).not_to_contain_text("urgent")
    shown(line.get_by_role("button", name="More")).to_be_focused()
    # Its answer may come behind its event.
    shown(page.locator("#toast")).to_contain_text("“with files” is normal again")
    undo = page.get_by_role("button", name="Undo")
    undo.focus()
    page.evaluate("async change => (await import('/app.js')).offerUndo('Said again', change)", response.value.json()["change"])
    shown(page.locator("#toast")).to_contain_text("Said again")
    shown(undo).to_be_focused(timeout=5000)
    page.keyboard.press("Enter")
    shown(line.locator(".meta")).to_contain_text("urgent")
    shown(line.get_by_role("button", name="More")).to_be_focused()
    # A note with its buttons.
    fixture.desk.api("PUT", "settings/maxQueueSize", {"value": 1})
    try:
        page.get_by_label("New message").fill("one too many")
        page.get_by_label("New message").press("Control+Enter")
        full = row(page, "one too many")
        again = full.get_by_role("button", name="Try again")
        shown(again).to_be_visible()
        again.focus()
        page.evaluate("""async () => { const { model } = await import('/app.js')
          for (const each of document.querySelectorAll('queue-row')) each.age = 'another'
          model.touch() }""")
        shown(again).to_be_focused()
        page.keyboard.press("Enter")
        shown(full.locator(".note.error")).to_be_visible()
        shown(full.get_by_role("button", name="More")).to_be_focused()
        full.get_by_role("button", name="Dismiss").focus()
        page.keyboard.press("Enter")
        shown(full.locator(".note")).to_be_hidden()
        shown(full.get_by_role("button", name="More")).to_be_focused()
    finally:
        fixture.desk.api("PUT", "settings/maxQueueSize", {"value": 1000})


def check_two_pages(browser, fixture, figures):
    first, second = browser.page(), browser.page(fixture.desk)
    for page in (first, second):
        go(page, "#/s/two")
    first.get_by_label("New message").fill("seen by both")
    first.get_by_label("New message").press("Control+Enter")
    shown(row(second, "seen by both")).to_be_visible()
    row(second, "seen by both").get_by_role("button", name="More").click()
    second.get_by_role("button", name="Cancel").click()
    shown(row(first, "seen by both")).to_have_count(0)


def check_two_tabs_one_draft(browser, fixture, figures):
    """Two tabs of a browser in one session: text that is typed in one appears in the other, and none of it is lost."""
    first = browser.page()
    go(first, "#/s/tabs")
    second = first.context.new_page()
    browser.watch(second)
    second.goto(first.url)
    shown(second.locator("#sync")).to_have_text("in sync")
    one, two = (page.get_by_label("New message") for page in (first, second))
    one.fill("typed in the first")
    shown(two).to_have_value("typed in the first")
    two.press("End")
    two.press_sequentially(", and in the second")
    shown(one).to_have_value("typed in the first, and in the second")
    first.reload()
    shown(one).to_have_value("typed in the first, and in the second")
    two.press("Control+Enter")
    shown(one).to_have_value("")
    until(lambda: fixture.desk.contents("tabs") == ["typed in the first, and in the second"], "it is sent once")
