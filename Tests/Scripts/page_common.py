"""What the checks of the page share; see page_test.py."""

import os
import pathlib
import statistics


def go(page, place):
    page.evaluate("place => { location.hash = place }", place)


def ahead(page):
    """The browser's clock is a day ahead from here on."""
    page.evaluate("(now => { Date.now = () => now() + 86_400_000 })(Date.now)")


def row(page, text):
    return page.locator("queue-row", has_text=text)


def order(page):
    return page.locator("queue-row .content").all_inner_texts()


def hold(page, name):
    """The page receives no events of a name until `window.release()`; `window.take` passes it one."""
    page.evaluate("""async name => { const { model } = await import('/app.js')
      const held = []
      window.take = model.take.bind(model)
      model.take = (...event) => event[0] === name ? held.push(event) : window.take(...event)
      window.release = () => { delete model.take; for (const event of held) window.take(...event) }
      window.frame = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))) }""", name)


def p99(values):
    return round(statistics.quantiles(values, n=100)[98], 1) if len(values) > 1 else values[0]


def picture(page, name):
    folder = os.environ.get("SHOTS")
    if folder:
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=pathlib.Path(folder) / f"{name}.png")
