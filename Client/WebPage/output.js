// The output of an agent: read, and shown with its colours while it grows.

import { Screen } from './ansi.js'
import { model, source } from './app.js'
import { h, show, text } from './dom.js'

const PERIOD = 1000

/**
 * What the latest attempt of a message wrote, as far as this device has it: `{text, there, message}`; `there` names
 * the device that has it, and `message` is the message as it is now.
 */
export async function outputOf(id) {
  const { output, outputDevice, message } = await source.list('history', { message: id, limit: 1 })
  return { text: output ? (output.truncated ? '… the beginning is not kept\n' : '') + output.text : null, there: outputDevice, message }
}

/** The output of one message. It follows new text until its user scrolls up. */
export class LiveOutput {
  #session; #id = null; #timer; #screen; #isOwn = false; #written = ''

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
  get text() { return this.#written }

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
    this.#written = ''
    show(this.element, Boolean(id))
    if (!id) return
    this.#screen.clear()
    const read = () => !document.hidden && this.#read(id)
    read()
    this.#timer = setInterval(read, PERIOD)
  }

  stop() { clearInterval(this.#timer) }

  async #read(id) {
    const runs = model.message(id)?.status === 'running'
    text(this.title, runs ? 'Live output' : 'Output')
    show(this.follow, runs)
    try {
      const { text: written, there } = await outputOf(id)
      // Another output is shown by now.
      if (id !== this.#id) return
      this.#written = written ?? ''
      if (written == null) {
        const host = model.sessions.get(this.#session)?.host
        const device = there ?? (host && host !== model.sync?.device ? model.deviceName(host) : null)
        this.#screen.show(device ? `It ${runs ? 'runs' : 'ran'} on ${device}. Its output is there.`
          : runs ? 'Nothing was written yet.' : 'Its output was not kept.')
      } else {
        const follows = this.#follows
        this.#screen.show(written || (runs ? 'Nothing was written yet.' : 'Nothing was written.'))
        if (follows) this.box.scrollTop = this.box.scrollHeight
      }
    } catch (error) {
      if (id !== this.#id) return
      this.#screen.show(error.message)
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
