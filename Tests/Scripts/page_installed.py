"""The page as an app: its kept data, the count at its icon, and its notices; see page_test.py."""

import http.client
import http.server
import json
import pathlib
import re
import shutil
import tempfile
import threading

from playwright.sync_api import expect as shown

import page as page_files
from page_common import go, picture
from page_fixture import expect, until

KEPT = """async () => (await Promise.all((await caches.keys()).map(async name => (await (await caches.open(name)).keys()).map(each => new URL(each.url).pathname)))).flat()"""


def app(browser, **options):
    """A page whose service worker has taken it over."""
    page = browser.page(service_workers="allow", **options)
    until(lambda: page.evaluate("Boolean(navigator.serviceWorker.controller)"), "the service worker has the page")
    return page


def entered(page):
    shown(page.locator("main h1")).to_be_visible()
    shown(page.locator("#sync")).to_have_text("in sync")


def check_installable(browser, fixture, figures):
    """The browser finds a manifest with icons that it can show, and all hashes are those of the files."""
    page = app(browser)
    answer = page.context.new_cdp_session(page).send("Page.getAppManifest")
    expect(answer["url"].endswith("/manifest.webmanifest") and not answer["errors"], f"the manifest: {answer}")
    manifest = json.loads(answer["data"])
    expect(manifest["display"] == "standalone" and manifest["start_url"] == "/", f"{manifest}")
    for icon in manifest["icons"]:
        size = page.evaluate("""async src => { const image = new Image(); image.src = src; await image.decode(); return image.naturalWidth }""", icon["src"])
        expect(icon["sizes"] in ("any", f"{size}x{size}"), f"{icon['src']} is {size} px wide")
    problems = page.context.new_cdp_session(page).send("Page.getInstallabilityErrors")["installabilityErrors"]
    expect(not [each for each in problems if each["errorId"] != "in-incognito"], f"it cannot be installed: {problems}")
    named = dict(re.findall(r"'(/[^']*)': '(\w+)'", (page_files.PAGE / page_files.WORKER).read_text()))
    version = re.search(r'cospool-version" content="(\w+)"', (page_files.PAGE / "index.html").read_text())[1]
    expect(named == page_files.hashes(version=version.encode()), "run make page")


def check_kept_files(browser, fixture, figures):
    """The second time the files come from the browser; the daemon's answers are never kept."""
    page = app(browser)
    go(page, "#/s/kept")
    page.get_by_label("New message").fill("a text that is nowhere kept")
    page.get_by_label("New message").press("Control+Enter")
    until(lambda: fixture.desk.contents("kept") == ["a text that is nowhere kept"], "it is sent")
    files = {path for path in page.evaluate(KEPT)}
    expect("/" in files and "/main.js" in files, f"kept are {files}")
    expect(not [path for path in files if path.startswith("/v1") or path == "/events"], f"an answer is kept: {files}")
    page.reload()
    entered(page)
    sizes = page.evaluate("""performance.getEntriesByType('resource').map(each => [new URL(each.name).pathname, each.workerStart > 0])""")
    expect(dict(sizes)["/main.js"] is True, "a file did not come by the service worker")
    words = page.evaluate("""async () => {
      const texts = []
      for (const name of await caches.keys()) for (const each of await (await caches.open(name)).matchAll()) texts.push(await each.text())
      return texts.join('\\n') }""")
    expect("nowhere kept" not in words and page.evaluate("localStorage.getItem('cospool.key')") not in words, "something of the workspace is kept")
    times = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
    figures["second load, first paint ms"] = round(times or 0)


class Replaced(http.server.ThreadingHTTPServer):
    """A daemon whose page is that of `folder`, which another one can take the place of: the rest is passed on."""

    def __init__(self, daemon, folder, headers):
        self.daemon, self.folder, self.headers = daemon, folder, headers
        super().__init__(("127.0.0.1", 0), Passing)
        self.origin = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Passing(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = self.path.split("?")[0]
        if path.startswith("/v1/"):
            return self.pass_on()
        name = path.strip("/") or "index.html"
        found = {file.name: (file, data) for file, data in page_files.served(self.server.folder)}.get(name)
        self.send_response(200 if found else 404)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        if found:
            self.send_header("Content-Type", page_files.MEDIA_TYPES[found[0].suffix])
        self.end_headers()
        self.wfile.write(found[1] if found else b"")

    def pass_on(self):
        connection = http.client.HTTPConnection(self.server.daemon, timeout=120)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        own = {"Host": self.server.daemon, "Origin": f"http://{self.server.daemon}", "Connection": "close"}
        if not self.headers.get("Origin"):
            del own["Origin"]
        connection.request(self.command, self.path, body or None, dict(self.headers) | own)
        answer = connection.getresponse()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.end_headers()
        try:
            while part := answer.read1():
                self.wfile.write(part)
        except (OSError, http.client.HTTPException):
            pass  # The browser or the daemon went.

    do_POST = do_PUT = do_PATCH = do_DELETE = pass_on

    def log_message(self, *_):
        pass


def check_update_at_once(browser, fixture, figures):
    """After the daemon was replaced, the next load is its page, and the one after that comes from the browser again."""
    with tempfile.TemporaryDirectory() as folder:
        folders = [pathlib.Path(folder) / name for name in ("older", "newer")]
        for each in folders:
            shutil.copytree(page_files.PAGE, each, ignore=shutil.ignore_patterns("Screenshots"))
        with (folders[1] / "main.js").open("a") as file:
            file.write("\ndocument.documentElement.dataset.build = 'newer'\n")
        for each in folders:
            page_files.name_versions(each)
        version = re.search(r"VERSION = '(\w+)'", (folders[1] / page_files.WORKER).read_text())[1]
        link = fixture.desk.link()
        daemon = re.match("http://([^/]*)/", link)[1]
        server = Replaced(daemon, folders[0], browser.headers)
        try:
            page = app(browser, link=link.replace(f"http://{daemon}", server.origin), replaced=False)
            old = page.evaluate(KEPT)
            server.folder = folders[1]
            page.reload()
            entered(page)
            shown(page.locator("html")).to_have_attribute("data-build", "newer")
            held = "async () => (await Promise.all((await (await caches.open('cospool.files')).matchAll()).map(each => each.text()))).join('')"
            until(lambda: version in page.evaluate(held), "the new files are kept")
            until(lambda: sorted(page.evaluate(KEPT)) == sorted(old), "the old files are gone")
            page.reload()
            entered(page)
            shown(page.locator("html")).to_have_attribute("data-build", "newer")
            expect(page.evaluate("performance.getEntriesByType('resource').find(each => each.name.endsWith('/main.js')).workerStart > 0"),
                   "the new page does not come from the browser")
            page.goto("about:blank")
        finally:
            server.shutdown()
            server.server_close()


def check_opens_without_the_daemon(browser, fixture, figures):
    """Without the daemon the page opens, shows nothing old, keeps the typed text, and sends it when the daemon is back."""
    browser.excused = True
    page = app(browser)
    go(page, "#/s/opened-away")
    page.context.unroute_all()
    fixture.desk.stop()
    try:
        page.context.route(re.compile(r"^http[^?]*?//[^/]+/(?!v1/)"), lambda route: route.abort())
        page.reload()
        shown(page.locator("#banner")).to_contain_text("Cospool does not answer")
        shown(page.locator("next-list")).to_contain_text("not known until Cospool answers")
        picture(page, "opened-away")
        page.get_by_label("New message").fill("typed with no daemon")
        page.get_by_label("New message").press("Control+Enter")
        shown(page.locator("queue-row")).to_contain_text("typed with no daemon")
        # Another program at the port shows nothing of its own in the page's place.
        page.context.unroute_all()
        page.context.route(re.compile(r"^http[^?]*?//[^/]+/"), lambda route: route.fulfill(body="<title>Another program</title>", content_type="text/html"))
        page.reload()
        shown(page.locator("#banner")).to_contain_text("Another program answers")
        expect(page.title() != "Another program", "another program's page is shown")
        page.context.unroute_all()
    finally:
        fixture.desk.start()
    until(lambda: fixture.desk.contents("opened-away") == ["typed with no daemon"], "it is sent")


def check_revoked_app(browser, fixture, figures):
    """The kept page of a browser that was revoked shows no name, and says that it is not signed in."""
    browser.excused = True
    fixture.desk.send("secret-session", "a secret prompt")
    page = app(browser)
    shown(page.locator("#sessions")).to_contain_text("secret-session")
    before = fixture.desk.api("GET", "web")["browsers"]
    newest = max(before, key=lambda each: str(each["createdAt"]))
    fixture.desk.cli("web", "revoke", newest["id"])
    shown(page.get_by_text("This browser is not signed in")).to_be_visible()
    page.reload()
    shown(page.get_by_text("This browser is not signed in")).to_be_visible()
    expect("secret" not in page.locator("body").inner_text(), "names are shown to a browser that was revoked")


def check_badge(browser, fixture, figures):
    """The app's icon has the count of the sessions that need their user, and none with a revoked key."""
    page = browser.page()
    page.evaluate("""() => { window.badges = []
      navigator.setAppBadge = async count => { window.badges.push(count) }
      navigator.clearAppBadge = async () => { window.badges.push(0) } }""")
    fixture.desk.ask("badge", kind="question", question="Which?")
    until(lambda: page.evaluate("""async () => { const needs = (await import('/app.js')).model.needs()
      return needs.requests.some(each => each.session === 'badge') && window.badges.at(-1) === needs.count }"""), "the badge counts it")
    asked = fixture.desk.api("GET", "sessions/badge/task")["question"]["id"]
    fixture.desk.api("POST", f"asks/{asked}/answer", {"verdict": "answered", "text": "this"})
    # Another check's request may end meanwhile.
    until(lambda: page.evaluate("""async () => { const needs = (await import('/app.js')).model.needs()
      return !needs.requests.some(each => each.session === 'badge') && window.badges.at(-1) === needs.count }"""), "the badge counts it no more")
    page.evaluate("async () => (await import('/app.js')).lock({ message: 'gone' })")
    until(lambda: page.evaluate("window.badges.at(-1)") == 0, "the badge goes with the key")


HIDE = """isHidden => {
  Object.defineProperty(document, 'hidden', { value: isHidden, configurable: true })
  document.dispatchEvent(new Event('visibilitychange')) }"""
NOTICES = """async () => (await (await navigator.serviceWorker.ready).getNotifications()).map(({ title, body, data }) => [title, body, data])"""


def check_notices(browser, fixture, figures):
    """A page in the background shows notices only after its user turned them on; each disappears when its reason has ended."""
    page = app(browser, permissions=["notifications"])
    worker = page.context.service_workers[0]

    def ask(session):
        fixture.desk.ask(session, kind="approval", toolName="Bash", summary="make")
        until(lambda: page.evaluate("async session => (await import('/app.js')).model.needs().requests.some(each => each.session === session)", session), "it asks")
        page.wait_for_timeout(300)

    page.evaluate(HIDE, True)
    # No page is looked at, as the service worker sees it.
    worker.evaluate("self.clients.matchAll = async () => []")
    ask("notice-off")
    expect(page.evaluate(NOTICES) == [], "a notice came without being turned on")
    page.evaluate(HIDE, False)
    go(page, "#/settings")
    page.get_by_label("Notices of what needs you").check()
    shown(page.get_by_label("Notices of what needs you")).to_be_checked()
    ask("notice-seen")
    expect(page.evaluate(NOTICES) == [], "a notice came while the page is looked at")
    page.evaluate(HIDE, True)
    ask("notice-on")
    until(lambda: page.evaluate(NOTICES) == [["notice-on", "wants to run a command", "#/s/notice-on"]], f"a notice: {page.evaluate(NOTICES)}")
    # Its press leads to the session, in the page that is open.
    worker.evaluate("delete self.clients.matchAll; go('#/s/notice-on').catch(() => {})")
    shown(page.get_by_role("heading", name="notice-on").first).to_be_attached()
    worker.evaluate("self.clients.matchAll = async () => []")
    # The tab that shows notices still receives events.
    page.clock.install()
    page.evaluate(HIDE, True)
    page.clock.run_for(70_000)
    expect(page.evaluate("async () => (await import('/app.js')).model.link") == "live", "the page sleeps")
    asked = fixture.desk.api("GET", "sessions/notice-on/task")["request"]["id"]
    fixture.desk.api("POST", f"asks/{asked}/answer", {"verdict": "denied"})
    until(lambda: page.clock.run_for(50) or page.evaluate(NOTICES) == [], "the notice goes")
    page.evaluate(HIDE, False)
    go(page, "#/settings")
    page.get_by_label("Notices of what needs you").uncheck()
    expect(page.evaluate("localStorage.getItem('cospool.notices')") == "off", "they are still on")
    # Without the browser's permission it shows that.
    page = browser.page()
    page.evaluate("Notification.requestPermission = async () => 'denied'")
    go(page, "#/settings")
    page.get_by_label("Notices of what needs you").click()
    shown(page.locator(".note.error")).to_contain_text("does not allow notices")
    shown(page.get_by_label("Notices of what needs you")).not_to_be_checked()
