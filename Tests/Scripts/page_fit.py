"""Large text, narrow windows, forced colours, reduced motion and texts from right to left; see page_test.py."""

from playwright.sync_api import expect as shown

from page_common import go, picture
from page_everybody import AXE, TAGS
from page_fixture import expect

# How much wider than the window it is, and which elements stick out.
WIDE = """() => {
  const wide = document.documentElement.scrollWidth - innerWidth
  const out = [...document.querySelectorAll('body *')].filter(each => each.checkVisibility() && each.getBoundingClientRect().right > innerWidth + 1)
  return wide > 0 ? `${wide} px too wide: ${out.slice(-4).map(each => `${each.localName}.${each.className} ${each.textContent.slice(0, 30)}`).join('; ')}` : '' }"""
# The elements that a user whose browser has letters twice as large must still be able to read and press.
CUT = """() => [...document.querySelectorAll('h1, h2, button, label, summary, .tag, .count, nav a span, .dot + span, header .sync, #composer-what')]
  .filter(each => each.checkVisibility() && !each.closest('.unseen, .quick') && !each.matches('.unseen') && each.textContent.trim())
  .filter(each => {
    const box = each.getBoundingClientRect()
    return box.width < 1 || box.right > innerWidth + 1 || box.left < -1 || each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0
      && getComputedStyle(each).overflowX !== 'visible'
  }).map(each => `${each.localName} ${each.textContent.trim().slice(0, 30)}`)"""
OVERLAPS = """() => {
  const parts = [...document.querySelectorAll('main :is(button, a, select, input, textarea), header a')].filter(each => each.checkVisibility()
    && !each.closest('.quick, queue-composer, .session-head, .unseen') && getComputedStyle(each).position !== 'absolute' && getComputedStyle(each).opacity !== '0')
  const found = []
  for (const [index, one] of parts.entries()) for (const other of parts.slice(index + 1)) {
    if (one.contains(other) || other.contains(one) || one.closest('header') !== other.closest('header')) continue
    const [a, b] = [one, other].map(each => each.getBoundingClientRect())
    const [width, height] = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)]
    if (width > 2 && height > 2) found.push(`${one.textContent || one.id} lies on ${other.textContent || other.id}`)
  }
  return found }"""


def work(fixture):
    """A little of everything that is shown, unless it exists already; an agent that asks may have hung up meanwhile."""
    desk = fixture.desk
    if not desk.queue("fit-queue"):
        desk.send("fit-queue", "A prompt that waits for its turn behind nothing at all, with a text of some length")
        desk.send("fit-queue", "اكتب الاختبار أولا")
    asking = {each.get("session") or each.get("sessionId") for each in desk.api("GET", "tasks")["tasks"] if "request" in each or "question" in each}
    if "fit-asks" not in asking:
        desk.ask("fit-asks", kind="approval", toolName="Bash", summary="rm -r build && make everything again")
    if "fit-question" not in asking:
        desk.ask("fit-question", kind="question", question="أيهما؟", options=["هذا", "ذاك"])
        desk.cli("session", "rename", "fit-question", "أسئلة المراجعة")


PLACES = (("inbox", "#/needs"), ("session", "#/s/fit-queue"), ("asking", "#/s/fit-asks"), ("sessions", "#/sessions"), ("activity", "#/activity"), ("settings", "#/settings"), ("devices", "#/devices"))


def open_places(page, places=PLACES):
    for name, place in places:
        go(page, place)
        shown(page.locator("main h1")).to_be_visible()
        if name == "inbox":
            shown(page.locator("request-card").first).to_be_visible()
        if name == "session":
            shown(page.locator("queue-row")).to_have_count(2)
        if name == "asking":
            shown(page.locator("request-card")).to_be_visible()
        if name == "activity":
            shown(page.locator(".chart").first).to_be_visible()
        if name == "settings":
            shown(page.locator(".settings")).to_be_visible()
        if name == "devices":
            shown(page.get_by_text("(this one)")).to_be_visible()
        # What comes a moment later is looked at, too.
        page.wait_for_timeout(200)
        yield name


def check_large_text(browser, fixture, figures):
    """Letters twice as large, by the browser's setting and not by its zoom: nothing is cut, hidden or pushed out."""
    work(fixture)
    for width, height in ((1280, 800), (375, 740), (320, 640)):
        page = browser.page(viewport={"width": width, "height": height})
        before = page.evaluate("parseFloat(getComputedStyle(document.querySelector('main')).fontSize)")
        page.context.new_cdp_session(page).send("Page.setFontSizes", {"fontSizes": {"standard": 32, "fixed": 26}})
        page.reload()
        shown(page.locator("#sync")).not_to_be_empty()
        after = page.evaluate("parseFloat(getComputedStyle(document.querySelector('main')).fontSize)")
        expect(after == 2 * before, f"the setting makes letters of {before} px {after} px large")
        for name in open_places(page):
            picture(page, f"large-{name}-{width}")
            wide = page.evaluate(WIDE)
            expect(not wide, f"{name} at {width} is {wide}")
            for words, what in (("cut", CUT), ("one on the other", OVERLAPS)):
                found = page.evaluate(what)
                expect(not found, f"{name} at {width}: {words}: {found}")
            # Most of the window is the view's own, whatever stays in its place.
            room = page.evaluate("""() => [...document.querySelectorAll('header, .session-head, queue-composer')]
              .filter(each => each.offsetWidth > innerWidth / 2 && getComputedStyle(each).position === 'sticky')
              .reduce((sum, each) => sum + each.offsetHeight, 0) / innerHeight""")
            expect(room < 0.5, f"{name} at {width}: {round(room * 100)} % of the window are frame")
        page.context.close()


def check_forced_colours(browser, fixture, figures):
    """If the system sets the colours, the place, the focus and the state of a session are still visible."""
    work(fixture)
    findings = []
    for width in (1280, 375):
        page = browser.page(forced_colors="active", viewport={"width": width, "height": 740})
        for name in open_places(page):
            picture(page, f"forced-{name}-{width}")
            links = page.evaluate("""() => [...document.querySelectorAll('header nav:first-of-type a')].filter(each => each.checkVisibility())
              .map(each => [each.hasAttribute('aria-current'), JSON.stringify(['outlineStyle', 'borderBottomStyle', 'borderInlineStartStyle', 'backgroundColor', 'forcedColorAdjust']
                .map(name => getComputedStyle(each)[name]))])""")
            here = {style for isHere, style in links if isHere}
            expect(not here & {style for isHere, style in links if not isHere}, f"{name}: the view where one is looks like the others")
            page.evaluate(AXE)
            result = page.evaluate("tags => axe.run(document, { runOnly: { type: 'tag', values: tags } })", TAGS)
            findings += [f"{name} {width}: {each['id']}: {each['nodes'][0]['html'][:120]}" for each in result["violations"]]
        go(page, "#/needs")
        # Forms, and not colours alone.
        dots = page.evaluate("""() => ['ask', 'fail', 'on', 'off', 'paused', ''].map(kind => {
          const dot = document.createElement('i')
          dot.className = `dot ${kind}`
          document.querySelector('main').append(dot)
          const { borderRadius, rotate, borderStyle, backgroundColor, borderColor } = getComputedStyle(dot)
          dot.remove()
          return JSON.stringify([borderRadius, rotate, borderStyle, backgroundColor, borderColor])
        })""")
        expect(len(set(dots)) == 6, f"kinds of sessions look alike: {dots}")
        page.keyboard.press("Tab")
        shown(page.locator(":focus")).to_have_css("outline-style", "solid")
        page.context.close()
    page = browser.page(forced_colors="active")
    go(page, "#/devices")
    # A code that a phone reads, in whatever colours.
    colours = page.evaluate("""async () => {
      const box = document.querySelector('.invite')
      box.innerText = ''
      const picture = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
      picture.setAttribute('class', 'qr')
      for (const name of ['light', 'dark']) {
        const part = document.createElementNS('http://www.w3.org/2000/svg', 'rect')
        part.setAttribute('class', name)
        picture.append(part)
      }
      document.querySelector('main').append(picture)
      return [...picture.children].map(each => getComputedStyle(each).fill) }""")
    expect(colours == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"], f"the code's colours are {colours}")
    expect(not findings, "\n".join(sorted(set(findings))))


def check_reduced_motion(browser, fixture, figures):
    """Who asked the system for less motion sees none; others see the notice rise."""
    work(fixture)
    toast = "async () => { (await import('/dom.js')).toast('Cancelled', { label: 'Undo', run() {} }); return document.getAnimations().length }"
    page = browser.page()
    expect(page.evaluate(toast) > 0, "nothing moves at all, so this check shows nothing")
    page = browser.page(reduced_motion="reduce")
    expect(page.evaluate(toast) == 0, "the notice moves")
    for name in open_places(page):
        moves = page.evaluate("""() => [...document.querySelectorAll('*')].filter(each => {
          const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(each)
          return parseFloat(transitionDuration) > 0 || animationName !== 'none' || scrollBehavior === 'smooth'
        }).map(each => each.localName)""")
        expect(not moves and page.evaluate("document.getAnimations().length") == 0, f"{name} moves: {moves}")
        page.keyboard.press("Control+k")
        shown(page.locator("dialog.palette")).to_be_visible()
        expect(page.evaluate("document.getAnimations().length") == 0, "the palette moves")
        page.keyboard.press("Escape")


def check_right_to_left_everywhere(browser, fixture, figures):
    """Names and texts from right to left are shown in that direction in lists, titles, panels and notices; a mirrored page does not burst."""
    work(fixture)
    page = browser.page()
    side = "each => getComputedStyle(each).direction"

    def expect_right(where, what):
        shown(where.first).to_be_visible()
        expect(where.first.evaluate(side) == "rtl", f"{what} runs from left to right")

    go(page, "#/needs")
    line = page.locator("inbox-line", has=page.get_by_text("أسئلة المراجعة"))
    expect_right(line.locator(".who a"), "the name in the inbox")
    expect_right(line.locator("request-card .title p"), "the question in the inbox")
    expect_right(line.locator(".option"), "an answer that can be chosen")
    expect_right(page.locator("#sessions a span", has_text="أسئلة"), "the name in the list of sessions")
    page.keyboard.press("Control+k")
    page.keyboard.type("اكتب")
    expect_right(page.locator("#choices li span"), "a prompt in the palette")
    page.keyboard.press("Escape")
    go(page, "#/s/fit-question")
    expect_right(page.locator("h1"), "the title of a session")
    page.get_by_role("button", name="Session options").first.click()
    page.get_by_role("button", name="Rename …").click()
    expect_right(page.locator("#form-name"), "the name while it is changed")
    page.keyboard.press("Escape")
    go(page, "#/s/fit-queue")
    line = page.locator("queue-row", has_text="اكتب")
    line.get_by_role("button", name="More").click()
    line.get_by_role("button", name="Cancel").click()
    notice = page.locator("#toast span")
    shown(notice).to_contain_text("اكتب")
    # The words around it are English, and its own order is kept apart from theirs.
    expect(notice.evaluate("each => getComputedStyle(each).unicodeBidi !== 'normal' || each.textContent.includes('\\u2068')"),
           "the text in a notice mixes with the words around it")
    page.locator("#toast button").click()
    shown(line).to_be_visible()
    for width in (1280, 320):
        page = browser.page(viewport={"width": width, "height": 700})
        page.evaluate("document.documentElement.dir = 'rtl'")
        for name in open_places(page):
            wide = page.evaluate(WIDE)
            expect(not wide, f"{name} at {width} from right to left is {wide}")
        page.context.close()
