"""Uses the page in a real Chromium, against real daemons and a real server.

Usage: page_test.py DIRECTORY-OF-EXECUTABLES CHROMIUM. Every check is a function whose name begins with
`check_`; ONLY="name …" chooses some. With SHOTS=DIR pictures of the views are kept there.
"""

import json
import os
import pathlib
import sys
import time
import urllib.parse

from playwright.sync_api import expect as shown
from playwright.sync_api import sync_playwright

import page_checks
from page_house import Failed, House

shown.set_options(timeout=20_000)


class Browser:
    """Chromium, and what all pages in it must not do."""

    def __init__(self, playwright, executable, house):
        self.house = house
        self.chromium = playwright.chromium.launch(
            executable_path=executable, args=["--no-sandbox", "--disable-dev-shm-usage"])
        self.faults = []
        self.addresses = set()
        self.secrets = set()
        self.excused = False

    def page(self, device=None, enter=True, **options):
        context = self.chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", self.heard)
        page.on("request", lambda request: self.sent(page, request))
        if enter:
            link = (device or self.house.desk).link()
            page.goto(link)
            shown(page.locator("needs-view")).to_be_visible()
            self.secrets |= {link.split("#t=")[1], page.evaluate("localStorage.getItem('cospool.key')")}
            shown(page.locator("#sync")).not_to_be_empty()
        return page

    def heard(self, message):
        # A refusal that a check provokes is written there by the browser itself.
        if message.type == "error" and not (self.excused and "Failed to load resource" in message.text):
            self.faults.append(f"console: {message.text} {message.location.get('url')}")

    def sent(self, page, request):
        url = urllib.parse.urlsplit(request.url)
        if url.scheme in ("data", "blob"):
            return
        if url.hostname != "127.0.0.1":
            self.faults.append(f"a request to {url.hostname}")
        self.addresses.add(request.url)

    def check(self):
        """No key and no ticket stands in any address that was asked for."""
        for address in self.addresses:
            if any(secret in address for secret in self.secrets):
                self.faults.append(f"a secret in {address}")


def main():
    house = House(sys.argv[1])
    chosen = (os.environ.get("ONLY") or "").split()
    figures = {}
    failures = 0
    try:
        with sync_playwright() as playwright:
            for name in [name for name in vars(page_checks) if name.startswith("check_")]:
                if chosen and name.removeprefix("check_") not in chosen and name != "check_enter":
                    continue
                browser = Browser(playwright, sys.argv[2], house)
                begin = time.monotonic()
                try:
                    getattr(page_checks, name)(browser, house, figures)
                    browser.check()
                    if browser.faults:
                        raise Failed("; ".join(browser.faults))
                    print(f"ok    {name.removeprefix('check_')} ({time.monotonic() - begin:.1f} s)", flush=True)
                except Exception as error:
                    failures += 1
                    words = str(error).split("Aria snapshot")[0]
                    print(f"FAILS {name.removeprefix('check_')}: {type(error).__name__}: {words}", flush=True)
                    shots = os.environ.get("SHOTS")
                    if shots:
                        for context in browser.chromium.contexts:
                            for number, page in enumerate(context.pages):
                                page.screenshot(path=pathlib.Path(shots) / f"{name}-{number}.png")
                finally:
                    browser.chromium.close()
    finally:
        house.close()
    print(json.dumps(figures, indent=1))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
