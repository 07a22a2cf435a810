"""Activity, devices and settings, and how the page connects; see page_test.py."""

import re

from playwright.sync_api import expect as shown

from page_common import go, picture
from page_fixture import expect, until


def check_activity(browser, fixture, figures):
    """Two weeks with dates and an axis, by day and by session, with the time that agents waited for their person."""
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
        shown(page.get_by_role("heading", name="Activity")).to_be_visible()
        days = page.locator(".chart").first.locator(".day")
        shown(days).to_have_count(14)
        expect(days.last.locator("i.runs").count() == 1 and days.last.locator("i.failures").count() == 1, "today's bars are missing")
        # The bars are as high as what they stand for, up to what the axis says.
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
    """Colours, notices and keys are set in the browser; what the device has is shown, as it is now, with the way to change it."""
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
        # What an event tells is read at once.
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
