"""What a person does with queues; see page_test.py."""

import pathlib
import time

from playwright.sync_api import expect as shown

from page_common import go, order, picture, row
from page_house import expect, until


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


def check_by_agent(browser, house, figures):
    """Who queued it is told: the person of a device, or an agent there."""
    house.desk.send("by-agent", "an agent's idea", byAgent=True)
    house.laptop.send("by-agent", "a person's idea")
    page = browser.page()
    go(page, "#/s/by-agent")
    shown(row(page, "an agent's idea").locator(".meta")).to_contain_text("an agent on desk")
    shown(row(page, "a person's idea").locator(".meta")).to_contain_text("laptop")
    shown(row(page, "a person's idea").locator(".meta")).not_to_contain_text("agent")


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


def check_edit_of_a_gone_message(browser, house, figures):
    """What is typed stays where its message leaves the queue, and is queued as a new one."""
    # To hold what is cancelled is refused.
    browser.excused = True
    message = house.desk.send("gone", "one two")
    page = browser.page()
    go(page, "#/s/gone")
    row(page, "one two").get_by_role("button", name="Edit").click()
    field = page.get_by_label("Text of the message")
    field.press("End")
    field.press_sequentially(" three")
    house.desk.cli("queue", "cancel", message)
    shown(page.get_by_text("It can no longer be edited")).to_be_visible()
    shown(field).to_have_value("one two three")
    page.get_by_role("button", name="Queue it as a new message").click()
    until(lambda: house.desk.contents("gone") == ["one two three"], "it is queued")
    shown(page.locator("queue-row")).to_have_count(1)


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
