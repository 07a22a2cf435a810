"""The documentation site, read from a disk without any server; see page_test.py."""

import os
import pathlib
import subprocess
import sys
import tempfile

from playwright.sync_api import expect as shown

from page_common import picture
from page_fixture import expect

# Those that came, by their width, and those that did not, by a width of 0.
PICTURES = """images => Promise.all(images.map(async image => {
  await image.decode().catch(() => {})
  return { src: image.src, width: image.naturalWidth, alt: image.alt.trim() }
}))"""


def check_documentation(browser, fixture, figures):
    """What is searched is found, each hit leads to its section, and every page opens with its pictures."""
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(__file__).with_name("site.py")
        # Without the symbols, which need a server, should `make library-docs` have made them.
        subprocess.run([sys.executable, script, folder], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "DOCS_DIR": f"{folder}/none"})
        browser.hosts = {None}  # nothing but files
        page = browser.page(enter=False)
        page.goto(f"file://{folder}/index.html")
        page.get_by_label("Search").fill("restore backup")
        hits = page.locator("#found a")
        shown(hits.first).to_contain_text("ackup")
        picture(page, "documentation")
        section = hits.first.get_attribute("href").split("#")[1]
        hits.first.click()
        shown(page.locator(f"[id='{section}']")).to_be_in_viewport()
        page.get_by_label("Search").fill("xyzzyplugh")
        shown(page.locator("#found")).to_have_text("Nothing found.")
        pages = page.locator("nav a").evaluate_all("links => links.map(link => link.href)")
        expect(len(pages) > 10, f"{len(pages)} pages")
        pictures = []
        for address in pages:
            page.goto(address)
            shown(page.locator("main h1").first).to_be_visible()
            pictures += page.locator("main img").evaluate_all(PICTURES)
        expect(len(pictures) > 10, f"{len(pictures)} pictures")
        bad = [picture["src"] for picture in pictures if not picture["width"] or not picture["alt"]]
        expect(not bad, f"pictures that do not load or have no words: {' '.join(bad)}")
