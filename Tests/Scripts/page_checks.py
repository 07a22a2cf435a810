"""What a person does with the page, check by check; see page_test.py."""

import os
import pathlib
import statistics
import time

import axe_core_python
from playwright.sync_api import expect as shown

from page_house import expect, until

AXE = (pathlib.Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def go(page, place):
    page.evaluate("place => { location.hash = place }", place)


def row(page, text):
    return page.locator("queue-row", has_text=text)


def order(page):
    return page.locator("queue-row .content").all_inner_texts()


def p99(values):
    return round(statistics.quantiles(values, n=100)[98], 1) if len(values) > 1 else values[0]


def picture(page, name):
    folder = os.environ.get("SHOTS")
    if folder:
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=pathlib.Path(folder) / f"{name}.png")


# Getting in


def check_enter(browser, house, figures):
    browser.excused = True
    stranger = browser.page(enter=False)
    address = "http://" + house.desk.api("GET", "web")["address"]
    stranger.goto(address)
    shown(stranger.get_by_text("This browser may not look")).to_be_visible()
    link = house.desk.link()
    page = browser.page(enter=False)
    page.goto(link)
    shown(page.locator("needs-view")).to_be_visible()
    expect("t=" not in page.url, "the ticket stays in the address")
    stranger.goto(link)
    shown(stranger.get_by_text("The link was used already")).to_be_visible()
    log = house.desk.cli("web", "status")
    expect("Chrom" in log, log)


def check_pair(browser, house, figures):
    """Both devices are paired, one of them by the page."""
    house.laptop.cli("pair", house.url, house.code())
    page = browser.page()
    go(page, "#/devices")
    page.get_by_label("Server").fill(house.url)
    browser.excused = True
    page.get_by_label("Code").fill("0000-0000")
    page.get_by_role("button", name="Pair").click()
    shown(page.locator("form .note.error")).to_be_visible()
    browser.excused = False
    page.get_by_label("Code").fill(house.code())
    page.get_by_role("button", name="Pair").click()
    shown(page.locator("#sync")).to_have_text("in sync")
    shown(page.locator("devices-view")).to_contain_text("laptop")


# Queues


def check_send(browser, house, figures):
    page = browser.page()
    go(page, "#/s/review")
    field = page.get_by_label("New message")
    field.fill("Fix the flaky test")
    field.press("Control+Enter")
    shown(row(page, "Fix the flaky test")).to_be_visible()
    until(lambda: house.laptop.contents("review") == ["Fix the flaky test"], "the other device has it")
    house.laptop.cli("send", "-s", "review", "From the command line")
    shown(row(page, "From the command line")).to_be_visible()
    expect(field.input_value() == "", "the field is not empty")


def check_draft(browser, house, figures):
    page = browser.page()
    go(page, "#/s/review")
    page.get_by_label("New message").fill("Half a thought")
    page.reload()
    shown(page.get_by_label("New message")).to_have_value("Half a thought")
    page.get_by_label("New message").press_sequentially(" more")
    until(lambda: "Half a thought more" in house.desk.cli("draft", "list"), "the daemon keeps the draft")
    page.get_by_label("New message").fill("")
    until(lambda: "Half" not in house.desk.cli("draft", "list"), "the draft is gone")


def check_merge(browser, house, figures):
    house.desk.send("merge", "Write the test for the login page")
    page = browser.page()
    go(page, "#/s/merge")
    line = page.locator("queue-row")
    line.get_by_role("button", name="Edit").click()
    field = line.get_by_label("Text of the message")
    shown(field).to_be_focused()
    field.press("End")
    field.press_sequentially(", and one for the logout")
    message = house.desk.queue("merge")[0]
    until(lambda: house.desk.queue("merge")[0].get("heldUntil"), "the message is held")
    house.laptop.cli("queue", "edit", message["id"], "Write the failing test for the login page")
    shown(line.locator(".news")).to_contain_text("failing")
    picture(page, "merge")
    line.get_by_role("button", name="Save").click()
    shown(page.locator("#toast")).to_contain_text("merged")
    both = "Write the failing test for the login page, and one for the logout"
    until(lambda: house.laptop.contents("merge") == [both], "both changes are in it")
    shown(line.locator(".content")).to_have_text(both)
    until(lambda: "heldUntil" not in house.desk.queue("merge")[0]
          or house.desk.queue("merge")[0]["heldUntil"] < time.strftime("%Y-%m-%dT%H:%M:%S.999Z", time.gmtime()),
          "it is let go")


def check_reload_in_edit(browser, house, figures):
    message = house.desk.send("reload", "one two three")
    page = browser.page()
    go(page, "#/s/reload")
    row(page, "one two").get_by_role("button", name="Edit").click()
    field = page.get_by_label("Text of the message")
    field.press("End")
    field.press_sequentially(" four")
    page.reload()
    house.desk.cli("queue", "edit", message, "zero one two three")
    shown(field).to_have_value("one two three four")
    shown(page.locator(".news")).to_contain_text("zero")
    page.get_by_role("button", name="Save").click()
    until(lambda: house.desk.contents("reload") == ["zero one two three four"], "both changes are in it")


def check_reorder(browser, house, figures):
    for name in ("a1", "b2", "c3", "d4"):
        house.desk.send("order", name)
    page = browser.page()
    go(page, "#/s/order")
    shown(page.locator("queue-row")).to_have_count(4)
    handle = row(page, "a1").locator(".handle")
    handle.focus()
    handle.press("ArrowDown")
    until(lambda: house.desk.contents("order") == ["b2", "a1", "c3", "d4"], "moved down by a key")
    shown(handle).to_be_focused()
    shown(page.locator("#live")).to_have_text("Moved to 2 of 4")
    handle.press("End")
    until(lambda: house.desk.contents("order")[-1] == "a1", "moved to the end by a key")
    row(page, "d4").get_by_role("button", name="Move up").click()
    until(lambda: house.desk.contents("order") == ["b2", "d4", "c3", "a1"], "moved up by a button")
    until(lambda: order(page) == ["b2", "d4", "c3", "a1"], "the page shows it")
    row(page, "a1").locator(".handle").drag_to(row(page, "b2"), target_position={"x": 80, "y": 4})
    until(lambda: house.desk.contents("order") == ["a1", "b2", "d4", "c3"], "dragged to the top")
    row(page, "c3").get_by_role("button", name="More").click()
    page.get_by_role("button", name="Make urgent").click()
    until(lambda: house.desk.contents("order")[0] == "c3", "urgent goes first")
    browser.excused = True
    page.get_by_role("button", name="Undo").click()
    until(lambda: house.desk.contents("order")[0] == "a1", "undone")


def check_cancel(browser, house, figures):
    house.desk.send("cancel", "not this")
    house.desk.send("cancel", "but this")
    page = browser.page()
    go(page, "#/s/cancel")
    row(page, "not this").get_by_role("button", name="More").click()
    page.get_by_role("button", name="Cancel").click()
    shown(row(page, "not this")).to_have_count(0)
    shown(page.locator("#toast")).to_contain_text("Cancelled")
    until(lambda: house.laptop.contents("cancel") == ["but this"], "the other device has it")
    page.get_by_role("button", name="Undo").click()
    until(lambda: house.laptop.contents("cancel") == ["not this", "but this"], "it is back")
    page.get_by_role("button", name="Pause").click()
    shown(page.get_by_text("Paused: nothing starts")).to_be_visible()
    shown(page.locator("#composer-what")).to_contain_text("paused")
    page.get_by_role("button", name="Resume").click()
    shown(page.get_by_text("Paused: nothing starts")).to_be_hidden()


def check_upload(browser, house, figures):
    page = browser.page()
    go(page, "#/s/files")
    page.locator("#composer-files").set_input_files(
        {"name": "note.txt", "mimeType": "text/plain", "buffer": b"hello " * 100_000})
    shown(page.get_by_text("note.txt (600 kB)")).to_be_visible()
    until(lambda: page.evaluate("""async () => (await (await import('/shelf.js')).shelf.get('files.files')).length"""),
          "the file is kept")
    page.reload()
    shown(page.get_by_text("note.txt (600 kB)")).to_be_visible()
    page.get_by_label("New message").fill("Read the file")
    page.get_by_role("button", name="Queue", exact=True).click()
    shown(row(page, "Read the file").get_by_role("button", name="note.txt (600 kB)")).to_be_visible()
    with page.expect_download() as download:
        row(page, "Read the file").get_by_role("button", name="note.txt (600 kB)").click()
    expect(pathlib.Path(download.value.path()).read_bytes() == b"hello " * 100_000, "other bytes came back")
    row(page, "Read the file").get_by_role("button", name="Take note.txt away").click()
    until(lambda: not house.desk.queue("files")[0].get("attachments"), "it was taken away")
    big = house.folder / "big.bin"
    big.write_bytes(b"x" * (11 << 20))
    page.locator("#composer-files").set_input_files(big)
    shown(page.locator("#toast")).to_contain_text("larger than 10 MiB")


def check_two_pages(browser, house, figures):
    first, second = browser.page(), browser.page(house.desk)
    for page in (first, second):
        go(page, "#/s/two")
    first.get_by_label("New message").fill("seen by both")
    first.get_by_label("New message").press("Control+Enter")
    shown(row(second, "seen by both")).to_be_visible()
    row(second, "seen by both").get_by_role("button", name="More").click()
    second.get_by_role("button", name="Cancel").click()
    shown(row(first, "seen by both")).to_have_count(0)


# What needs a person


def check_requests(browser, house, figures):
    page = browser.page()
    _, allowed = house.desk.ask("ask-a", kind="approval", toolName="Bash", summary="git push origin main")
    shown(page.locator("request-card")).to_contain_text("git push origin main")
    picture(page, "approval")
    page.get_by_role("button", name="Allow").click()
    until(lambda: allowed.get("ending") == "allowed", "allowed")
    shown(page.locator("request-card")).to_contain_text("Allowed by you")

    thread, denied = house.laptop.ask("ask-b", kind="approval", toolName="Write", summary="schema.sql")
    card = page.locator("request-card", has_text="schema.sql")
    card.get_by_label("Words to deny with").fill("Make a migration instead")
    card.get_by_role("button", name="Deny").click()
    until(lambda: denied.get("ending") == "denied", "denied")
    expect(denied["text"] == "Make a migration instead", f"the words are {denied}")

    _, answered = house.desk.ask("ask-c", kind="question", question="Which one?", options=["left", "right"])
    page.get_by_role("button", name="right").click()
    until(lambda: answered.get("ending") == "answered", "answered")
    expect(answered["text"] == "right", f"the answer is {answered}")

    thread, lost = house.desk.ask("ask-d", kind="approval", toolName="Bash", summary="make deploy")
    shown(page.locator("request-card", has_text="make deploy")).to_be_visible()
    until(lambda: any(each["sessionId"] == "ask-d" and each.get("request")
                      for each in house.laptop.api("GET", "tasks")["tasks"]), "the other device knows")
    house.laptop.cli("approve", "ask-d")
    shown(page.locator("request-card", has_text="make deploy")).to_contain_text("Allowed by laptop")

    _, keyed = house.desk.ask("ask-e", kind="approval", toolName="Bash", summary="ls -l")
    card = page.locator("request-card", has_text="ls -l")
    shown(card).to_be_visible()
    card.get_by_role("button", name="Allow").focus()
    page.keyboard.press("a")
    until(lambda: keyed.get("ending") == "allowed", "allowed by a key")

    # Two subagents ask at once: both are shown, and the second is answered first.
    _, one = house.desk.ask("ask-f", kind="approval", toolName="Bash", summary="first of two")
    _, two = house.desk.ask("ask-f", kind="approval", toolName="Bash", summary="second of two")
    (first, second) = (page.locator("request-card", has_text=f"{each} of two") for each in ("first", "second"))
    shown(first).to_be_visible()
    second.get_by_role("button", name="Deny").click()
    until(lambda: two.get("ending") == "denied", "the second is denied")
    expect("ending" not in one, f"the first is {one}")
    shown(second).to_contain_text("Denied by you")
    first.get_by_role("button", name="Allow").click()
    until(lambda: one.get("ending") == "allowed", "the first is allowed")


def check_approval_time(browser, house, figures):
    page = browser.page()
    go(page, "#/s/clock")
    times = []
    for number in range(30):
        thread, answer = house.desk.ask("clock", kind="approval", toolName="Bash", summary=f"step {number}")
        shown(page.locator("request-card:not(.over) .what")).to_have_text(f"step {number}")
        pressed = page.evaluate(
            """() => { const button = document.querySelector('request-card:not(.over) [data-verdict=allowed]');
              const at = performance.timeOrigin + performance.now(); button.click(); return at }""")
        thread.join(20)
        times.append(answer["at"] * 1000 - pressed)
    figures["approval in the page to the agent, p99 ms"] = p99(times)
    figures["approval in the page to the agent, median ms"] = round(statistics.median(times), 1)


def check_threads(browser, house, figures):
    page = browser.page()
    house.desk.api("DELETE", "threads")
    for name in ("red", "green", "blue"):
        house.desk.send(name, "x")
        house.desk.api("DELETE", f"threads/{name}/lock")
    threads = page.locator("needs-view section:not([hidden]) li.thread")
    shown(threads).to_have_count(3)
    names = lambda: [t["session"] for t in house.desk.api("GET", "threads")["threads"]]
    page.get_by_role("button", name="Move up: green").click()
    until(lambda: names() == ["green", "red", "blue"], "moved")
    page.get_by_role("button", name="To the end, and lock until its agent is done: green").click()
    until(lambda: names() == ["red", "blue", "green"], "requeued")
    page.get_by_role("button", name="Unlock: green").click()
    until(lambda: not house.desk.api("GET", "threads/green")["locked"], "unlocked")
    page.get_by_role("button", name="Take out: blue").click()
    until(lambda: names() == ["red", "green"], "taken out")


def check_running(browser, house, figures):
    desk = house.desk
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
    # It says why; nothing that a person presses is without an answer.
    line.get_by_role("button", name="Edit").click(force=True)
    shown(page.locator("#toast")).to_contain_text("It runs already")
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
    shown(line).to_contain_text("run · failed")
    line.get_by_role("button", name="Try again").click()
    until(lambda: any(message.get("attempts", 0) >= 2 for message in desk.queue("run")), "it is tried again")
    shown(line).to_contain_text("2 attempts")
    line.get_by_role("button", name="Go on without it").click()
    shown(line).to_have_count(0)
    desk.api("PUT", "settings/agent", {"value": "none"})


def check_cancel_against_start(browser, house, figures):
    """A cancel on a device without a connection, while another device starts the message."""
    desk, laptop = house.desk, house.laptop
    laptop.api("PUT", "settings/command", {"value": "sleep 300"})
    laptop.api("PUT", "settings/agent", {"value": "command"})
    desk.api("POST", "sessions", {"id": "race"})
    desk.api("PUT", "sessions/race/pause")
    desk.api("PUT", "sessions/race/host", {"device": "laptop"})
    desk.send("race", "started elsewhere")
    until(lambda: laptop.contents("race"), "the host has it")
    page = browser.page()
    go(page, "#/s/race")
    shown(row(page, "started elsewhere")).to_be_visible()
    desk.api("PUT", "sync", {"enabled": False})
    laptop.api("DELETE", "sessions/race/pause")
    until(lambda: laptop.queue("race")[0]["status"] == "running", "the host started it")
    row(page, "started elsewhere").get_by_role("button", name="More").click()
    page.get_by_role("button", name="Cancel").click()
    shown(page.locator("#toast")).to_contain_text("nobody said yet")
    desk.api("PUT", "sync", {"enabled": True})
    line = row(page, "started elsewhere")
    shown(page.locator("queue-row.running")).to_be_visible()
    line.get_by_role("button", name="More").click()
    line.get_by_role("button", name="Stop the agent").click(force=True)
    shown(page.locator("#toast")).to_contain_text("runs on laptop")
    laptop.api("POST", "sessions/race/stop")
    shown(page.locator("queue-row.running")).to_have_count(0)
    laptop.api("PUT", "settings/agent", {"value": "none"})


# ConnectionProblem


def check_daemon_away(browser, house, figures):
    browser.excused = True
    page = browser.page()
    go(page, "#/s/away")
    page.get_by_label("New message").fill("before")
    page.get_by_label("New message").press("Control+Enter")
    shown(row(page, "before")).to_be_visible()
    house.desk.stop()
    shown(page.locator("#banner")).to_contain_text("does not answer")
    page.get_by_label("New message").fill("typed without a daemon")
    page.get_by_label("New message").press("Control+Enter")
    shown(row(page, "typed without a daemon")).to_be_visible()
    page.locator("#composer-files").set_input_files(
        {"name": "plan.txt", "mimeType": "text/plain", "buffer": b"a plan"})
    page.get_by_label("New message").fill("with a file, without a daemon")
    page.get_by_label("New message").press("Control+Enter")
    shown(row(page, "with a file, without a daemon")).to_be_visible()
    # Also over a reload of the page, which the daemon cannot serve now: only what is stored counts.
    stored = page.evaluate("localStorage.getItem('cospool.sending')")
    expect("typed without a daemon" in stored, "it is not kept")
    until(lambda: page.evaluate("""async () => {
      const [[, message]] = await (await import('/shelf.js')).shelf.get('sending')
      return message.attachments[0].name === 'plan.txt' }"""), "the file is not kept")
    # As after a crash: another page of this browser finds all of it.
    page.goto("about:blank")
    house.desk.start()
    address = until(lambda: house.desk.api("GET", "web").get("address"), "the page is served")
    page.goto(f"http://{address}/#/s/away")
    shown(row(page, "with a file, without a daemon").get_by_role("button", name="plan.txt (6 B)")).to_be_visible()
    until(lambda: house.desk.contents("away")
          == ["before", "typed without a daemon", "with a file, without a daemon"],
          "all came once, in their order")
    shown(page.locator("queue-row.sending")).to_have_count(0)


def check_server_away(browser, house, figures):
    page = browser.page()
    go(page, "#/s/offline")
    house.server.stop()
    shown(page.locator("#sync")).to_contain_text("no connection")
    page.get_by_label("New message").fill("offline work")
    page.get_by_label("New message").press("Control+Enter")
    shown(row(page, "offline work").locator(".note")).to_have_text("on this device, not on the server yet")
    shown(page.locator("#sync")).to_contain_text("on this device only")
    # Also to a page that was not there, and to the command line.
    page.reload()
    shown(row(page, "offline work").locator(".meta")).to_contain_text("on this device only")
    expect("[on this device only] offline work" in house.desk.cli("queue", "list", "-s", "offline"),
           "the command line does not say where it is")
    house.start_server()
    house.desk.api("POST", "sync/now")
    shown(page.locator("#sync")).to_have_text("in sync")
    shown(row(page, "offline work").locator(".note")).to_be_hidden()
    shown(row(page, "offline work").locator(".meta")).to_contain_text("on the server")
    expect(house.desk.api("GET", "messages/unsent")["messages"] == [], "something is unsent")
    until(lambda: house.laptop.contents("offline") == ["offline work"], "the other device has it")


def check_revoked(browser, house, figures):
    browser.excused = True
    page = browser.page()
    go(page, "#/s/review")
    page.get_by_label("New message").fill("typed before the end")
    current = next(each for each in house.desk.api("GET", "web")["browsers"])
    house.desk.cli("web", "revoke", current["id"])
    shown(page.get_by_text("This browser may not look")).to_be_visible()
    page.goto(house.desk.link())
    go(page, "#/s/review")
    shown(page.get_by_label("New message")).to_have_value("typed before the end")
    page.get_by_label("New message").fill("")


def check_full_queue(browser, house, figures):
    browser.excused = True
    house.desk.api("PUT", "settings/maxQueueSize", {"value": 1000})
    page = browser.page()
    go(page, "#/s/" + "x" * 200)
    page.get_by_label("New message").fill("a session that cannot be")
    page.get_by_label("New message").press("Control+Enter")
    shown(page.locator("queue-row .note.error")).to_contain_text("128")
    shown(row(page, "a session that cannot be")).to_be_visible()
    page.locator("queue-row").get_by_role("button", name="More").click()
    page.get_by_role("button", name="Discard").click()
    shown(page.locator("queue-row")).to_have_count(0)


# Size and speed


def check_many_rows(browser, house, figures):
    page = browser.page()
    messages = [{"id": f"00000000-0000-4000-8000-{number:012x}", "content": f"message {number} " + "word " * 20,
                 "priority": "normal", "createdAt": 1_700_000_000_000 + number} for number in range(990)]
    house.desk.api("POST", "import", {
        "format": "cospool-workspace", "version": 1, "threads": [], "sessions": [
            {"id": "many", "pauses": [], "locked": False, "messages": messages, "cancelled": []}]})
    until(lambda: len(house.desk.queue("many")) == 990, "they are there")
    page.evaluate("""() => { window.longest = 0; new PerformanceObserver(list => {
        for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration)
      }).observe({ type: 'longtask' }) }""")
    go(page, "#/s/many")
    shown(page.locator("queue-row")).to_have_count(990)
    figures["opening 990 rows, longest task ms"] = round(page.evaluate("window.longest"))
    page.evaluate("""() => { window.longest = 0; window.seen = new Map(); new MutationObserver(() => {
        for (const each of document.querySelectorAll('queue-row .content')) {
          const text = each.textContent
          if (text.startsWith('event ') && !window.seen.has(text)) {
            window.seen.set(text, performance.timeOrigin + performance.now())
          }
        } }).observe(document.body, { subtree: true, childList: true, characterData: true }) }""")
    first = messages[0]["id"]
    times, shares = [], []
    stream = house.desk.watch()
    for number in range(100):
        begin = time.time() * 1000
        house.desk.api("PUT", f"messages/{first}/content", {"content": f"event {number}."})
        seen = until(lambda: page.evaluate("text => window.seen.get(text)", f"event {number}."), "it is shown")
        times.append(seen - begin)
        shares.append(seen - until(lambda: stream.get(f"event {number}."), "it is in the stream"))
    figures["command sent until shown among 990 rows, p99 ms"] = p99(times)
    figures["event on the stream until shown among 990 rows, median ms"] = round(statistics.median(shares), 1)
    figures["event on the stream until shown among 990 rows, p99 ms"] = p99(shares)
    frames = page.evaluate("""async () => {
      const gaps = []; let last = performance.now()
      for (let y = 0; y < 60; y++) {
        scrollTo(0, y * 900)
        await new Promise(requestAnimationFrame)
        const now = performance.now(); gaps.push(now - last); last = now
      }
      return Math.max(...gaps) }""")
    figures["scrolling 990 rows, longest frame ms"] = round(frames)
    figures["events among 990 rows, longest task ms"] = round(page.evaluate("window.longest"))
    expect(p99(shares) < 1000, "events come too late")
    house.desk.api("DELETE", "sessions/many/queue")


def check_first_paint(browser, house, figures):
    page = browser.page()
    times = []
    for _ in range(10):
        page.reload()
        times.append(until(lambda: page.evaluate(
            "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"), "something is painted"))
    figures["first paint, median ms"] = round(statistics.median(times))


def check_ten_pages(browser, house, figures):
    browser.page()
    before = house.desk.memory()
    pages = [browser.page() for _ in range(10)]
    for page in pages:
        shown(page.locator("#sync")).to_have_text("in sync")
    figures["memory of the daemon for ten pages, MB"] = round((house.desk.memory() - before) / 1e6, 1)


# For everybody


def check_states(browser, house, figures):
    """Every state and every action: enabled or explained, and a way out of each state."""
    page = browser.page()
    table = page.evaluate("""async () => {
      const { actionsOf, LABELS, WORDS } = await import('/actions.js')
      return Object.keys(WORDS).map(status => [status, actionsOf({ status, priority: 'normal' }, {}), Object.keys(LABELS)])
    }""")
    expect(len(table) == 9, "states are missing")
    for status, actions, names in table:
        expect(set(actions) == set(names), f"{status}: actions are missing")
        for name, action in actions.items():
            expect(action["enabled"] or action["why"], f"{status}: {name} is neither enabled nor explained")
        ways = [name for name, action in actions.items() if action["enabled"] and name not in ("copy", "output")]
        expect(ways or status in ("succeeded", "skipped"), f"{status} has no way out")


def check_keyboard(browser, house, figures):
    """Every control is reached by Tab, shows that it has the focus, and is not behind another one."""
    for number in range(12):
        house.desk.send("keys", f"step {number}")
    until(lambda: len(house.desk.queue("keys")) == 12, "they are there")
    for width, height in ((1280, 800), (640, 400), (320, 640)):
        page = browser.page(viewport={"width": width, "height": height})
        for place in ("#/s/keys", "#/devices", "#/needs"):
            go(page, place)
            shown(page.locator("main h1")).to_be_visible()
            if place == "#/s/keys":
                shown(page.locator("queue-row")).to_have_count(12)
            if place == "#/devices":
                shown(page.get_by_text("(this one)")).to_be_visible()
            page.evaluate("""() => { window.reached = new Set(); scrollTo(0, 0)
              document.activeElement.blur() }""")
            for _ in range(400):
                page.keyboard.press("Tab")
                trouble = page.evaluate("""() => {
                  const at = document.activeElement
                  if (!at || at === document.body || window.reached.has(at)) return 'round'
                  window.reached.add(at)
                  const box = at.getBoundingClientRect()
                  const name = at.getAttribute('aria-label') || at.textContent || at.id
                  const style = getComputedStyle(at)
                  if (style.outlineStyle === 'none') return `no focus is shown on ${name}`
                  // The middle of what is within the window.
                  const x = (Math.max(0, box.left) + Math.min(innerWidth, box.right)) / 2
                  const y = (Math.max(0, box.top) + Math.min(innerHeight, box.bottom)) / 2
                  const top = document.elementFromPoint(x, y)
                  if (!top || !(at.contains(top) || top.contains(at))) return `${name} is hidden behind ${top?.tagName}`
                }""")
                if trouble == "round":
                    break
                expect(not trouble, f"{place} at {width}: {trouble}")
            missed = page.evaluate("""() => [...document.querySelectorAll('main :is(button, a, input, select, textarea)')]
              .filter(each => each.checkVisibility() && !each.disabled && each.tabIndex >= 0 && !window.reached.has(each))
              .map(each => each.getAttribute('aria-label') || each.textContent || each.id)""")
            expect(not missed, f"{place} at {width}: Tab does not reach {missed}")
        page.context.close()


def check_accessibility(browser, house, figures):
    house.desk.send("access", "A message that waits")
    house.desk.ask("access", kind="approval", toolName="Bash", summary="rm -r build", details="It is made again.")
    house.desk.ask("access-2", kind="question", question="Which one?", options=["left", "right"])
    findings = []
    # 640 is what a zoom of 200 % leaves of 1,280.
    for width, height, touch in ((1280, 800, False), (640, 400, False), (375, 740, True), (320, 640, True)):
        for scheme in ("light", "dark"):
            page = browser.page(
                viewport={"width": width, "height": height}, color_scheme=scheme, has_touch=touch,
                reduced_motion="reduce")
            for name, place in (("needs", "#/needs"), ("session", "#/s/access"), ("devices", "#/devices"),
                                ("sessions", "#/sessions"), ("menu", "#/s/access")):
                go(page, place)
                shown(page.locator("main h1")).to_be_visible()
                if name == "needs":
                    shown(page.locator("request-card")).to_have_count(2)
                if place == "#/s/access":
                    shown(page.locator("request-card")).to_be_visible()
                    shown(page.locator("queue-row")).to_be_visible()
                if name == "devices":
                    shown(page.locator(".weeks svg")).to_be_visible()
                    shown(page.get_by_text("(this one)")).to_be_visible()
                if name == "menu":
                    page.locator("queue-row").get_by_role("button", name="More").click()
                    page.locator("queue-row").get_by_role("button", name="Edit").click()
                wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                expect(wide <= 0, f"{name} is {wide} px too wide at {width}")
                if touch:
                    small = page.evaluate("""() => [...document.querySelectorAll('button, select, nav a, input')]
                      .filter(each => each.checkVisibility() && !each.classList.contains('unseen') && each.type !== 'checkbox')
                      .map(each => [each.getBoundingClientRect(), each.textContent])
                      .filter(([box]) => box.width && (box.height < 43.5)).map(([, text]) => text)""")
                    expect(not small, f"{name}: targets under 44 px: {small}")
                picture(page, f"{name}-{width}-{scheme}")
                page.evaluate(AXE)
                result = page.evaluate(
                    "tags => axe.run(document, { runOnly: { type: 'tag', values: tags } })", TAGS)
                findings += [f"{name} {width} {scheme}: {each['id']}: {each['help']}: "
                             f"{each['nodes'][0]['html'][:120]}" for each in result["violations"]]
            page.context.close()
    figures["findings of axe-core"] = len(findings)
    expect(not findings, "\n".join(sorted(set(findings))))
