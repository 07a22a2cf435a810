// The past of a session: each finished prompt, its sender, the agent's output, requests and result.

import { bare, coloured } from './ansi.js'
import { model, source } from './app.js'
import { counted, h, lasted, reconcile, say, show, text, time } from './dom.js'
import { isMarkdown, lastLines, markdown } from './markdown.js'
import { outputOf } from './output.js'

/** How many are shown at first, and how many more on demand. */
const PART = 20
/** Entries of the history that are read at once: about eight belong to one prompt. */
const ENTRIES = 200
/** Lines of an output that are shown at first; a short one is shown whole. */
const LINES = 6
const SHORT = 10
/** Characters and lines of a prompt that are shown at first. */
const LONG = 400
const TALL = 6

const ENDS = ['succeeded', 'failed', 'interrupted', 'unknown', 'cancelled']

class Conversation extends HTMLElement {
  #session; #turns = []; #older = []; #times = new Map(); #asked = []; #endings = new Map(); #before; #isRead = false; #isKnown = false; #isBusy = false

  /** `grown` makes a change above the rest; its argument says whether older prompts come. */
  open(session, grown) {
    this.#session = session
    this.grown = grown
    this.more = h('button.older', { type: 'button', hidden: true, onclick: () => this.#showOlder() })
    this.list = h('div.turns', { role: 'list', 'aria-label': 'What was done' })
    this.hidden = true
    this.replaceChildren(this.more, this.list)
  }

  /** Whether it is known that no prompt has ended here. */
  get isEmpty() { return !this.#turns.length && (this.#isKnown || model.ready && !model.sessions.has(this.#session)) }

  /** The daemon is back: reads what could not be read. */
  back() { this.update() }

  /** Whether the result of the last prompt is read here. */
  get tellsLast() { return Boolean(this.#turns.at(-1)?.output) }

  update() {
    for (const { session, asked, words, later } of model.decided.values()) {
      if (session === this.#session && asked && !later) this.#endings.set(question(asked), words)
    }
    // A prompt that an undo restored waits again.
    const again = this.#turns.filter(({ id }) => model.message(id))
    if (again.length) {
      this.#turns = this.#turns.filter((turn) => !again.includes(turn))
      this.#show()
    }
    // A session that does not exist has no history.
    if (!this.#isRead && model.ready && model.sessions.has(this.#session)) this.#read()
  }

  /** A prompt left the queue: it appears here at once, and then with the daemon's data. */
  async ended(message, written) {
    if (this.#turns.some(({ id }) => id === message.id)) return
    const turn = { id: message.id, message, output: written ? part(written) : null }
    this.#turns.push(turn)
    this.grown(() => this.#show())
    await this.#readTimes({ limit: 60 }).catch(() => {})
    const now = await outputOf(message.id).catch(() => null)
    if (now) this.#take(turn, now)
    const { status, session = this.#session } = turn.message
    // It was moved to another session, or waits again.
    if (session !== this.#session || ['queued', 'running'].includes(status) && now?.message) this.#turns.splice(this.#turns.indexOf(turn), 1)
    this.grown(() => this.#show())
  }

  async #read() {
    this.#isRead = true
    try {
      const session = this.#session
      const [done, cancelled] = await Promise.all(['done', 'cancelled'].map((state) => source.list('queues', { state, session })))
      // A prompt that was cancelled before it ran is not part of the history.
      const all = [done, cancelled].flatMap(({ queues }) => queues.flatMap(({ messages }) => messages))
        .filter(({ id, status, attempts }) => !model.message(id) && (status !== 'cancelled' || attempts))
      if (all.length) await this.#readTimes({ limit: ENTRIES })
      const end = ({ id, createdAt }) => this.#times.get(id)?.ended ?? Date.parse(createdAt)
      this.#older = all.filter(({ id }) => !this.#turns.some((turn) => turn.id === id)).sort((left, right) => end(right) - end(left))
      if (this.#older.length) await this.#showOlder()
      this.#isKnown = true
      model.touch()
    } catch (error) {
      // Without an answer, it is read when the daemon is back.
      if (!error.status) this.#isRead = false
    }
  }

  async #showOlder() {
    if (this.#isBusy) return
    this.#isBusy = true
    const shown = this.#older.splice(0, PART)
    try {
      if (shown.some(({ id }) => !this.#times.has(id)) && this.#before) {
        await this.#readTimes({ limit: ENTRIES, before: this.#before }).catch(() => {})
      }
      // All are complete before any is shown, so that nothing moves twice.
      const turns = shown.reverse().map((message) => ({ id: message.id, message }))
      await Promise.all(turns.map(async (turn) => this.#take(turn, await outputOf(turn.id).catch(() => ({})))))
      const had = this.#turns.length
      this.grown(() => {
        this.#turns.unshift(...turns.filter(({ id }) => !this.#turns.some((turn) => turn.id === id)))
        this.#show()
      }, true)
      if (had) say(`${counted(turns.length, 'older prompt')} shown`)
    } finally {
      this.#isBusy = false
    }
  }

  #take(turn, { text: written, there, message }) {
    if (message) turn.message = message
    turn.output = written ? part(written) : turn.output
    turn.there = there
  }

  /** When prompts began and ended, and their requests, from the log, latest first. */
  async #readTimes(query) {
    const { entries = [], next } = await source.list('history', { session: this.#session, ...query })
    if (query.limit === ENTRIES) this.#before = next
    for (const { at, action, what, message } of entries) {
      const when = at && Date.parse(at)
      if (!when) continue
      if (message) {
        const times = this.#times.get(message) ?? {}
        this.#times.set(message, times)
        // Of the latest attempt.
        if (action === 'running') times.began = Math.max(times.began ?? 0, when)
        else if (ENDS.includes(action) && what.startsWith('attempt')) times.ended = Math.max(times.ended ?? 0, when)
      } else if (action === 'task' && /^task: awaiting/.test(what)) {
        const words = what.slice(what.indexOf(', ') + 2)
        if (!this.#asked.some((each) => each.at === when && each.words === words)) this.#asked.push({ at: when, words })
      }
    }
  }

  #show() {
    this.hidden = !this.#turns.length
    show(this.more, this.#older.length > 0)
    text(this.more, `Show ${Math.min(PART, this.#older.length)} older`)
    reconcile(this.list, this.#turns, { key: ({ id }) => id, make: () => h('div', { role: 'listitem' }), update: (node, turn) => this.#fill(node, turn) })
  }

  #fill(node, turn) {
    const { message, output, there } = turn
    const times = this.#times.get(turn.id) ?? {}
    const asked = this.#asked.filter(({ at }) => at >= times.began && at <= (times.ended ?? Infinity)).sort((left, right) => left.at - right.at)
    const signature = JSON.stringify([message, output, there, times, asked, asked.map(({ words }) => this.#endings.get(words))])
    if (node.signature === signature) return
    node.signature = signature
    node.className = `turn ${message.status}`
    const names = (message.attachments ?? []).map(({ name }) => name)
    const from = message.byAgent ? `an agent on ${message.device}` : message.device
    node.replaceChildren(...[
      h('p.meta', {}, when(times.began ?? message.createdAt), ' · ', from, names.length ? ` · ${names.join(', ')}` : ''),
      prompt(message.content),
      ...asked.map(({ at, words }) => h('p.decision', {}, when(at), ' ', h('span', { dir: 'auto' }, words),
        h('span.meta', {}, ` · ${this.#endings.get(words) ?? 'asked'}`))),
      output ? written(turn.id, output) : there ? h('p.meta', {}, there) : null,
      h('p.end', {}, ending(message), h('span.meta', {}, [
        times.ended && [' · ', when(times.ended)], times.ended - times.began >= 1000 && ` · ${lasted(times.ended - times.began)}`,
        message.attempts > 1 && ` · ${message.attempts} attempts`].flat().filter(Boolean))),
    ].filter(Boolean))
  }
}

customElements.define('past-turns', Conversation)

/** The name of a request in the history. */
const question = ({ request, question: asked }) => (request ? `${request.toolName}: ${request.summary}` : asked?.question)

/** An exact time in a short form. */
function when(at) {
  const date = new Date(at)
  return h('time', { dateTime: date.toISOString(), title: date.toLocaleString() }, time(date.getTime()))
}

function ending({ status, lastError }) {
  const why = lastError ? `: ${bare(lastError)}` : ''
  return { succeeded: '✓ Done', skipped: `Skipped${why}`, cancelled: 'Stopped', failed: `Failed${why}` }[status] ?? 'Ended'
}

/** A text of which the beginning is shown, and the rest on demand. */
function prompt(content) {
  const shown = h('div.prompt', { dir: 'auto' }, markdown(content))
  if (content.length <= LONG && content.split('\n').length <= TALL) return shown
  shown.classList.add('cut')
  return h('div', {}, shown, fold('Show all of it', 'Show less', (isOpen) => shown.classList.toggle('cut', !isOpen)))
}

/** The end of an output, and how many lines it has. */
function part(output) {
  const lines = output.replace(/\s+$/, '').split('\n')
  const isText = isMarkdown(output)
  const end = lines.length <= SHORT ? lines : isText ? lastLines(lines, LINES) : lines.slice(-LINES)
  return { count: lines.length, end: end.join('\n'), isText }
}

/** Shows the end of an output, and all of it on demand; only then is it read whole. */
function written(id, { count, end, isText }) {
  const box = h('div.said', { tabIndex: 0, role: 'group', 'aria-label': 'Output' })
  let shown = end
  let isFormatted = isText
  const draw = () => box.replaceChildren(isFormatted ? markdown(shown) : h('pre', { dir: 'auto' }, coloured(shown)))
  draw()
  const open = async (isOpen) => {
    box.classList.toggle('whole', isOpen)
    shown = end
    if (!isOpen) return draw()
    try {
      shown = (await outputOf(id, true)).text ?? end
      draw()
    } catch (error) {
      box.append('\n', error.message)
    }
  }
  return h('div', {}, count > SHORT && fold(`Show all ${count} lines of output`, 'Show only the end', open), box,
    isText && fold('Show as written', 'Show formatted', (isSource) => (isFormatted = !isSource, draw())))
}

/** A button that opens and closes. */
function fold(closed, opened, toggle) {
  const button = h('button.link.fold', { type: 'button', 'aria-expanded': 'false', onclick: () => {
    const isOpen = button.getAttribute('aria-expanded') !== 'true'
    button.setAttribute('aria-expanded', String(isOpen))
    text(button, isOpen ? opened : closed)
    toggle(isOpen)
  } }, closed)
  return button
}
