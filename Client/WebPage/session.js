// One session: its past, what runs, what waits, and the composer.

import { model, perform, source } from './app.js'
import './composer.js'
import './conversation.js'
import { age, counted, guardPresses, h, reconcile, settle, show, text, toast } from './dom.js'
import { begun } from './editor.js'
import { STUCK, isStuck } from './model.js'
import './next.js'
import { LiveOutput } from './output.js'
import './request.js'
import './row.js'
import { TitleMenu, entitle } from './title.js'

/** How long the page waits after a change before it asks the daemon why nothing starts, in milliseconds. */
const NOTE_AFTER = 400

/** Reasons that the page knows itself, or shows elsewhere. */
const TOLD = ['asks', 'stopped', 'working', 'paused', 'unhosted', 'unconsented', 'agentless', 'hostAway', 'merged', 'idle']

/** How much of the past is visible above the present, in pixels. */
const PEEK = 80

class SessionView extends HTMLElement {
  #id; #output; #settling
  /** Why it is paused or does not continue, and the state for which that is known. */
  #known = null
  #knownOf = null
  #knownSession
  #needsAge
  #readingNeeds = null
  #asking
  /** The device that was chosen here, until its event arrives. */
  #chosen = null
  /** What happened to messages that left the queue while they were edited here; nothing until that is known. */
  #over = new Map()
  /** The messages that ran, or waited for a decision, when the page last looked. */
  #current = new Map()

  open(id) {
    this.#id = id
    this.heading = h('h1', { dir: 'auto' })
    this.about = h('span')
    this.pause = h('button', { type: 'button', onclick: () => this.#togglePause() })
    this.stop = h('button.danger', { type: 'button', hidden: true, onclick: () => this.querySelector('queue-row.running')?.run('stop') }, 'Stop')
    this.host = h('select', { id: 'host', onchange: () => this.#setHost(), onkeydown: (event) => this.#pickHost(event) })
    this.menu = new TitleMenu(id)
    this.task = h('div.task', { hidden: true })
    this.request = h('div.requests')
    this.more = h('p.meta', { hidden: true })
    this.nothing = h('p.quiet', {}, 'Nothing has run here yet.')
    this.paused = h('p.strip.warn', { hidden: true })
    this.whyWords = h('span')
    this.hostHere = h('button', { type: 'button', onclick: () => this.#hostHere() })
    this.why = h('p.strip.warn', { hidden: true, role: 'status' }, this.whyWords, ' ', this.hostHere)
    this.trouble = h('p.strip.bad', { hidden: true })
    this.#output = new LiveOutput(id)
    this.past = document.createElement('past-turns')
    this.current = h('div.queue', { role: 'list', 'aria-label': 'Now' })
    this.next = document.createElement('next-list')
    this.composer = document.createElement('queue-composer')
    this.head = h('div.session-head', {},
      h('div.bar', {}, h('div.name', {}, this.heading, this.menu.element), h('div.buttons', {}, this.pause, this.stop)),
      h('p.meta.about', {}, this.about, h('label', { htmlFor: 'host' }, 'Runs on ', this.host)),
      this.trouble, this.paused, this.why)
    this.now = h('section.now', { 'aria-label': 'Now' }, this.current, this.task, this.#output.element)
    this.talk = h('div.past-and-now', {}, this.nothing, this.past, this.request, this.more, this.now)
    this.replaceChildren(this.head, this.talk, h('div.beside', {}, this.next), this.composer)
    this.addEventListener('output', (event) => this.#output.show(event.detail.id))
    this.past.open(id, (change, isOlder) => (isOlder ? this.#grown(change) : this.#steady(change)))
    this.next.open(id)
    this.composer.open(id)
    guardPresses(this)
    document.documentElement.classList.add('in-session')
    this.sizes = new ResizeObserver(() => this.#settle())
    for (const each of [this, this.head, this.composer]) this.sizes.observe(each)
    this.update()
  }

  /** A row that appears or disappears above another one puts a different row under the pointer. */
  #settle() {
    this.#settling = null
    for (const name of ['head', 'composer']) document.documentElement.style.setProperty(`--${name}`, `${this[name].offsetHeight}px`)
    settle([...this.request.children, ...this.current.children])
    // Beside the conversation, the queue scrolls by itself.
    settle(this.next.list.children, this.next.scrollTop || scrollY)
  }

  /** Older prompts appear above the visible ones, which keep their place; at first, the latest are visible. */
  #grown(change) {
    const isFirst = this.past.hidden
    const edge = () => (this.past.hidden ? this.talk.getBoundingClientRect().top : this.past.getBoundingClientRect().bottom)
    const before = edge()
    change()
    if (!isFirst || this.contains(document.activeElement) && document.activeElement !== this.composer.field) return scrollBy(0, edge() - before)
    const bottom = Math.max(...[...this.talk.children].map((each) => each.getBoundingClientRect().bottom))
    const end = innerHeight - this.composer.offsetHeight
    // A little of the queue is in sight if it is below, and the end of the past.
    const room = this.next.getBoundingClientRect().left > this.past.getBoundingClientRect().left ? 16 : Math.min(this.next.offsetHeight, end * 0.4)
    scrollBy(0, Math.min(bottom - end + room, edge() - this.head.getBoundingClientRect().bottom - PEEK))
  }

  disconnectedCallback() {
    this.#output?.stop()
    this.menu?.leave()
    this.sizes?.disconnect()
    clearTimeout(this.#asking)
    clearTimeout(this.#readingNeeds)
    document.documentElement.classList.remove('in-session')
    model.forgetRead()
  }

  /** Its rows show how far each message has come. */
  get showsDelivery() { return true }

  get #lines() { return [...this.current.children, ...this.next.list.children] }

  /** The daemon is back. */
  back() {
    for (const row of this.#lines) row.back()
    this.past.back()
  }

  /** Files that were dropped over the page. */
  takeFiles(files) { this.composer.add(files) }

  update() { this.#steady(() => this.#update()) }

  /** Makes a change. A queue that a user works in keeps its place, whatever grows or disappears above it. */
  #steady(change) {
    const isHeld = this.next.matches(':hover, :focus-within')
    const before = isHeld && this.next.getBoundingClientRect().top
    change()
    if (isHeld) scrollBy(0, this.next.getBoundingClientRect().top - before)
  }

  #update() {
    const session = model.sessions.get(this.#id)
    const task = model.tasks.get(this.#id)
    const rows = model.rows(this.#id)
    this.#tellPast(rows)
    // A row that a user edits stays, with the typed text, even if its message left the queue, and over a reload.
    const edits = [...(model.ready ? begun(this.#id) : []), ...this.#lines.flatMap(({ edited }) => edited ?? [])]
    for (const [id, edit] of new Map(edits.map((each) => [each.id, each]))) {
      if (rows.some((each) => each.id === id)) this.#over.delete(id)
      else rows.push(...this.#left(edit))
    }
    const host = session?.host && session.host !== model.sync?.device ? model.deviceName(session.host) : null
    const away = host && model.sync?.devices?.some(({ id, connected }) => id === session.host && !connected) ? host : null
    const running = model.running(this.#id)
    entitle(this.heading, session?.name || this.#id)
    text(this.about, [
      session ? null : model.ready ? 'New session. Your first message creates it.' : '',
      session?.archived ? 'Archived' : null, session?.name && session.name !== this.#id ? this.#id : null, session?.project,
    ].filter(Boolean).join(' · '))
    text(this.pause, session?.paused ? 'Resume' : 'Pause')
    show(this.pause, Boolean(session))
    show(this.stop, Boolean(running))
    this.menu.update(session)
    this.#updateHost(session)
    this.#updateStrips(session, rows)
    this.#readNeedsSoon(rows)
    // What was decided goes when nobody is at it, and moves nothing under a finger.
    if (!this.matches(':hover, :focus-within')) model.forgetRead(8000)
    reconcile(this.request, model.asked(this.#id), {
      key: (each) => each.id, make: () => document.createElement('request-card'), update: (card, each) => card.update(each),
    })
    show(this.more, task?.moreRequests > 0)
    if (task?.moreRequests) text(this.more, `${counted(task.moreRequests, 'more request')} will appear when you answer one of these.`)
    this.#updateRows(rows, away)
    this.composer.update()
    this.past.update()
    this.#updateTask(task)
    settle(this.request.children)
    // After the frame, when reading the positions costs nothing.
    this.#settling ??= setTimeout(() => this.#settle())
    this.#output.update(host ? null : running)
    show(this.now, this.current.childElementCount > 0 || !this.task.hidden || !this.#output.element.hidden)
    show(this.nothing, this.past.isEmpty && this.now.hidden && !this.request.childElementCount)
  }

  /** Messages that run or wait for a decision follow the past; those that wait their turn are the queue. */
  #updateRows(rows, away) {
    const waiting = rows.filter((message) => message.status === 'queued')
    const [first, last] = [waiting[0], waiting.at(-1)]
    const indexes = new Map(rows.map((message, index) => [message, index]))
    const place = (message) => ({ index: indexes.get(message), session: this.#id, away, first: message === first, last: message === last })
    // A row that a user writes in stays in its list: typed text goes nowhere else.
    const edited = new Map(this.#lines.flatMap((row) => (row.edited ? [[row.edited.id, row.parentElement === this.current]] : [])))
    const isNow = (message) => edited.get(message.id) ?? (!['queued', 'sending'].includes(message.status) || isStuck(message))
    reconcile(this.current, rows.filter(isNow), {
      key: (message) => message.id, make: () => document.createElement('queue-row'), update: (row, message) => row.update(message, place(message)),
    })
    this.next.update(rows.filter((message) => !isNow(message)), place)
  }

  /** A message that ran or had failed, and left the queue, has ended. */
  #tellPast(rows) {
    if (!model.ready) return
    const current = new Map(rows.filter(({ status }) => status === 'running' || STUCK.includes(status)).map((message) => [message.id, message]))
    for (const [id, message] of this.#current) {
      if (rows.some((each) => each.id === id)) continue
      this.past.ended(message, this.#output.id === id ? this.#output.text : '')
    }
    this.#current = current
  }

  /** A message that is edited here and has left the queue; none before the daemon reports what happened to it. */
  #left(edit) {
    if (!this.#over.has(edit.id)) this.#readLeft(edit)
    return this.#over.get(edit.id) ?? (edit.status ? [edit] : [])
  }

  async #readLeft(edit) {
    const { id } = edit
    this.#over.set(id, null)
    try {
      this.#over.set(id, [{ ...await source.list(`messages/${id}`), position: null }])
    } catch (error) {
      // Without an answer, it is requested again.
      if (error.status !== 404) return this.#over.delete(id)
      this.#over.set(id, [{ ...edit, position: null, status: 'cancelled' }])
    }
    model.touch()
  }

  #updateHost(session) {
    const devices = [{ id: model.sync?.device, name: model.sync?.deviceName }, ...(model.sync?.devices ?? [])].filter((each) => each.id)
    const { before, answered } = this.#chosen ?? {}
    // After the answer, the first event of the session reports the state.
    if (session?.host !== before || answered && answered !== session) this.#chosen = null
    const host = this.#chosen?.host ?? session?.host ?? ''
    const signature = JSON.stringify([devices.map(({ id, name }) => [id, name]), host])
    show(this.host.parentElement, Boolean(session))
    if (this.host.signature === signature) return
    this.host.signature = signature
    this.host.replaceChildren(h('option', { value: '' }, 'no device'),
      ...devices.map((device) => h('option', { value: device.id }, device.name + (device.id === model.sync?.device ? ' (this one)' : ''))))
    this.host.value = host
  }

  /** In a closed list, each arrow key would assign the session to another device: keys open it, and the user chooses one. */
  #pickHost(event) {
    const changes = /^(Arrow|Home|End|Page|[^ ]$)/.test(event.key) && !event.ctrlKey && !event.metaKey
    if (!changes || !CSS.supports('selector(:open)') || this.host.matches(':open')) return
    event.preventDefault()
    this.host.showPicker()
  }

  #hostHere() {
    this.host.value = model.sync.device
    this.#setHost()
  }

  async #setHost() {
    const chosen = this.#chosen = { host: this.host.value, before: model.sessions.get(this.#id)?.host }
    const answer = await perform('host', { session: this.#id, device: this.host.value || undefined })
    if (answer?.warning) toast(answer.warning)
    if (answer) return (chosen.answered = model.sessions.get(this.#id))
    if (this.#chosen === chosen) this.#chosen = null
    this.host.signature = null
    model.touch()
  }

  #updateStrips(session, rows) {
    const error = model.activities.get(this.#id)?.currentError
    // A failed message shows that itself.
    show(this.trouble, Boolean(error) && !rows.some(isStuck))
    if (error) text(this.trouble, `The queue is stopped: ${error.message}`)
    const why = model.obstacle(this.#id)
    const waits = rows.some(({ status }) => status === 'queued') && !model.running(this.#id)
    if (session?.paused || waits && !why) this.#readKnown(session, rows)
    const known = this.#knownOf ? this.#known : null
    show(this.paused, Boolean(session?.paused))
    if (session?.paused) text(this.paused, `Paused${known?.standing === 'paused' && known.note ? ` (${known.note})` : ''}: nothing starts until you resume it.`)
    const note = waits && !why && known?.note && !TOLD.includes(known.standing) ? known.note : null
    show(this.why, Boolean(why || note))
    if (why || note) {
      text(this.whyWords, why?.words ?? `It waits: ${note}.`)
      show(this.hostHere, Boolean(why?.mayRunHere))
      text(this.hostHere, `Run on ${model.sync?.deviceName}${why?.isAway ? ' instead' : ''}`)
    }
    const said = model.notes.get(`session.${this.#id}`)
    if (said?.state === 'error') {
      show(this.trouble, true)
      text(this.trouble, said.words)
    }
  }

  #updateTask(task) {
    const running = model.running(this.#id)
    const status = task?.status ?? (running ? 'processing' : 'idle')
    // A request is in its card.
    // A failed message is in its row.
    const isBad = status === 'error' || status === 'completed' && ['failure', 'cancelled'].includes(task.result?.kind)
    const isTold = isBad && model.rows(this.#id).some((each) => STUCK.includes(each.status))
    const isShown = status !== 'idle' && !(status === 'completed' && this.past.tellsLast) && !task?.request && !task?.question && !isTold
    show(this.task, isShown)
    if (!isShown) return
    const words = {
      processing: `Working${task?.startTime && age(task.startTime) !== 'now' ? ` for ${age(task.startTime)}` : ''}${task?.operation ? `: ${task.operation}` : ''}`, completed: ended(task),
      error: `Failed: ${task?.error ?? ''}`,
    }[status]
    const progress = task?.todoProgress
    this.task.className = `task ${status}`
    const signature = words + JSON.stringify(progress)
    if (this.task.signature === signature) return
    this.task.signature = signature
    this.task.replaceChildren(h('p', {}, words), ...(progress?.total ? [
      h('progress', { max: progress.total, value: progress.completed, 'aria-label': 'Progress' }),
      h('p.meta', {}, `${progress.completed} of ${counted(progress.total, 'step')}${progress.currentTask ? ` · ${progress.currentTask}` : ''}`),
    ] : []))
  }

  #togglePause() {
    const paused = model.sessions.get(this.#id)?.paused
    perform(paused ? 'resume' : 'pause', { session: this.#id }, {
      id: `session.${this.#id}`, done: paused ? 'Resumed' : 'Paused', undoable: true,
    })
  }

  /** No event reports why it is paused, and what else keeps it from continuing. */
  #readKnown(session, rows) {
    const of = `${session?.paused} ${rows.map(({ id, status, notBefore, later, needs, waitsFor }) => id + status + notBefore + later + needs + waitsFor).slice(0, 3)} ${model.sync?.state}`
    if (this.#knownOf === of && this.#knownSession === session) return
    this.#knownOf = of
    this.#knownSession = session
    clearTimeout(this.#asking)
    this.#asking = setTimeout(async () => {
      const known = await source.list(`sessions/${encodeURIComponent(this.#id)}`).catch(() => null)
      if (this.#knownOf !== of || this.#knownSession !== session) return
      this.#known = known
      model.touch()
    }, session?.paused ? 0 : NOTE_AFTER)
  }

  /** Asks a moment later what its messages wait for, once for all that changes meanwhile. */
  #readNeedsSoon(rows) {
    if (this.#needsAge === model.needsAge || !rows.some(({ status, needs }) => status === 'queued' && needs)) return
    this.#readingNeeds ??= setTimeout(async () => {
      this.#needsAge = model.needsAge
      const queue = await source.list(`sessions/${encodeURIComponent(this.#id)}/queue`).catch(() => null)
      this.#readingNeeds = null
      if (queue) model.takeNeeds(this.#id, queue.messages)
    }, NOTE_AFTER)
  }
}

function ended(task) {
  const result = task?.result
  if (result?.kind === 'failure') return `Failed: ${result.error ?? ''}`
  return result?.kind === 'cancelled' ? 'Stopped' : `Done${result?.summary ? `: ${result.summary}` : ''}`
}

customElements.define('session-view', SessionView)
