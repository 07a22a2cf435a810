// Writing a new message: it always works, and shows beforehand what will happen.

import { drafts, filesProblem, model, packed, send, source } from './app.js'
import { h, refill, show, size, svg, text, toast } from './dom.js'
import { isStuck } from './model.js'
import { storedFiles } from './storage.js'

function icon(line) {
  const picture = svg('svg', { viewBox: '0 0 20 20', width: 18, height: 18, 'aria-hidden': 'true' })
  picture.append(svg('path', { d: line, fill: 'none', stroke: 'currentColor', 'stroke-width': 1.6, 'stroke-linecap': 'round' }))
  return picture
}

/** Places in the queue, in words. */
const ORDINALS = ['next', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth']

class Composer extends HTMLElement {
  #session; #files = []; #timer; #packing = false; #end = new AbortController()
  /** Addresses of pictures that are shown, by their files. */
  #pictures = new Map()

  open(session) {
    this.#session = session
    this.field = h('textarea', {
      rows: 1, dir: 'auto', id: 'composer-text', placeholder: matchMedia('(max-width: 30em)').matches ? 'What next?' : 'What should the agent do next?',
      oninput: () => this.#typed(), onkeydown: (event) => this.#keys(event), onpaste: (event) => this.#paste(event),
    })
    this.what = h('p.meta', { id: 'composer-what' })
    this.field.setAttribute('aria-describedby', 'composer-what')
    this.list = h('ul.files', { hidden: true, 'aria-label': 'Files to send' })
    this.bar = h('progress', { hidden: true, max: 1, 'aria-label': 'Upload' })
    const box = (id, words) => h('label.check', {}, h('input', { type: 'checkbox', id, onchange: () => this.update() }), words)
    this.stops = box('composer-interrupt', ' interrupt')
    const urgent = box('composer-urgent', ' urgent')
    this.urgent = urgent.firstChild
    const chooser = (id, values) => h('input.unseen', { type: 'file', id, tabIndex: -1, ...values, onchange: ({ target }) => {
      this.add([...target.files])
      target.value = ''
    } })
    this.input = chooser('composer-files', { multiple: true })
    this.camera = chooser('composer-camera', { accept: 'image/*', capture: 'environment' })
    this.button = h('button.main', { type: 'submit', title: 'Ctrl+Enter' }, 'Queue')
    const tool = (kind, label, sign, run) => h(`button${kind}`, { type: 'button', 'aria-label': label, title: label, onclick: run }, sign)
    this.replaceChildren(h('form', { onsubmit: (event) => (event.preventDefault(), this.#send()) },
      h('label.unseen', { htmlFor: 'composer-text' }, 'New message'), this.list, this.bar,
      h('div.line', {}, tool('.tool', 'Add files', icon('M14.5 8.5 9 14a3 3 0 0 1-4.2-4.2l6-6a2 2 0 0 1 2.9 2.9l-5.9 5.8'), () => this.input.click()), this.input,
        tool('.tool.touch', 'Take a picture', icon('M3 6.5h3l1.5-2h5l1.5 2h3v9H3zM10 8.5a2.5 2.5 0 1 0 .01 0z'), () => this.camera.click()), this.camera, this.field, this.button),
      h('div.under', {}, this.what, this.stops, urgent),
      h('label.unseen', { htmlFor: 'composer-files' }, 'Files'), h('label.unseen', { htmlFor: 'composer-camera' }, 'Picture')))
    this.#restore()
    // All tabs of a browser share one draft: text typed in one appears in the others.
    addEventListener('storage', ({ key, newValue }) => {
      if (key !== `cospool.draft.${this.#name}` || this.field.value === (newValue ?? '')) return
      this.field.value = newValue ?? ''
      this.#grow()
    }, { signal: this.#end.signal })
    this.update()
  }

  get #name() { return `text.${this.#session}` }

  /** Text typed in this browser comes first, then what the daemon keeps for this device. */
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
    // A message on its way to the queue is no longer a draft.
    const isSent = sending.some((each) => each.session === this.#session && each.text === draft?.text)
    if (!draft || isSent || this.field.value) return
    this.field.value = draft.text
    this.#grow()
  }

  /** Shows what sending will do. */
  update() {
    const queue = model.queues.get(this.#session) ?? []
    const max = model.daemon?.queueSizeMax
    const running = model.running(this.#session)
    // The choice was about the turn that was shown.
    if (this.turn?.id !== running?.id) this.stops.firstChild.checked = false
    this.turn = running
    show(this.stops, Boolean(running && !running.withdrawn))
    const words = model.link === 'down' ? 'Cospool does not answer: kept here, and sent when it is back'
      : max && queue.length >= max ? `The queue is full (${queue.length} of ${max}): Cospool would refuse the message`
        : this.#forecast(queue)
    text(this.what, words)
    this.what.classList.toggle('warn', Boolean(max && queue.length >= max))
  }

  /** What sending will interrupt. */
  get #stopped() { return !this.stops.hidden && this.stops.firstChild.checked && this.turn }

  /** Whether it starts at once, and otherwise what it waits for. */
  #forecast(queue) {
    const session = model.sessions.get(this.#session)
    const here = model.sync?.device
    const name = model.deviceName(session?.host)
    if (session?.paused) return 'Waits: the queue is paused'
    if (queue.some(isStuck)) return 'Waits: the queue is stopped'
    if (!session?.host) return 'Waits: no device runs this session'
    if (session.host === here && model.agentless.has(this.#session)) return `Waits: ${name} has no agent for it`
    if (model.unconsented.has(this.#session)) return `Waits: it may not run on ${name} yet`
    if (model.sync?.devices?.some(({ id, connected }) => id === session.host && !connected)) return `Waits: ${name} is offline`
    const stops = this.#stopped
    const before = queue.filter(({ status, priority, attempts }) => status === 'queued' && (attempts || (priority === 'urgent' ? !stops || !this.urgent.checked : !stops && !this.urgent.checked))).length
    if (!before && (stops || !this.turn)) return stops ? 'Stops the running turn, then starts this' : `Runs at once on ${name}`
    return `${stops ? 'Stops the running turn, then waits' : 'Waits'}: ${ORDINALS[before] ?? `number ${before + 1}`} in line`
  }

  focus() { this.field.focus() }

  /** Later, it would be the text of a different message. */
  disconnectedCallback() {
    this.#end.abort()
    if (this.#timer) this.#keep()
    for (const address of this.#pictures.values()) URL.revokeObjectURL(address)
    this.#pictures.clear()
  }

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
    this.field.style.height = `${Math.min(this.field.scrollHeight + 2, Math.max(80, innerHeight * 0.3))}px`
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

  /** Adds files to the message. */
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
    for (const [file, address] of this.#pictures) {
      if (this.#files.includes(file)) continue
      URL.revokeObjectURL(address)
      this.#pictures.delete(file)
    }
    refill(this.list, this.#files.map((file) => h('li', {}, this.#picture(file), `${file.name || 'pasted'} (${size(file.size)})`,
      h('button.link', { type: 'button', 'aria-label': `Remove ${file.name || 'pasted'}`, onclick: () => {
        this.#files = this.#files.filter((each) => each !== file)
        this.#showFiles()
        this.#keepFiles()
      } }, '×'))), this.field)
  }

  /** A picture is shown small, unless it only claims to be one. */
  #picture(file) {
    if (!file.type.startsWith('image/')) return null
    if (!this.#pictures.has(file)) this.#pictures.set(file, URL.createObjectURL(file))
    return h('img.preview', { src: this.#pictures.get(file), alt: '', onerror: ({ target }) => target.remove() })
  }

  async #send() {
    const typed = this.field.value
    // Files take a moment; a second press in that time sends nothing twice.
    if (this.#packing) return
    if (!typed.trim()) {
      if (this.#files.length) toast('Add a few words: what should the agent do with it?')
      return this.field.focus()
    }
    const files = [...this.#files]
    const urgent = this.urgent.checked
    const interrupt = this.#stopped ? { message: this.turn.id, attempts: this.turn.attempts } : undefined
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
    // Text and files added in the meantime are for the next message.
    if (this.field.value.startsWith(typed)) this.field.value = this.field.value.slice(typed.length)
    this.urgent.checked = this.stops.firstChild.checked = false
    this.#files = this.#files.filter((file) => !files.includes(file))
    this.#showFiles()
    this.#keepFiles()
    this.#grow()
    drafts.set(this.#name, this.field.value)
    this.field.focus()
    await send(this.#session, typed, { urgent, attachments, interrupt, progress })
    this.#keep()
  }
}

customElements.define('queue-composer', Composer)
