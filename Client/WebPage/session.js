// One session: what runs, its output as it grows, the queue, and the composer.

import { model, perform, source } from './app.js'
import './composer.js'
import { age, counted, guardPresses, h, reconcile, settle, show, text, toast } from './dom.js'
import { begun } from './editor.js'
import { STUCK } from './model.js'
import './request.js'
import { moveTo } from './row.js'

const OUTPUT_PERIOD = 1000

class SessionView extends HTMLElement {
  #id; #output; #timer; #settling
  /** Why it is paused, and as of which state of the session that is known. */
  #reason = null
  #reasonOf = null
  /** The device that was chosen here, until the event of it comes. */
  #chosen = null
  /** What became of messages that left the queue while they were edited here; nothing as long as nobody said. */
  #over = new Map()

  open(id) {
    this.#id = id
    this.heading = h('h1')
    this.about = h('p.meta')
    this.pause = h('button', { type: 'button', onclick: () => this.#togglePause() })
    this.host = h('select', { id: 'host', onchange: () => this.#setHost(), onkeydown: (event) => this.#pickHost(event) })
    this.task = h('div.task', { hidden: true })
    this.request = h('div.requests')
    this.more = h('p.meta', { hidden: true })
    this.paused = h('p.strip.warn', { hidden: true })
    this.whyWords = h('span')
    this.hostHere = h('button', { type: 'button', onclick: () => this.#hostHere() })
    this.why = h('p.strip.warn', { hidden: true, role: 'status' }, this.whyWords, ' ', this.hostHere)
    this.trouble = h('p.strip.bad', { hidden: true })
    this.outputTitle = h('h2')
    this.outputText = h('pre.output', { tabIndex: 0, role: 'region', 'aria-label': 'Output' })
    this.outputBox = h('section.outputs', { hidden: true },
      h('div.bar', {}, this.outputTitle, h('button.link', { type: 'button', onclick: () => this.#showOutput(null) }, 'Close')), this.outputText)
    this.count = h('h2')
    this.list = h('div.queue', { role: 'list', 'aria-label': 'Queue' })
    this.empty = h('p.quiet', {}, 'The queue is empty.')
    this.composer = document.createElement('queue-composer')
    this.replaceChildren(
      h('div.bar', {}, this.heading, h('div.buttons', {}, this.pause,
        h('label', { htmlFor: 'host' }, 'Runs on '), this.host)),
      this.about, this.trouble, this.paused, this.why, this.request, this.more, this.task, this.outputBox,
      h('section', {}, this.count, this.list, this.empty), this.composer)
    this.addEventListener('output', (event) => this.#showOutput(event.detail.id))
    this.#dragging()
    this.composer.open(id)
    guardPresses(this)
    this.sizes = new ResizeObserver(() => this.#settle())
    this.sizes.observe(this)
    this.update()
  }

  /** What comes above a row, or goes, puts another one under the pointer. */
  #settle() {
    this.#settling = null
    settle([...this.request.children, ...this.list.children])
  }

  disconnectedCallback() {
    clearInterval(this.#timer)
    this.sizes?.disconnect()
    model.forgetRead()
  }

  /** Its rows say how far each message has come. */
  get showsDelivery() { return true }

  /** The daemon is back. */
  back() { for (const row of this.list.children) row.back() }

  /** Files that were let go over the page. */
  takeFiles(files) { this.composer.add(files) }

  update() {
    const session = model.sessions.get(this.#id)
    const task = model.tasks.get(this.#id)
    const rows = model.rows(this.#id)
    // What somebody edits here stays, with what was typed, where it left the queue meanwhile; over a reload, too.
    const edits = [...(model.ready ? begun(this.#id) : []), ...[...this.list.children].flatMap(({ edited }) => edited ?? [])]
    for (const [id, edit] of new Map(edits.map((each) => [each.id, each]))) {
      if (rows.some((each) => each.id === id)) this.#over.delete(id)
      else rows.push(...this.#left(edit))
    }
    const host = session?.host && session.host !== model.sync?.device ? model.deviceName(session.host) : null
    const away = host && model.sync?.devices?.some(({ id, connected }) => id === session.host && !connected) ? host : null
    text(this.heading, session?.name || this.#id)
    document.title = `${session?.name || this.#id} · Cospool`
    text(this.about, [
      session ? null : model.ready ? 'New session. Your first message creates it.' : '',
      session?.name && session.name !== this.#id ? this.#id : null, session?.project,
    ].filter(Boolean).join(' · '))
    text(this.pause, session?.paused ? 'Resume' : 'Pause')
    show(this.pause, Boolean(session))
    this.#updateHost(session)
    this.#updateStrips(session)
    this.#updateTask(task)
    // What was decided goes when nobody is at it, and moves nothing under a finger.
    if (!this.matches(':hover, :focus-within')) model.forgetRead(8000)
    reconcile(this.request, model.asked(this.#id), {
      key: (each) => each.id, make: () => document.createElement('request-card'), update: (card, each) => card.update(each),
    })
    show(this.more, task?.moreRequests > 0)
    if (task?.moreRequests) text(this.more, `${counted(task.moreRequests, 'more request')} will appear when you answer one of these.`)
    text(this.count, rows.length ? `Queue · ${rows.length}` : 'Queue')
    show(this.empty, rows.length === 0)
    const waiting = rows.filter((message) => message.status === 'queued')
    const [first, last] = [waiting[0], waiting.at(-1)]
    reconcile(this.list, rows, {
      key: (message) => message.id, make: () => document.createElement('queue-row'),
      update: (row, message, index) => row.update(message, {
        index, session: this.#id, away, first: message === first, last: message === last,
      }),
    })
    this.composer.update()
    settle(this.request.children)
    // Behind the frame, where it costs nothing to ask where they stand.
    this.#settling ??= setTimeout(() => this.#settle())
    const running = model.running(this.#id)
    if (running && running.id !== this.#output && !host) this.#showOutput(running.id)
  }

  /** A message that is edited here and stands in the queue no more; none before the daemon said what became of it. */
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
      // Without an answer it is asked again.
      if (error.status !== 404) return this.#over.delete(id)
      this.#over.set(id, [{ ...edit, position: null, status: 'cancelled' }])
    }
    model.touch()
  }

  #updateHost(session) {
    const devices = [{ id: model.sync?.device, name: model.sync?.deviceName }, ...(model.sync?.devices ?? [])].filter((each) => each.id)
    const { before, answered } = this.#chosen ?? {}
    // Behind the answer, the first event of the session tells what is so.
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

  /** In a closed list each arrow would have the session run on another device: keys open it, and one is chosen. */
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

  #updateStrips(session) {
    const error = model.activities.get(this.#id)?.currentError
    show(this.trouble, Boolean(error))
    if (error) text(this.trouble, `The queue is stopped: ${error.message}`)
    show(this.paused, Boolean(session?.paused))
    if (session?.paused) {
      this.#readReason(session)
      text(this.paused, `Paused${this.#reason ? ` (${this.#reason})` : ''}: nothing starts until you resume it.`)
    }
    const why = model.obstacle(this.#id)
    show(this.why, Boolean(why))
    if (why) {
      text(this.whyWords, why.words)
      show(this.hostHere, why.mayRunHere)
      text(this.hostHere, `Run on ${model.sync?.deviceName}${why.isAway ? ' instead' : ''}`)
    }
    const note = model.notes.get(`session.${this.#id}`)
    if (note?.state === 'error') {
      show(this.trouble, true)
      text(this.trouble, note.words)
    }
  }

  #updateTask(task) {
    const running = model.running(this.#id)
    const status = task?.status ?? (running ? 'processing' : 'idle')
    // What is asked stands in its card.
    // So does what failed, at its row.
    const isBad = status === 'error' || status === 'completed' && ['failure', 'cancelled'].includes(task.result?.kind)
    const isTold = isBad && model.rows(this.#id).some((each) => STUCK.includes(each.status))
    const isShown = status !== 'idle' && !task?.request && !task?.question && !isTold
    show(this.task, isShown)
    if (!isShown) return
    const words = {
      processing: `Working${task?.startTime ? ` for ${age(task.startTime)}` : ''}${task?.operation ? `: ${task.operation}` : ''}`, completed: ended(task),
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

  /** Why it is paused, no event tells. */
  async #readReason(session) {
    if (this.#reasonOf === session) return
    this.#reasonOf = session
    const known = await source.list(`sessions/${encodeURIComponent(this.#id)}`).catch(() => null)
    if (this.#reasonOf !== session) return
    this.#reason = known?.standing === 'paused' ? known.note : null
    model.touch()
  }

  // Output.

  #showOutput(id) {
    clearInterval(this.#timer)
    this.#output = id ?? model.running(this.#id)?.id
    show(this.outputBox, Boolean(id))
    if (!id) return
    this.outputText.textContent = ''
    const read = () => !document.hidden && this.#readOutput(id)
    read()
    this.#timer = setInterval(read, OUTPUT_PERIOD)
  }

  async #readOutput(id) {
    const runs = model.message(id)?.status === 'running'
    text(this.outputTitle, runs ? 'Live output' : 'Output')
    try {
      const { output: kept, outputDevice } = await source.list('history', { message: id, limit: 1 })
      // Another one is shown by now.
      if (id !== this.#output) return
      if (!kept) {
        const { sync } = model
        const host = model.sessions.get(this.#id)?.host
        const there = outputDevice ?? (host && host !== sync?.device ? model.deviceName(host) : null)
        text(this.outputText, there ? `It ${runs ? 'runs' : 'ran'} on ${there}. Its output is there.`
          : runs ? 'Nothing was written yet.' : 'Its output was not kept.')
        if (!runs) clearInterval(this.#timer)
        return
      }
      const { text: output, truncated } = kept
      const box = this.outputText
      const follows = box.scrollTop + box.clientHeight >= box.scrollHeight - 8
      const whole = (truncated ? '… the beginning is not kept\n' : '') + output
      if (whole === box.textContent) return
      if (whole.startsWith(box.textContent)) box.append(whole.slice(box.textContent.length))
      else box.textContent = whole
      if (follows) box.scrollTop = box.scrollHeight
    } catch (error) {
      if (id !== this.#output) return
      text(this.outputText, error.message)
    }
    if (!runs) clearInterval(this.#timer)
  }

  // Dragging rows.

  #dragging() {
    const target = (event) => event.target.closest?.('queue-row')
    const clear = () => this.list.querySelector('.over')?.classList.remove('over', 'below')
    this.list.addEventListener('dragover', (event) => {
      if (!event.dataTransfer.types.includes('application/x-cospool-message')) return
      event.preventDefault()
      clear()
      const row = target(event)
      row?.classList.add('over')
      row?.classList.toggle('below', isBelow(event, row))
    })
    this.list.addEventListener('dragleave', clear)
    this.list.addEventListener('drop', (event) => {
      clear()
      const row = target(event)
      const id = event.dataTransfer.getData('application/x-cospool-message')
      if (!row || !id || row.dataset.id === id) return
      event.preventDefault()
      const queue = model.rows(this.#id).filter((message) => message.status === 'queued')
      const from = queue.findIndex((message) => message.id === id)
      const rest = queue.filter((message) => message.id !== id)
      const anchor = rest.findIndex((message) => message.id === row.dataset.id)
      if (from >= 0 && anchor >= 0) moveTo(queue[from], this.#id, anchor + (isBelow(event, row) ? 1 : 0), from)
    })
  }
}

function isBelow(event, row) {
  const box = row.getBoundingClientRect()
  return event.clientY > box.top + box.height / 2
}

function ended(task) {
  const result = task?.result
  if (result?.kind === 'failure') return `Failed: ${result.error ?? ''}`
  return result?.kind === 'cancelled' ? 'Stopped' : `Done${result?.summary ? `: ${result.summary}` : ''}`
}

customElements.define('session-view', SessionView)
