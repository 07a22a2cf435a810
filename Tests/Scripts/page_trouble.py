"""Faults, and what the page shows then; see page_test.py."""

import http.server
import threading

from playwright.sync_api import Error
from playwright.sync_api import expect as shown

from page_common import go, hold, picture, row
from page_fixture import expect, until


def kept(page):
    """What this browser keeps of messages that the daemon did not take yet."""
    return page.evaluate("Object.entries(localStorage).filter(([key]) => key.startsWith('cospool.sending.')).join()")


def check_daemon_away(browser, fixture, figures):
    browser.excused = True
    page = browser.page()
    go(page, "#/s/away")
    page.get_by_label("New message").fill("before")
    page.get_by_label("New message").press("Control+Enter")
    shown(row(page, "before")).to_be_visible()
    page.get_by_label("New message").fill("typed without a daemon")
    until(lambda: "typed without" in fixture.desk.cli("draft", "list"), "the daemon keeps the draft")
    fixture.desk.stop()
    shown(page.locator("#banner")).to_contain_text("does not answer")
    page.get_by_label("New message").press("Control+Enter")
    shown(row(page, "typed without a daemon")).to_be_visible()
    page.locator("#composer-files").set_input_files(
        {"name": "plan.txt", "mimeType": "text/plain", "buffer": b"a plan"})
    page.get_by_label("New message").fill("with a file, without a daemon")
    page.get_by_label("New message").press("Control+Enter")
    shown(row(page, "with a file, without a daemon")).to_be_visible()
    # Also over a reload of the page, which the daemon cannot serve now: only stored data count.
    expect("typed without a daemon" in kept(page), "it is not kept")
    until(lambda: "with a file, without a daemon" in kept(page), "the file is not kept")
    # Another tab of this browser keeps its own, and takes nothing of the first.
    page.evaluate("""async () => {
      const { Model } = await import('/model.js')
      const tab = new Model()
      tab.sending.set('aaaaaaaa-0000-4000-8000-000000000000', { session: 'away', text: 'from another tab', createdAt: '2200' })
      await tab.keepSending('aaaaaaaa-0000-4000-8000-000000000000') }""")
    expect("typed without a daemon" in kept(page), "the other tab took it")
    # As after a crash: another page of this browser finds all of it.
    page.goto("about:blank")
    fixture.desk.start()
    address = until(lambda: fixture.desk.api("GET", "web").get("address"), "the page is served")
    drafts = []
    page.route("**/v1/drafts", lambda route: drafts.append((route, route.fetch())))
    page.goto(f"http://{address}/#/s/away")
    shown(row(page, "with a file, without a daemon").get_by_role("button", name="plan.txt (6 B)")).to_be_visible()
    until(lambda: fixture.desk.contents("away")
          == ["before", "typed without a daemon", "with a file, without a daemon", "from another tab"],
          "all came once, in their order")
    shown(page.locator("queue-row.sending")).to_have_count(0)
    until(lambda: "typed without" not in fixture.desk.cli("draft", "list"), "what was sent is no draft")
    # The same if the page receives its drafts as late as that.
    with page.expect_event("requestfinished", lambda request: request.url.endswith("/v1/drafts")):
        drafts[0][0].fulfill(response=drafts[0][1])
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    shown(page.get_by_label("New message")).to_have_value("")


class Taker(http.server.BaseHTTPRequestHandler):
    """Another program at the daemon's port: it records its requests, and gives one answer to all of them."""

    def answer(self):
        self.server.seen.append((self.path, self.headers.get("Authorization")))
        status, body = self.server.says
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *words):
        pass


def check_another_program_has_the_port(browser, fixture, figures):
    """
    An open page sends its key to no program that takes the daemon's port, whatever that answers: it says what is
    there, and goes on by itself when the daemon is back, with all that was typed.
    """
    browser.excused = True
    fixture.desk.send("taken", "first")
    page = browser.page()
    go(page, "#/s/taken")
    shown(row(page, "first")).to_be_visible()
    field = page.get_by_label("New message")
    banner = page.locator("#banner")
    address = fixture.desk.api("GET", "web")["address"]
    fixture.desk.stop()
    taker = http.server.ThreadingHTTPServer(("127.0.0.1", int(address.rsplit(":", 1)[1])), Taker)
    taker.seen, taker.says = [], (404, b"not here")
    threading.Thread(target=taker.serve_forever, daemon=True).start()
    try:
        shown(banner).to_contain_text("Another program answers at this address.")
        shown(row(page, "first")).to_be_visible()
        field.fill("queued meanwhile")
        field.press("Control+Enter")
        shown(row(page, "queued meanwhile")).to_contain_text("kept here")
        field.fill("half a thought")
        picture(page, "another-program")
        # The page neither shows nor believes its text.
        taker.says = 400, b'{"error":{"code":"x","message":"Run my command."}}'
        asked = len(taker.seen)
        until(lambda: len(taker.seen) > asked + 1 or page.wait_for_timeout(20), "the page asks again")
        expect("Run my command" not in page.content(), "it shows what a stranger says")
        # Proofs that it made up itself: from here it may be a daemon that revoked this browser.
        taker.says = 200, b'{"proofs":["00"]}'
        shown(page.get_by_text("This browser is not signed in")).to_be_visible()
        shown(banner).to_contain_text("another program answers at this address")
        expect("first" not in page.locator("main").text_content(), "it shows what there is")
        taker.says = 503, b"{}"
        asked = len(taker.seen)
        until(lambda: len(taker.seen) > asked + 1 or page.wait_for_timeout(20), "the page asks again")
        shown(page.get_by_text("This browser is not signed in")).to_be_visible()
        expect(all(key is None for _, key in taker.seen), f"it got a key: {taker.seen}")
        expect(all(path.startswith("/v1/web/proof?nonce=") for path, _ in taker.seen), f"it was asked: {taker.seen}")
        nonces = [path for path, _ in taker.seen]
        expect(len(set(nonces)) == len(nonces), f"a nonce came twice: {taker.seen}")
    finally:
        taker.shutdown()
        taker.server_close()
        fixture.desk.start()
    shown(row(page, "first")).to_be_visible()
    shown(row(page, "queued meanwhile").locator(".meta")).to_contain_text("desk")
    shown(banner).to_be_hidden()
    shown(field).to_have_value("half a thought")
    until(lambda: fixture.desk.contents("taken") == ["first", "queued meanwhile"], "it is sent, once")
    field.fill("")


def check_read_anew(browser, fixture, figures):
    """After a start of the daemon everything is read again: no shown element disappears meanwhile, nor the focus."""
    fixture.desk.send("anew", "waits on")
    page = browser.page()
    go(page, "#/s/anew")
    row(page, "waits on").get_by_role("button", name="More").focus()
    rows = page.evaluate("""async () => { const { model } = await import('/app.js')
      const frame = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
      const rows = () => document.querySelectorAll('queue-row').length
      const session = model.sessions.get('anew')
      const changes = model.queues.get('anew').map((item, at) => ({ change: 'insert', at, item }))
      const seen = []
      const told = [['resume', { resume: 'gap' }], ['session', session], ['messages', { session: 'anew', changes }], ['present', {}]]
      for (const [name, data] of told) {
        model.take(name, data)
        await frame()
        seen.push(rows())
      }
      return seen }""")
    expect(rows == [1] * 4, f"so many rows are shown: {rows}")
    shown(row(page, "waits on").get_by_role("button", name="More")).to_be_focused(timeout=5000)


def check_away_in_the_middle(browser, fixture, figures):
    """If the daemon disappears while everything is read again, typed text is shown, and all else when it is back."""
    browser.excused = True
    fixture.desk.send("half", "waits on")
    page = browser.page()
    go(page, "#/s/half")
    shown(row(page, "waits on")).to_be_visible()
    page.evaluate("async () => (await import('/app.js')).model.take('resume', { resume: 'gap' })")
    fixture.desk.stop()
    try:
        shown(page.locator("#banner")).to_contain_text("does not answer")
        page.get_by_label("New message").fill("typed in the middle")
        page.get_by_label("New message").press("Control+Enter")
        shown(row(page, "typed in the middle")).to_be_visible(timeout=5000)
    finally:
        fixture.desk.start()
    for text in ("waits on", "typed in the middle"):
        shown(row(page, text).locator(".meta")).to_contain_text("desk")


def check_unsent_on_a_slow_line(browser, fixture, figures):
    """A message that the server does not have shows that, also if each answer comes after another event."""
    message = fixture.desk.send("unsent", "not there yet")
    page = browser.page()
    go(page, "#/s/unsent")
    line = row(page, "not there yet").locator(".meta")
    shown(line).to_contain_text("desk")
    page.evaluate("""async id => { const { model, source } = await import('/app.js')
      source.list = async (...path) => {
        if (path[0] !== 'messages/unsent') return Object.getPrototypeOf(source).list.apply(source, path)
        model.take('sync', { ...model.sync })
        await new Promise(done => setTimeout(done, 50))
        return { messages: [{ id, delivery: 'here' }] } }
      model.take('sync', { ...model.sync, synced: false, outgoing: 1 }) }""", message)
    shown(line).to_contain_text("on this device only", timeout=5000)


def check_old_settings(browser, fixture, figures):
    """What was asked before a setting changed takes nothing back of it."""
    page = browser.page()
    held = []
    page.route("**/settings/queueEnabled", lambda route: held.append((route, route.fetch())))
    page.reload()
    until(lambda: held or page.wait_for_timeout(20), "it is asked for")
    value = "async () => (await import('/app.js')).model.settings?.queueEnabled"
    # As of a daemon that was begun without a word about it.
    page.evaluate("""async () => (await import('/app.js')).model.take('settings', { queueEnabled: false })""")
    held[0][0].fulfill(response=held[0][1])
    until(lambda: page.evaluate("async () => (await import('/app.js')).model.daemon?.version"), "the page took the answers")
    expect(page.evaluate(value) is False, "the page took the older one")


def check_lost_answer(browser, fixture, figures):
    """A message whose answer was lost is one of the queue, whether its event or the lost answer comes first."""
    page = browser.page()
    go(page, "#/s/answers")
    page.evaluate("""async () => { const { model, source } = await import('/app.js')
      const { Unreachable } = await import('/source.js')
      source.act = async (name, values, ...more) => {
        const answer = await Object.getPrototypeOf(source).act.call(source, name, values, ...more)
        if (name !== 'send') return answer
        while (!window.release && model.sending.has(values.id)) await new Promise(requestAnimationFrame)
        setTimeout(() => (window.isLost = true))
        throw new Unreachable() } }""")
    field = page.get_by_label("New message")
    field.fill("the event comes first")
    field.press("Control+Enter")
    shown(row(page, "the event comes first").locator(".meta")).to_contain_text("desk")
    until(lambda: page.evaluate("window.isLost"), "its answer is lost")
    hold(page, "messages")
    field.fill("the event comes last")
    field.press("Control+Enter")
    shown(row(page, "the event comes last").locator(".note.error")).to_contain_text("does not answer")
    page.evaluate("window.release()")
    for text in ("the event comes first", "the event comes last"):
        shown(row(page, text).locator(".meta")).to_contain_text("desk")
        shown(row(page, text).locator(".note.error")).to_have_count(0, timeout=5000)


def check_upload_fails(browser, fixture, figures):
    """The bar disappears if an upload ends in the middle, also one that is tried again; a file that cannot be read is reported."""
    message = fixture.desk.send("broken-off", "a row")
    page = browser.page()
    go(page, "#/s/broken-off")
    shown(row(page, "a row")).to_be_visible()
    page.evaluate("""async () => { const { source } = await import('/app.js')
      const { Unreachable } = await import('/source.js')
      window.times = 0
      source.act = async (name, values, { progress } = {}) => {
        if (!progress) return Object.getPrototypeOf(source).act.call(source, name, values)
        progress(0.5)
        await new Promise(requestAnimationFrame)
        setTimeout(() => (window.times += 1))
        throw new Unreachable() } }""")
    page.locator("#composer-files").set_input_files({"name": "note.txt", "mimeType": "text/plain", "buffer": b"hello"})
    page.get_by_label("New message").fill("with a file")
    page.get_by_role("button", name="Queue", exact=True).click()
    for times in (1, 2):
        until(lambda: page.evaluate("window.times") == times, "it ends in the middle")
        shown(page.get_by_role("progressbar", name="Upload")).to_be_hidden(timeout=5000)
        row(page, "with a file").get_by_role("button", name="Try again").click()
    page.evaluate("() => { FileReader.prototype.readAsDataURL = function () { setTimeout(() => this.onerror()) } }")
    row(page, "a row").get_by_role("button", name="More").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach a file").click()
    chooser.value.set_files({"name": "gone.txt", "mimeType": "text/plain", "buffer": b"x"})
    shown(page.locator("#toast")).to_contain_text("gone.txt cannot be read. Choose it again.", timeout=5000)
    expect(not fixture.desk.api("GET", f"messages/{message}").get("attachments"), "something is attached")


def check_attach_refused(browser, fixture, figures):
    """Of several files the first is refused: that stays to be read."""
    browser.excused = True
    fixture.desk.send("attach", "with files")
    page = browser.page()
    go(page, "#/s/attach")
    page.route("**/attachments", lambda route: route.fulfill(status=409, json={"error": {
        "code": "refused", "message": "one.txt is refused."}}) if "one.txt" in route.request.post_data else route.fallback())
    line = row(page, "with files")
    line.get_by_role("button", name="More").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach a file").click()
    chooser.value.set_files([{"name": name, "mimeType": "text/plain", "buffer": b"x"} for name in ("one.txt", "two.txt")])
    shown(line.locator(".note.error")).to_contain_text("one.txt is refused.", timeout=5000)


# Ctrl and Enter three times in one moment, as a hand does that sees nothing happen.
IMPATIENT = """field => { for (let press = 0; press < 3; press++) {
  field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true })) } }"""


def check_impatient(browser, fixture, figures):
    """What is pressed several times is done once."""
    page = browser.page()
    go(page, "#/s/hasty")
    composer = page.get_by_label("New message")
    composer.fill("once")
    composer.evaluate(IMPATIENT)
    shown(row(page, "once")).to_be_visible()
    page.locator("#composer-files").set_input_files(
        {"name": "plan.txt", "mimeType": "text/plain", "buffer": b"a plan " * 200_000})
    composer.fill("with a file")
    composer.evaluate(IMPATIENT)
    until(lambda: "with a file" in fixture.desk.contents("hasty"), "it is queued")
    line = row(page, "once")
    line.get_by_role("button", name="Edit").click()
    field = page.get_by_label("Text of the message")
    until(lambda: field.input_value() == "once", "the editor is open")
    field.fill("once and more")
    field.evaluate(IMPATIENT)
    shown(page.locator("#toast")).to_contain_text("Saved")
    shown(row(page, "once and more")).to_be_visible()
    # Whatever was pressed is behind the daemon by the time it answers this.
    composer.fill("the last")
    composer.press("Control+Enter")
    until(lambda: "the last" in fixture.desk.contents("hasty"), "it is queued")
    expect(fixture.desk.contents("hasty") == ["once and more", "with a file", "the last"],
           f"there is {fixture.desk.contents('hasty')}")


def check_typed_meanwhile(browser, fixture, figures):
    """What is typed and dropped while the files of a message are read is for the next message."""
    page = browser.page()
    go(page, "#/s/meanwhile")
    composer = page.get_by_label("New message")
    page.locator("#composer-files").set_input_files({"name": "plan.txt", "mimeType": "text/plain", "buffer": b"a plan"})
    shown(page.locator("queue-composer .files")).to_contain_text("plan.txt")
    composer.fill("with a plan")
    composer.evaluate("""field => {
      field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true }))
      field.value += 'and the next'
      field.dispatchEvent(new Event('input', { bubbles: true }))
      field.closest('queue-composer').add([new File(['more'], 'more.txt')]) }""")
    until(lambda: fixture.desk.contents("meanwhile") == ["with a plan"], "it is queued")
    shown(row(page, "with a plan")).to_contain_text("plan.txt")
    page.reload()
    shown(composer).to_have_value("and the next")
    shown(page.locator("queue-composer .files li")).to_have_count(1)
    shown(page.locator("queue-composer .files")).to_contain_text("more.txt")
    composer.fill("")


def check_odd_addresses(browser, fixture, figures):
    """Every text after the address leads to a view."""
    page = browser.page()
    for place in ("#/s/%E0%A4%A", "#/s/", "#/s/100%25", "#/nothing/at/all", "#", "#/s/a/b/c"):
        go(page, place)
        shown(page.locator("main h1")).to_be_visible()


def check_server_away(browser, fixture, figures):
    page = browser.page()
    go(page, "#/s/offline")
    fixture.server.stop()
    shown(page.locator("#sync")).to_contain_text("no connection")
    page.get_by_label("New message").fill("offline work")
    page.get_by_label("New message").press("Control+Enter")
    shown(row(page, "offline work").locator(".note")).to_have_text("on this device, not on the server yet")
    shown(page.locator("#sync")).to_contain_text("on this device only")
    shown(page.locator("queue-row.sending")).to_have_count(0)
    # Also to a page that was not there, and to the command line.
    page.reload()
    shown(row(page, "offline work").locator(".meta")).to_contain_text("on this device only")
    expect("[on this device only] offline work" in fixture.desk.cli("queue", "list", "-s", "offline"),
           "the command line does not say where it is")
    fixture.start_server()
    fixture.desk.api("POST", "sync/now")
    shown(page.locator("#sync")).to_have_text("in sync")
    shown(row(page, "offline work").locator(".note")).to_be_hidden()
    shown(row(page, "offline work").locator(".meta")).not_to_contain_text("on this device")
    expect(fixture.desk.api("GET", "messages/unsent")["messages"] == [], "something is unsent")
    until(lambda: fixture.laptop.contents("offline") == ["offline work"], "the other device has it")


def check_revoked(browser, fixture, figures):
    browser.excused = True
    page = browser.page()
    go(page, "#/s/review")
    page.get_by_label("New message").fill("typed before the end")
    current = next(each for each in fixture.desk.api("GET", "web")["browsers"])
    fixture.desk.cli("web", "revoke", current["id"])
    shown(page.get_by_text("This browser is not signed in")).to_be_visible()
    page.goto(fixture.desk.link())
    go(page, "#/s/review")
    shown(page.get_by_label("New message")).to_have_value("typed before the end")
    page.get_by_label("New message").fill("")


def check_made_room(browser, fixture, figures):
    """A browser that lost its place to newer ones shows no data from then on, and advises its user."""
    browser.excused = True
    page = browser.page()
    # Not if a draft exists that may come between the typed words.
    go(page, "#/s/room")
    page.get_by_label("New message").fill("typed before the end")
    for _ in range(20):
        ticket = fixture.desk.api("POST", "web", {})["url"].split("#t=")[1]
        fixture.desk.api("POST", "web/keys", {"ticket": ticket, "name": "another"})
    shown(page.get_by_text("This browser is not signed in")).to_be_visible()
    shown(page.locator("#banner")).to_contain_text("was replaced by a newer one")
    page.goto(fixture.desk.link())
    go(page, "#/s/room")
    shown(page.get_by_label("New message")).to_have_value("typed before the end")
    page.get_by_label("New message").fill("")


def check_lost_files(browser, fixture, figures):
    """A message that was not sent, whose files the browser threw away: its words are shown, and disappear when the user decides so."""
    browser.excused = True
    fixture.desk.send("lost", "takes the only place")
    page = browser.page()
    fixture.desk.api("PUT", "settings/maxQueueSize", {"value": 1})
    try:
        go(page, "#/s/lost")
        page.locator("#composer-files").set_input_files({"name": "plan.txt", "mimeType": "text/plain", "buffer": b"a plan"})
        page.get_by_label("New message").fill("words with a file")
        page.get_by_label("New message").press("Control+Enter")
        shown(row(page, "words with a file").locator(".note.error")).to_contain_text("full")
        page.goto("about:blank")
    finally:
        fixture.desk.api("PUT", "settings/maxQueueSize", {"value": 1000})
    # As a browser does that needs the room.
    page.goto(f"http://{fixture.desk.api('GET', 'web')['address']}/icon.svg")
    page.evaluate("""() => new Promise((resolve, reject) => {
      const gone = indexedDB.deleteDatabase('cospool.files'); gone.onsuccess = resolve; gone.onerror = reject })""")
    page.goto(f"http://{fixture.desk.api('GET', 'web')['address']}/#/s/lost")
    line = row(page, "words with a file")
    shown(line.locator(".note.error")).to_contain_text("Its files are no longer in this browser")
    shown(line).to_contain_text("plan.txt")
    expect(fixture.desk.contents("lost") == ["takes the only place"], "it was sent without its files unasked")
    # Without a daemon it waits for it as any other.
    fixture.desk.stop()
    try:
        shown(page.locator("#banner")).to_contain_text("does not answer")
        line.get_by_role("button", name="Send only its text").click()
        shown(line.locator(".note.error")).to_contain_text("sent when Cospool is back")
    finally:
        fixture.desk.start()
    until(lambda: fixture.desk.contents("lost") == ["takes the only place", "words with a file"], "it is sent")
    shown(page.locator("queue-row.sending")).to_have_count(0)


def check_full_queue(browser, fixture, figures):
    browser.excused = True
    fixture.desk.send("full", "the first")
    fixture.desk.send("full", "the second")
    fixture.desk.api("PUT", "settings/maxQueueSize", {"value": 2})
    try:
        page = browser.page()
        go(page, "#/s/full")
        shown(page.locator("#composer-what")).to_contain_text("The queue is full (2 of 2)")
        page.get_by_label("New message").fill("one too many")
        page.get_by_label("New message").press("Control+Enter")
        line = row(page, "one too many")
        shown(line.locator(".note.error")).to_contain_text("full")
        # What was typed is kept, and goes out when there is room.
        fixture.desk.api("POST", "messages/cancel", {"ids": [fixture.desk.queue("full")[0]["id"]]})
        try:
            line.get_by_role("button", name="Try again").click(timeout=5000)
        except Error:
            pass  # The stream of events began again meanwhile, and the page sent it by itself.
        until(lambda: fixture.desk.contents("full") == ["the second", "one too many"], "it is sent")
        shown(page.locator("queue-row.sending")).to_have_count(0)
    finally:
        fixture.desk.api("PUT", "settings/maxQueueSize", {"value": 1000})


def check_unusable_session(browser, fixture, figures):
    browser.excused = True
    page = browser.page()
    go(page, "#/s/" + "x" * 200)
    page.get_by_label("New message").fill("a session that cannot be")
    page.get_by_label("New message").press("Control+Enter")
    shown(page.locator("queue-row .note.error")).to_contain_text("128")
    shown(row(page, "a session that cannot be")).to_be_visible()
    page.locator("queue-row").get_by_role("button", name="More").click()
    page.get_by_role("button", name="Discard").click()
    shown(page.locator("queue-row")).to_have_count(0)


def check_full_disk(browser, fixture, figures):
    browser.excused = True
    page = browser.page()
    go(page, "#/s/disk")
    page.get_by_label("New message").fill("before the disk is full")
    page.get_by_label("New message").press("Control+Enter")
    # A row is shown before the daemon has it.
    until(lambda: fixture.desk.contents("disk") == ["before the disk is full"], "the daemon has it")
    fixture.desk.limit_files(0)
    try:
        page.get_by_label("New message").fill("on a full disk")
        page.get_by_label("New message").press("Control+Enter")
        line = row(page, "on a full disk")
        shown(line.locator(".note.error")).to_contain_text("disk")
        picture(page, "full-disk")
        # Editing is refused, too, and the text stays.
        before = row(page, "before the disk is full")
        before.get_by_role("button", name="Edit").click()
        before.get_by_label("Text of the message").fill("what I want instead")
        before.get_by_role("button", name="Save").click()
        shown(before.locator(".note.error").first).to_contain_text("disk")
        shown(before.get_by_label("Text of the message")).to_have_value("what I want instead")
    finally:
        fixture.desk.limit_files(None)
    before.get_by_role("button", name="Save").click()
    until(lambda: fixture.desk.contents("disk")[0] == "what I want instead", "it is saved when there is room")
    line.get_by_role("button", name="Try again").click()
    until(lambda: fixture.desk.contents("disk") == ["what I want instead", "on a full disk"], "it is sent")


def check_crash(browser, fixture, figures):
    """What was typed is there after a crash of the page, and after one of the whole browser."""
    message = fixture.desk.send("crash", "one two three")
    page = browser.page()
    go(page, "#/s/crash")
    page.get_by_label("New message").fill("half a thought")
    line = row(page, "one two three")
    line.get_by_role("button", name="Edit").click()
    line.get_by_label("Text of the message").fill("one two three four")
    address = page.url
    with page.expect_event("crash"):
        try:
            page.goto("chrome://crash")
        except Error:
            pass
    again = page.context.new_page()
    browser.watch(again)
    again.goto(address)
    shown(again.get_by_label("New message")).to_have_value("half a thought")
    shown(again.get_by_label("Text of the message")).to_have_value("one two three four")
    again.get_by_role("button", name="Save").click()
    until(lambda: fixture.desk.contents("crash") == ["one two three four"], "it is saved")
    # The daemon keeps the text, too: another browser has it.
    until(lambda: "half a thought" in fixture.desk.cli("draft", "list"), "the daemon keeps the draft")
    other = browser.page()
    go(other, "#/s/crash")
    shown(other.get_by_label("New message")).to_have_value("half a thought")
    other.get_by_label("New message").fill("")
    # Other checks have drafts, too.
    until(lambda: all(each["session"] != "crash" for each in fixture.desk.api("GET", "drafts")["drafts"]), "the draft is gone")
    expect(message == fixture.desk.queue("crash")[0]["id"], "it is another message")


def check_draft_of_another(browser, fixture, figures):
    """A message that is refused whenever it is sent again ends no draft that another user keeps there."""
    browser.excused = True
    page = browser.page()
    go(page, "#/s/refused")
    page.route("**/sessions/refused/queue", lambda route: route.fulfill(status=409, json={"error": {
        "code": "refused", "message": "It is refused."}}))
    field = page.get_by_label("New message")
    field.fill("refused")
    with page.expect_event("requestfinished", lambda request: "/draft?" in request.url):
        field.press("Control+Enter")
    fixture.desk.cli("draft", "set", "-s", "refused", "words of another")
    go(page, "#/needs")
    page.reload()
    until(lambda: page.evaluate("""async () => [...(await import('/app.js')).model.notes.values()]
      .some(({ words }) => words === 'It is refused.')"""), "it was sent again")
    # What the page asks for behind that comes behind it.
    page.evaluate("async () => { await (await import('/app.js')).source.list('drafts') }")
    expect("words of another" in fixture.desk.cli("draft", "list"), "the draft is gone")


def check_attach_the_rest(browser, fixture, figures):
    """Of several files the first gets no answer: trying again goes on with all of them."""
    browser.excused = True
    message = fixture.desk.send("rest", "with several files")
    page = browser.page()
    go(page, "#/s/rest")
    times = []
    page.route("**/attachments", lambda route: route.fallback() if times else (times.append(1), route.abort()))
    line = row(page, "with several files")
    line.get_by_role("button", name="More").click()
    names = ["one.txt", "two.txt", "three.txt"]
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach a file").click()
    chooser.value.set_files([{"name": name, "mimeType": "text/plain", "buffer": name.encode()} for name in names])
    line.get_by_role("button", name="Try again").click()
    shown(line.locator(".files li")).to_have_count(3, timeout=5000)
    attached = [each["name"] for each in fixture.desk.api("GET", f"messages/{message}")["attachments"]]
    expect(sorted(attached) == sorted(names), f"attached: {attached}")
