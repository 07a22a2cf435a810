"""Activity, devices and settings, and how the page connects; see page_test.py."""

import re

from playwright.sync_api import expect as shown

from page_common import go, picture
from page_fixture import Device, expect, until


def check_activity(browser, fixture, figures):
    """Two weeks with dates and an axis, by day and by session, with the time that agents waited for their user."""
    desk = fixture.desk
    desk.api("PUT", "settings/command", {"value": "sh -c 'grep -q fails && exit 3; echo done'"})
    desk.api("PUT", "settings/agent", {"value": "command"})
    try:
        for session, text in (("activity-good", "works"), ("activity-bad", "fails")):
            desk.send(session, text)
            desk.api("PUT", f"sessions/{session}/host", {"device": "this"})
        until(lambda: not desk.queue("activity-good") and desk.queue("activity-bad")[0]["status"] == "failed", "they ended")
        desk.ask("activity-asks", kind="question", question="Which?")
        page = browser.page()
        page.wait_for_timeout(1500)
        page.get_by_role("link", name="Activity").first.click()
        shown(page.get_by_role("heading", name="Activity", exact=True)).to_be_visible()
        days = page.locator(".chart").first.locator(".day")
        shown(days).to_have_count(14)
        expect(days.last.locator("i.runs").count() == 1 and days.last.locator("i.failures").count() == 1, "today's bars are missing")
        # The bars are as high as their values, up to the axis's maximum.
        top = int(page.locator(".chart .top").first.inner_text())
        heights = page.locator(".chart").first.evaluate("each => [...each.querySelectorAll('.day:last-child i')].reduce((sum, bar) => sum + bar.offsetHeight, 0) / each.clientHeight")
        expect(top >= 2 and heights > 0.95, f"the axis ends at {top}, and the bars fill {heights}")
        dates = page.locator(".dates span").all_inner_texts()
        expect(dates[-1] == "today" and len([each for each in dates if re.search(r"\d", each)]) >= 6, f"dates: {dates}")
        table = page.get_by_role("group", name="By session")
        cells = {each[0]: each[1:] for each in (line.locator("th, td").all_inner_texts() for line in table.locator("tbody tr").all())}
        expect(cells["activity-good"][:2] == ["1", "0"] and cells["activity-bad"][:2] == ["0", "1"], f"by session: {cells}")
        expect(re.match(r"[1-9]\d* s|\d+ min", cells["activity-asks"][2]), f"what still waits counts: {cells}")
        page.get_by_text("Day by day").click()
        shown(page.get_by_role("group", name="By day").locator("tbody tr")).to_have_count(14)
        picture(page, "activity")
        page.set_viewport_size({"width": 375, "height": 740})
        picture(page, "activity-375")
        table.get_by_role("link", name="activity-bad").click()
        shown(page.get_by_role("heading", name="activity-bad")).to_be_visible()
    finally:
        desk.api("PUT", "settings/agent", {"value": "none"})


def check_settings_view(browser, fixture, figures):
    """Colours, notices and keys are set in the browser; the device's settings are shown, as they are now, with the way to change them."""
    page = browser.page(color_scheme="light")
    go(page, "#/settings")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_label("Colours").select_option("dark")
    dark = page.evaluate(ground)
    expect(light != dark, "the colours stay")
    page.reload()
    shown(page.get_by_label("Colours")).to_have_value("dark")
    expect(page.evaluate(ground) == dark, "the colours are forgotten")
    page.get_by_label("Colours").select_option("system")
    expect(page.evaluate(ground) == light, "the system's colours do not come back")
    lines = page.locator(".settings > div")
    for name in ("approvalPatience", "retention", "agent", "command"):
        shown(lines.filter(has=page.get_by_text(name, exact=True))).to_have_count(1)
    shown(page.get_by_text("cospool config set NAME VALUE")).to_be_visible()
    expect(page.locator(".settings :is(input, select, button)").count() == 0, "a setting of the device can be changed here")
    fixture.desk.api("PUT", "settings/approvalPatience", {"value": 123})
    try:
        go(page, "#/needs")
        go(page, "#/settings")
        shown(lines.filter(has_text="approvalPatience")).to_contain_text("123")
        # The data of an event are read at once.
        fixture.desk.api("PUT", "settings/retention", {"value": 77})
        shown(lines.filter(has_text="days after which done")).to_contain_text("77")
    finally:
        fixture.desk.api("DELETE", "settings/approvalPatience")
        fixture.desk.api("DELETE", "settings/retention")
    page.get_by_label("Single-key shortcuts").uncheck()
    expect(page.evaluate("localStorage.getItem('cospool.shortcuts')") == "off", "the keys are still on")
    page.set_viewport_size({"width": 375, "height": 740})
    picture(page, "settings-375")


def check_devices_truth(browser, fixture, figures):
    """A device that is away says since when; without the server nothing is said of others; a phone is three steps away."""
    page = browser.page()
    go(page, "#/devices")
    laptop = page.locator("devices-view li", has_text="laptop")
    shown(laptop).to_contain_text("connected")
    shown(page.locator(".steps li")).to_have_count(3)
    shown(page.locator(".steps")).to_contain_text(re.compile(r"tailscale serve --bg \d+"))
    shown(page.get_by_text("cospool config set deviceName NAME")).to_be_visible()
    fixture.laptop.stop()
    try:
        shown(laptop).to_contain_text(re.compile(r"not connected since \d\d?:\d\d"), timeout=30_000)
        picture(page, "devices-away")
    finally:
        fixture.laptop.start()
    shown(laptop).not_to_contain_text("not connected", timeout=30_000)
    fixture.server.stop()
    try:
        shown(laptop).to_contain_text("unknown without a connection to the server")
    finally:
        fixture.start_server()
    fixture.desk.api("POST", "sync/now")
    fixture.laptop.api("POST", "sync/now")
    shown(page.locator("#sync")).to_have_text("in sync")
    shown(laptop).to_contain_text("connected")


def check_rename_browser(browser, fixture, figures):
    """A browser gets a name that its user knows; the name of another one is refused."""
    browser.excused = True
    page = browser.page()
    go(page, "#/devices")
    own = page.locator("devices-view li", has_text="(this one)")
    current = fixture.desk.api("GET", "web")["browsers"][0]
    ticket = fixture.desk.api("POST", "web", {})["url"].split("#t=")[1]
    other = fixture.desk.api("POST", "web/keys", {"ticket": ticket, "name": "kitchen tablet"})
    try:
        own.get_by_role("button", name="Rename").click()
        page.locator("#form-name").fill("kitchen tablet")
        page.keyboard.press("Enter")
        shown(page.locator("#toast")).to_contain_text("Another browser is called")
        page.keyboard.press("Escape")
        own.get_by_role("button", name="Rename").click()
        page.locator("#form-name").fill("Ada's phone")
        page.keyboard.press("Enter")
        shown(own).to_contain_text("Ada's phone")
        names = [each["name"] for each in fixture.desk.api("GET", "web")["browsers"]]
        expect("Ada's phone" in names, f"the browsers are {names}")
        page.set_viewport_size({"width": 375, "height": 740})
        picture(page, "browsers-375")
    finally:
        fixture.desk.cli("web", "revoke", other["id"])
        fixture.desk.cli("web", "rename", "Ada's phone", current["name"])


def check_queue_size_changes(browser, fixture, figures):
    """The composer knows the size of a queue that was set a moment ago, without a new connection."""
    fixture.desk.send("sized", "the first")
    page = browser.page()
    go(page, "#/s/sized")
    words = page.locator("#composer-what")
    shown(words).to_contain_text("Waits")
    fixture.desk.api("PUT", "settings/maxQueueSize", {"value": 1})
    try:
        shown(words).to_contain_text("The queue is full (1 of 1)", timeout=5000)
        fixture.desk.api("PUT", "settings/maxQueueSize", {"value": 5})
        shown(words).not_to_contain_text("full", timeout=5000)
    finally:
        fixture.desk.api("PUT", "settings/maxQueueSize", {"value": 1000})


def check_alarm_after_eight_seconds(browser, fixture, figures):
    """A line that answers nothing: for eight seconds the page connects, and then it says that Cospool does not answer."""
    page = browser.page()
    held = []
    page.route("**/v1/events", lambda route: held.append(route))
    page.clock.install()
    page.reload()
    until(lambda: held or page.wait_for_timeout(20), "it asks for events")
    shown(page.locator("#sync")).to_have_text("connecting …")
    page.clock.run_for(7500)
    shown(page.locator("#banner")).to_be_hidden()
    page.clock.run_for(1500)
    shown(page.locator("#banner")).to_contain_text("does not answer")
    shown(page.locator("#banner").get_by_role("button", name="Try now")).to_be_visible()
    held[0].continue_()
    until(lambda: page.clock.run_for(100) or page.locator("#banner").is_hidden(), "the alarm is over")
    shown(page.locator("#sync")).to_have_text("in sync")


def check_empty_start(browser, fixture, figures):
    """A new user reads what Cospool does, and finds the way to a session and to a phone."""
    fresh = Device(fixture, "fresh", "--web", "127.0.0.1:0")
    try:
        until(lambda: fresh.api("GET", "web").get("address"), "the page is served")
        page = browser.page(fresh)
        shown(page.get_by_role("heading", name="Nothing needs you")).to_be_visible()
        shown(page.locator("needs-view")).to_contain_text("Cospool keeps queues of prompts")
        shown(page.get_by_role("link", name="Use a phone or another device")).to_be_visible()
        picture(page, "empty-start")
        page.locator("needs-view").get_by_role("button", name="New session").click()
        shown(page.get_by_role("dialog")).to_contain_text("Runs on")
        # No view of it is empty without a word.
        page.keyboard.press("Escape")
        go(page, "#/activity")
        shown(page.locator("activity-view")).to_contain_text("No agent has run in these two weeks.")
        page.context.close()
    finally:
        fresh.stop()


def check_silence(browser, fixture, figures):
    """If all is well a row shows who queued it and when, and nothing more."""
    fixture.desk.send("silence", "all is well")
    page = browser.page()
    go(page, "#/s/silence")
    shown(page.locator("#sync")).to_have_text("in sync")
    shown(page.locator("queue-row .meta")).to_have_text(re.compile(r"^desk · (now|\d+ s)$"))
    shown(page.locator("queue-row .note")).to_be_hidden()


def check_age_of_a_request(browser, fixture, figures):
    """How long a request waits does not begin again when another one of its session is answered."""
    fixture.desk.ask("aged", kind="question", question="The first?")
    page = browser.page()
    line = page.locator("inbox-line[data-session=aged]")
    shown(line).to_be_visible()
    since = line.locator("time").get_attribute("datetime")
    fixture.desk.ask("aged", kind="question", question="The second?")
    shown(line.locator("request-card")).to_have_count(2)
    page.wait_for_timeout(1200)
    line.locator("request-card").last.get_by_label("Your answer").fill("no")
    line.locator("request-card").last.get_by_role("button", name="Answer", exact=True).click()
    shown(line.locator("request-card").last).to_contain_text("Answered")
    expect(line.locator("time").get_attribute("datetime") == since, "its age begins again")
    line.locator("request-card").first.get_by_role("button", name="Decline").click()


def check_result_in_the_inbox(browser, fixture, figures):
    """The line of a session whose agent is done shows the agent's last words."""
    desk = fixture.desk
    desk.api("PUT", "settings/command", {"value": "sh -c 'echo Renamed foo in 4 files'"})
    desk.api("PUT", "settings/agent", {"value": "command"})
    try:
        desk.send("resulting", "rename foo")
        desk.api("PUT", "sessions/resulting/host", {"device": "this"})
        until(lambda: not desk.queue("resulting"), "it is done")
        page = browser.page()
        shown(page.locator("inbox-line[data-session=resulting]")).to_contain_text("Renamed foo in 4 files")
        shown(page.locator("inbox-line[data-session=resulting] .tag")).to_have_text("done, unread")
    finally:
        desk.api("PUT", "settings/agent", {"value": "none"})
