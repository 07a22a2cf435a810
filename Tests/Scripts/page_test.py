"""Uses the page in a real Chromium, against real daemons and a real server.

Usage: page_test.py DIRECTORY-OF-EXECUTABLES CHROMIUM. Every check is a function whose name begins with
`check_`; ONLY="name …" chooses some. LONG=1 measures more often and looks at more widths. With SHOTS=DIR
pictures of the views are kept there. Mostly a check waits: so two parts of them run side by side, each in a
process with devices, a server and a browser of its own, and then those alone that measure. What fails is tried
once more, alone, with fresh devices: what holds then is named at the end and fails nothing.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

from playwright.sync_api import expect as shown
from playwright.sync_api import sync_playwright

import page as page_files
import page_conversation
import page_everybody
import page_fit
import page_harm
import page_inbox
import page_installed
import page_needs
import page_pictures
import page_queues
import page_site
import page_trouble
import page_views
from page_fixture import DEADLINE, Failed, Fixture, until

shown.set_options(timeout=DEADLINE * 1000)


def headers():
    """What every answer of the daemon's page carries, as its source says it."""
    source = pathlib.Path(__file__).resolve().parents[2] / "Client/SyncDaemon/Web/WebAccessMiddleware.swift"
    table = source.read_text().split("static let all: [(name: String, value: String)] = [", 1)[1].split("\n  ]\n", 1)[0]
    rows = re.findall(r'\(\s*"([^"]+)",\s*("[^"]*"(?:\s*\+\s*"[^"]*")*)\s*\)', table)
    return {name: "".join(re.findall(r'"([^"]*)"', value)) for name, value in rows if name != "Connection"}


HEADERS = headers()


class Browser:
    """Chromium, and the faults that no page in it may have."""

    def __init__(self, playwright, executable, fixture):
        self.playwright = playwright
        self.executable = executable
        self.fixture = fixture
        self.secrets = set()
        self.chromium = None

    def begin(self):
        if not self.chromium or not self.chromium.is_connected():
            self.chromium = self.launch()
        self.faults = []
        self.addresses = set()
        self.hosts = {"127.0.0.1"}
        self.excused = False

    def launch(self, **options):
        return self.playwright.chromium.launch(executable_path=self.executable, args=self.arguments, **options)

    arguments = ["--no-sandbox", "--disable-dev-shm-usage"]

    headers = HEADERS

    def page(self, device=None, enter=True, link=None, replaced=True, **options):
        # If its service worker answers, a check can hold no request of the page back.
        context = self.chromium.new_context(**{
            "viewport": {"width": 1280, "height": 800}, "service_workers": "block", **options})
        if replaced:
            self.replace(context)
        page = context.new_page()
        self.watch(page)
        if enter:
            self.enter(page, link or (device or self.fixture.desk).link())
        return page

    def replace(self, context, folder=os.environ.get("PAGE")):
        """With PAGE=DIR the files of the page come from there, as the daemon would send them: nothing is to be built."""
        if not folder:
            return

        def answer(route):
            name = urllib.parse.urlsplit(route.request.url).path.lstrip("/") or "index.html"
            found = {file.name: (file, data) for file, data in page_files.served(pathlib.Path(folder))}.get(name)
            if not found:
                return route.fallback()
            file, data = found
            route.fulfill(body=data, headers=HEADERS | {"Content-Type": page_files.MEDIA_TYPES[file.suffix]})

        # A pattern: requests that it does not match pass while a check sleeps.
        context.route(re.compile(r"^http[^?]*?//[^/]+/(?!v1/)"), answer)

    def watch(self, page):
        page.set_default_timeout(DEADLINE * 1000)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", self.heard)
        page.on("request", lambda request: self.sent(page, request))

    def enter(self, page, link):
        page.goto(link)
        shown(page.locator("needs-view")).to_be_visible()
        self.secrets |= {link.split("#t=")[1], page.evaluate("localStorage.getItem('cospool.key')")}
        shown(page.locator("#sync")).not_to_be_empty()
        # The text there may be an answer's; all else comes with the events.
        until(lambda: page.evaluate("async () => (await import('/app.js')).model.ready"), "the page knows all")

    def heard(self, message):
        # A refusal that a check provokes is written there by the browser itself.
        if message.type == "error" and not (self.excused and "Failed to load resource" in message.text):
            self.faults.append(f"console: {message.text} {message.location.get('url')}")

    def sent(self, page, request):
        url = urllib.parse.urlsplit(request.url)
        if url.scheme in ("data", "blob", "chrome"):
            return
        if url.hostname not in self.hosts:
            self.faults.append(f"a request to {url.hostname}")
        self.addresses.add(request.url)

    def check(self):
        """No requested address contains a key or a ticket."""
        for address in self.addresses:
            if any(secret in address for secret in self.secrets):
                self.faults.append(f"a secret in {address}")
        if self.faults:
            raise Failed("; ".join(self.faults))

    def end(self):
        if self.chromium.is_connected():
            for context in self.chromium.contexts:
                context.close()


PARTS = {
    "conversation": (page_conversation,),
    "queues": (page_queues, page_needs, page_harm),
    "devices": (page_trouble, page_everybody, page_fit, page_inbox, page_installed, page_pictures, page_site, page_views),
    "measured": (page_needs, page_everybody, page_harm),
}
MEASURED = {"approval_time", "cost_of_pages", "first_paint", "many_rows", "ten_pages"}
# Let in and pair, which the others need.
FIRST = {"enter": page_queues.check_enter, "pair": page_queues.check_pair}


def chosen(part, names):
    """The checks of a part in their order, after the first two; none if it has no work."""
    checks = {
        name.removeprefix("check_"): check
        for module in PARTS[part] for name, check in vars(module).items() if name.startswith("check_")}
    wanted = {
        name: check for name, check in checks.items()
        if name in FIRST or (name in MEASURED) == (part == "measured") and (not names or name in names)}
    has_work = any(name not in FIRST or name in names for name in wanted)
    return FIRST | wanted if has_work else {}


def pictures(browser, name):
    folder = os.environ.get("SHOTS")
    if not folder or not browser.chromium.is_connected():
        return
    pages = [page for context in browser.chromium.contexts for page in context.pages]
    for number, page in enumerate(pages):
        try:
            page.screenshot(path=pathlib.Path(folder) / f"failed-{name}-{number}.png", timeout=5000)
        except Exception as error:
            print(f"      no picture: {error}")


def run(part, names):
    """Gives back the checks that failed, each with its words."""
    fixture = Fixture(sys.argv[1])
    figures = {}
    failed = {}
    try:
        with sync_playwright() as playwright:
            browser = Browser(playwright, sys.argv[2], fixture)
            for name, check in chosen(part, names).items():
                browser.begin()
                begin = time.monotonic()
                try:
                    check(browser, fixture, figures)
                    browser.check()
                    print(f"ok    {name} ({time.monotonic() - begin:.1f} s)", flush=True)
                except Exception as error:
                    failed[name] = f"{type(error).__name__}: {str(error).split('Aria snapshot')[0]}"
                    print(f"FAILS {name} ({time.monotonic() - begin:.1f} s): {failed[name]}", flush=True)
                    pictures(browser, name)
                finally:
                    browser.end()
            browser.chromium.close()
    finally:
        fixture.close()
    if figures:
        print(json.dumps(figures, indent=1), flush=True)
    return failed


def together(parts):
    """Runs parts side by side: {part: {check: words}} of those in which something failed."""
    begun = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for part, names in parts.items():
                report = pathlib.Path(folder) / part
                begun[part] = report, subprocess.Popen([sys.executable, *sys.argv, part, report, *names])
            for _, process in begun.values():
                process.wait()
        finally:
            for _, process in begun.values():
                process.terminate()
                process.wait()
        # A process without a report ended before its last check.
        failed = {part: json.loads(report.read_text()) if report.exists() else {"all of it": f"ended with {process.returncode}"}
                  for part, (report, process) in begun.items()}
    return {part: checks for part, checks in failed.items() if checks}


def main():
    # As on an interruption: everything that was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if len(sys.argv) > 3:
        _, _, _, part, report, *names = sys.argv
        pathlib.Path(report).write_text(json.dumps(run(part, names)))
        return 0
    names = (os.environ.get("ONLY") or "").split()
    unknown = set(names).difference(*(chosen(part, names) for part in PARTS))
    if unknown:
        print(f"page-test: ONLY names no check: {' '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    start = time.monotonic()
    failed = {}
    for group in (["queues", "devices"], ["conversation"], ["measured"]):
        failed |= together({part: names for part in group if chosen(part, names)})
    still = {}
    for part, checks in failed.items():
        print(f"page-test: once more: {' '.join(checks)}", flush=True)
        still |= together({part: [name for name in checks if name in chosen(part, [])]})
    if failed and not still:
        print("UNSTEADY: failed first, passed alone:")
    for when, tried in (("at first", failed), ("again", still)):
        for checks in tried.values():
            for name, words in checks.items():
                print(f"page-test: {name} failed {when}: {words}")
    print(f"page-test: {'failed' if still else 'ok'}, {time.monotonic() - start:.0f} s")
    return 1 if still else 0


if __name__ == "__main__":
    sys.exit(main())
