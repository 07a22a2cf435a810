// Writing a new message: never out of service, and it says beforehand what will happen.

import { drafts, filesProblem, model, packed, send, source } from './app.js'
import { h, refill, show, size, text, toast } from './dom.js'
import { storedFiles } from './storage.js'

class Composer extends HTMLElement {
  #session; #files = []; #timer; #packing = false

  open(session) {
    this.#session = session
    this.field = h('textarea', {
      rows: 1, dir: 'auto', id: 'composer-text', placeholder: 'What should the agent do next?',
      oninput: () => this.#typed(), onkeydown: (event) => this.#keys(event), onpaste: (event) => this.#paste(event),
    })
    this.what = h('p.meta', { id: 'composer-what' })
    this.field.setAttribute('aria-describedby', 'composer-what')
    this.list = h('ul.files', { hidden: true, 'aria-label': 'Files to send' })
    this.bar = h('progress', { hidden: true, max: 1, 'aria-label': 'Upload' })
    this.urgent = h('input', { type: 'checkbox', id: 'composer-urgent', onchange: () => this.update() })
    const chooser = (id, values) => h('input.unseen', { type: 'file', id, tabIndex: -1, ...values, onchange: ({ target }) => {
      this.add([...target.files])
      target.value = ''
    } })
    this.input = chooser('composer-files', { multiple: true })
    this.camera = chooser('composer-camera', { accept: 'image/*', capture: 'environment' })
    this.button = h('button.main', { type: 'submit' }, 'Queue')
    this.replaceChildren(h('form', { onsubmit: (event) => (event.preventDefault(), this.#send()) },
      h('label.unseen', { htmlFor: 'composer-text' }, 'New message'), this.field, this.list, this.bar,
      h('div.buttons', {}, this.button,
        h('button', { type: 'button', onclick: () => this.input.click() }, 'Add files'), this.input,
        h('button.touch', { type: 'button', onclick: () => this.camera.click() }, 'Take a picture'), this.camera,
        h('label.check', {}, this.urgent, ' urgent'), this.what),
      h('label.unseen', { htmlFor: 'composer-files' }, 'Files'), h('label.unseen', { htmlFor: 'composer-camera' }, 'Picture')))
    this.#restore()
    this.update()
  }

  get #name() { return `text.${this.#session}` }

  /** What was typed in this browser comes first, then what the daemon keeps of this device. */
  async #restore() {
    this.field.value = drafts.get(this.#name)
    this.#grow()
    storedFiles.get(`files.${this.#session}`).then((files) => {
      this.#files.unshift(...files)
      this.#showFiles()
    })
    if (this.field.value) return this.#keep()
    const sending = [...model.sending.values()]
    const all = await source.list('drafts').catch(() => null)
    const draft = all?.drafts.find((each) => each.session === this.#session)
    // What is on its way to the queue is no draft any more.
    const isSent = sending.some((each) => each.session === this.#session && each.text === draft?.text)
    if (!draft || isSent || this.field.value) return
    this.field.value = draft.text
    this.#grow()
  }

  /** Says what sending will do. */
  update() {
    const session = model.sessions.get(this.#session)
    const queue = model.queues.get(this.#session) ?? []
    const max = model.daemon?.queueSizeMax
    const place = this.urgent.checked ? queue.filter((each) => each.priority === 'urgent' || each.status !== 'queued').length + 1 : queue.length + 1
    const words = model.link === 'down' ? 'Cospool does not answer: kept here, and sent when it is back'
      : max && queue.length >= max ? `The queue is full (${queue.length} of ${max}): Cospool would refuse the message`
        : session?.paused ? `Position ${place}; the queue is paused`
          : queue.length ? `Position ${place}` : session?.host ? 'Starts next' : 'First in the queue'
    text(this.what, words)
    this.what.classList.toggle('warn', Boolean(max && queue.length >= max))
  }

  focus() { this.field.focus() }

  /** Later it would be another one's text. */
  disconnectedCallback() { if (this.#timer) this.#keep() }

  #typed() {
    drafts.set(this.#name, this.field.value)
    this.#grow()
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#keep(), 1000)
  }

  /** The daemon keeps it, too, so that `cospool draft` shows it. */
  #keep() {
    clearTimeout(this.#timer)
    this.#timer = null
    source.act('draft', { session: this.#session, text: this.field.value }).catch(() => {})
  }

  #grow() {
    this.field.style.height = 'auto'
    this.field.style.height = `${Math.min(this.field.scrollHeight + 2, 320)}px`
  }

  #keys(event) {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    this.#send()
  }

  #paste(event) {
    const files = [...event.clipboardData.files]
    if (!files.length) return
    event.preventDefault()
    this.add(files)
  }

  /** Takes files that go with the message. */
  add(files) {
    const problem = filesProblem(files, this.#files)
    if (problem) return toast(problem)
    this.#files.push(...files)
    this.#showFiles()
    this.#keepFiles()
  }

  #keepFiles() { storedFiles.put(`files.${this.#session}`, this.#files) }

  #showFiles() {
    show(this.list, this.#files.length > 0)
    refill(this.list, this.#files.map((file) => h('li', {}, `${file.name || 'pasted'} (${size(file.size)})`,
      h('button.link', { type: 'button', 'aria-label': `Take ${file.name || 'pasted'} away`, onclick: () => {
        this.#files = this.#files.filter((each) => each !== file)
        this.#showFiles()
        this.#keepFiles()
      } }, '×'))), this.field)
  }

  async #send() {
    const typed = this.field.value
    // Files take a moment, in which a second press sends nothing twice.
    if (this.#packing) return
    if (!typed.trim()) return this.field.focus()
    const files = [...this.#files]
    const urgent = this.urgent.checked
    let attachments
    this.#packing = true
    try {
      attachments = files.length ? await Promise.all(files.map(packed)) : undefined
    } catch (error) {
      return toast(error.message)
    } finally {
      this.#packing = false
    }
    const progress = attachments && ((part) => {
      show(this.bar, part < 1)
      this.bar.value = part
    })
    clearTimeout(this.#timer)
    // What was typed and added meanwhile is for the next message.
    if (this.field.value.startsWith(typed)) this.field.value = this.field.value.slice(typed.length)
    if (urgent) this.urgent.checked = false
    this.#files = this.#files.filter((file) => !files.includes(file))
    this.#showFiles()
    this.#keepFiles()
    this.#grow()
    drafts.set(this.#name, this.field.value)
    this.field.focus()
    await send(this.#session, typed, { urgent, attachments, progress })
    this.#keep()
  }
}

customElements.define('queue-composer', Composer)
