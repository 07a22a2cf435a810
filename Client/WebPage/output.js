// The output of an agent: read, and shown with its colours while it grows.

import { Screen } from './ansi.js'
import { model, source } from './app.js'
import { h, show, text } from './dom.js'

const PERIOD = 1000
const TAIL = 16384

/**
 * What the latest attempt of a message wrote: `{text, there, message}`; `there` says why another device's output is not
 * here, and `message` is the message as it is now. Of another device's output the end is read unless `isWhole`, and
 * what follows it if `had` is the earlier result.
 */
export async function outputOf(id, isWhole, had) {
  const far = (part) => source.list(`messages/${id}/output`, part)
  if (had?.next) {
    const { text: more, next, running } = await far({ attempt: had.attempt, from: had.next, wait: 1 })
    return { ...had, text: (had.text + more).slice(-1e6), next: running && next }
  }
  let there = null
  let { output, outputDevice, message } = await source.list('history', { message: id, limit: 1 })
  const read = () => far(isWhole ? {} : { tail: TAIL })
  if (outputDevice) {
    // A busy or slow device is asked once more.
    output = await read().catch((error) => { if (error.code === 'hostAway') throw error; return read() }).catch((error) => { there = error.message })
  }
  return { text: output ? (output.truncated ? '… the beginning is not here\n' : '') + output.text : null, there, message,
    next: outputDevice && output?.running && output.next, attempt: output?.attempt }
}

/** The output of one message. It follows new text until its user scrolls up. */
export class LiveOutput {
  #session; #id = null; #timer; #screen; #isOwn = false; #had = null; #isBusy = false

  constructor(session) {
    this.#session = session
    this.title = h('h2')
    this.box = h('pre.output', { tabIndex: 0, role: 'region', 'aria-label': 'Output', onscroll: () => this.#showFollows() })
    this.follow = h('button.link', { type: 'button', onclick: () => this.#toEnd() }, 'Follow')
    this.#screen = new Screen(this.box)
    this.element = h('section.outputs', { hidden: true }, h('div.bar', {}, this.title, h('div.buttons', {}, this.follow,
      h('button.link', { type: 'button', onclick: () => this.show(null) }, 'Close'))), this.box)
  }

  /** The message whose output is shown, or was closed. */
  get id() { return this.#id }

  /** The output of its agent, as far as it was read. */
  get text() { return this.#had?.text ?? '' }

  /** Shows the output of the running message, unless a user closed it, and hides it after the end. */
  update(running) {
    if (running && running.id !== this.#id) this.show(running.id, false)
    else if (!running && this.#id && !this.#isOwn) this.show(null)
    else if (this.#isOwn && !model.message(this.#id)) this.show(null)
  }

  /** `isOwn`: a user asked for it, so it stays until the message leaves the queue. */
  show(id, isOwn = true) {
    this.stop()
    this.#id = id ?? model.running(this.#session)?.id ?? null
    this.#isOwn = Boolean(id) && isOwn
    this.#had = null
    show(this.element, Boolean(id))
    if (!id) return
    this.#screen.clear()
    const read = () => !document.hidden && this.#isBusy !== id && this.#read(id)
    read()
    this.#timer = setInterval(read, PERIOD)
  }

  stop() { clearInterval(this.#timer) }

  async #read(id) {
    const runs = model.message(id)?.status === 'running'
    text(this.title, runs ? 'Live output' : 'Output')
    show(this.follow, runs)
    this.#isBusy = id
    try {
      const now = await outputOf(id, false, this.#had)
      // Another output is shown by now.
      if (id !== this.#id) return
      this.#had = now
      const { text: written, there } = now
      if (written == null) this.#screen.show(there ?? (runs ? 'Nothing was written yet.' : 'Its output was not kept.'))
      else {
        const follows = this.#follows
        this.#screen.show(written || (runs ? 'Nothing was written yet.' : 'Nothing was written.'))
        if (follows) this.box.scrollTop = this.box.scrollHeight
      }
    } catch (error) {
      if (id !== this.#id) return
      this.#had = null
      this.#screen.show(error.message)
    } finally {
      if (this.#isBusy === id) this.#isBusy = false
    }
    this.#showFollows()
    if (!runs) this.stop()
  }

  get #follows() { return this.box.scrollTop + this.box.clientHeight >= this.box.scrollHeight - 8 }

  #showFollows() { this.follow.setAttribute('aria-pressed', String(this.#follows)) }

  #toEnd() {
    this.box.scrollTop = this.box.scrollHeight
    this.#showFollows()
  }
}
