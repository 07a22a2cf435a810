"""The pictures of the README, with SHOTS=DIR: a fixture of its own with work as people have it."""

import os

from playwright.sync_api import expect as shown

from page_common import go, picture
from page_fixture import Fixture, until


def check_pictures(browser, fixture, figures):
    if not os.environ.get("SHOTS"):
        return
    own = Fixture(fixture.bin, "pictures-")
    try:
        take(browser, own)
    finally:
        own.close()


def script(own):
    """An agent: it writes notes, and finds no branch."""
    file = own.folder / "agent.sh"
    file.write_text("""case $(cat) in
Write*) cat <<'END'
I wrote `NOTES.md` from 14 commits:

- **New:** the login page remembers you
- **Faster:** search, by about a third
- **Fixed:** two texts that said *error* and nothing else
END
;;
Add*) printf '\\033[32m✓\\033[0m NOTES.md: 2 names added\\n';;
*) echo fatal: no such branch: release-12 >&2; exit 3;;
esac
""")
    return file


def take(browser, own):
    desk = own.desk
    for device in (own.laptop, desk):
        device.cli("pair", own.url, own.code())
    for session, project, texts in (
            ("login-page", "/home/ada/shop", ("Write the failing test first", "Make it pass", "Try it on a phone")),
            ("review", "/home/ada/shop", ("Look at the error texts",)),
            ("billing", "/home/ada/billing", ("Round to cents, never to whole units",))):
        for text in texts:
            desk.send(session, text, project=project)
        desk.api("DELETE", f"threads/{session}/lock")
    desk.send("nightly", "Update what the build needs")
    desk.api("PUT", "sessions/nightly/pause", {"reason": "until Monday"})
    desk.api("PUT", "settings/command", {"value": f"sh {script(own)}"})
    desk.api("PUT", "settings/agent", {"value": "command"})
    shop = own.folder / "shop"
    shop.mkdir()
    for text in ("Write the notes for release 2.4", "Add who reported each bug"):
        desk.send("notes", text, project=str(shop))
    desk.api("PUT", "sessions/notes/host", {"device": "this"})
    until(lambda: not desk.queue("notes"), "the notes are written")
    desk.api("POST", "sessions", {"id": "notes", "project": "/home/ada/shop"})
    desk.api("PUT", "sessions/notes/pause", {"reason": "until the release is tagged"})
    desk.send("notes", "Translate them into German")
    desk.send("notes", "Send them to the list")
    desk.send("docs", "Rebuild the site from the release branch")
    desk.api("PUT", "sessions/docs/host", {"device": "this"})
    until(lambda: desk.queue("docs")[0]["status"] == "failed", "it fails")
    desk.ask("login-page", kind="approval", toolName="Bash", summary="git push --force-with-lease origin login-page",
             details="The branch was rebased onto main; 3 commits differ.")
    desk.ask("review", kind="question", question="Which of the two error texts should stay?",
             options=["The short one", "The one with the link"])
    for name, options in (
            ("needs", {}), ("needs-dark", {"color_scheme": "dark"}),
            ("phone", {"viewport": {"width": 375, "height": 740}, "color_scheme": "dark", "has_touch": True}),
            ("phone-light", {"viewport": {"width": 375, "height": 740}, "has_touch": True})):
        page = browser.page(desk, **{"viewport": {"width": 1280, "height": 860}, **options})
        shown(page.locator("request-card")).to_have_count(2)
        shown(page.locator("queue-row")).to_have_count(1)
        shown(page.locator("#sync")).to_have_text("in sync")
        # What is read a moment later.
        shown(page.get_by_text("until Monday")).to_be_visible()
        shown(page.locator(".failure .said")).to_be_visible()
        picture(page, name)
        if name == "needs":
            picture(page.locator("inbox-line", has=page.locator("request-card")).first, "approval")
        go(page, "#/s/login-page")
        shown(page.locator("queue-row")).to_have_count(3)
        picture(page, f"{name}-session")
        go(page, "#/s/notes")
        shown(page.locator(".turn")).to_have_count(2)
        page.wait_for_timeout(500)
        picture(page, f"{name}-conversation")
    page = browser.page(desk, viewport={"width": 1080, "height": 800})
    go(page, "#/s/billing")
    line = page.locator("queue-row")
    line.get_by_role("button", name="Edit").click()
    field = line.get_by_label("Text of the message")
    shown(field).to_be_focused()
    field.press("End")
    field.press_sequentially(", also in the export")
    own.laptop.cli("queue", "edit", desk.queue("billing")[0]["id"], "Round amounts to cents, never to whole units")
    shown(line.locator(".news")).to_contain_text("amounts")
    picture(line, "merge")
    go(page, "#/devices")
    shown(page.get_by_text("(this one)")).to_be_visible()
    picture(page, "devices")
    go(page, "#/activity")
    shown(page.locator(".chart").first).to_be_visible()
    picture(page, "activity")
    go(page, "#/settings")
    shown(page.locator(".settings")).to_be_visible()
    picture(page, "settings")
    # An empty page, before anything is added.
    page = browser.page(own.laptop)
    for session in ("login-page", "review", "billing", "docs", "nightly", "notes"):
        desk.cli("session", "delete", session)
    shown(page.get_by_text("Nothing needs you")).to_be_visible()
    picture(page, "empty")
    go(page, "#/s/new")
    picture(page, "empty-session")
