// One message of a queue.

import { LABELS, WORDS, actionsOf, waitsForOthers, waitsUntil } from './actions.js'
import { deliver, discard, failed, filesProblem, model, named, offerUndo, packed, perform, source } from './app.js'
import { bare, coloured } from './ansi.js'
import { age, disable, h, refill, say, show, size, text, time, toast } from './dom.js'
import { Editor, isBegun, marked } from './editor.js'
import { markdown } from './markdown.js'
import { STUCK } from './model.js'
import { outputOf } from './output.js'
import { form, panel } from './sheet.js'

/** What is said while an agent is stopped, on whatever device it is at work. */
export const STOP = {
  busy: 'stopping …',
  done: ({ stopped, message, device, awaySince }) => !stopped ? 'Nothing is stopped: that turn has ended'
    : `Stopping ${message ? named(message.text) : 'it'}` + (awaySince ? `: ${device} is away, and stops it when it is back` : device ? ` on ${device}` : ''),
}
const MENU = ['up', 'down', 'top', 'bottom', 'place', 'urgent', 'normal', 'attach', 'copy', 'output', 'stop', 'takeOver', 'restore', 'resend', 'discard', 'cancel']
/** Shown only in the states that they are for. */
const ONLY = {
  stop: ['running'], takeOver: ['running'], restore: ['cancelled'], resend: ['sending'], discard: ['sending'], output: ['running'], attach: ['queued'],
  up: ['queued'], down: ['queued'], top: ['queued'], bottom: ['queued'], place: ['queued'],
}

/** How many lines of a failed prompt's output are shown. */
const LAST_LINES = 5

/** A text that is longer than this, or has more lines, is shown in part, and edited in a panel. */
const LONG = 600
const TALL = 12
/** The minimum number of characters that a line of a row holds, in a narrow list and in a wide one. */
const NARROW = 28
const WIDE = 60

class QueueRow extends HTMLElement {
  #message; #place; #menu; #editor; #panel; #failure

  connectedCallback() {
    if (this.body) return
    this.setAttribute('role', 'listitem')
    this.handle = h('button.handle', { type: 'button', onkeydown: (event) => this.#keys(event), title: 'Drag it, or press an arrow key' })
    this.content = h('p.content', { dir: 'auto' })
    // Folded, it is shown as written; whole, it is formatted.
    this.formatted = h('div.formatted', { hidden: true, tabIndex: 0, role: 'group', 'aria-label': 'Whole text' })
    this.meta = h('p.meta')
    this.files = h('ul.files', { hidden: true, 'aria-label': 'Files' })
    this.note = h('p.note', { hidden: true })
    this.versions = h('div.versions', { hidden: true, role: 'group', 'aria-label': 'Versions of the text' })
    this.whole = h('button.link.fold', { type: 'button', hidden: true, 'aria-expanded': 'false', onclick: () => this.#showWhole() }, 'Show all')
    this.failure = h('div.failure', { hidden: true })
    this.body = h('div.body', {}, this.content, this.formatted, this.failure, this.files, h('div.foot', {}, this.meta, this.whole), this.note, this.versions)
    this.up = this.#tool('up', '↑')
    this.down = this.#tool('down', '↓')
    this.edit = this.#tool('edit', 'Edit')
    this.retry = this.#tool('retry', LABELS.retry)
    this.skip = this.#tool('skip', LABELS.skip)
    this.start = this.#tool('start', LABELS.start)
    this.more = h('button.more', { type: 'button', 'aria-expanded': 'false', onclick: () => this.#toggle() }, '⋯')
    this.out = this.#tool('output', LABELS.output)
    this.quick = h('span.quick', {}, this.up, this.down, this.start, this.retry, this.edit, this.skip, this.out)
    this.tools = h('div.tools', {}, this.quick, this.more)
    this.replaceChildren(this.handle, this.body, this.tools)
  }

  /** What it shows. */
  get message() { return this.#message }

  get pressed() { return this.#menu ? [this.tools, this.#menu] : [this.tools] }

  #tool(name, label) {
    return h('button', { type: 'button', onclick: () => this.run(name), 'data-action': name }, label)
  }

  /** `place`: `first`, `last`, `away`, and `index` among all. */
  update(message, place) {
    const isNew = message !== this.#message
    const note = model.notes.get(message.id)
    const held = Boolean(message.heldUntil) && !this.#editor && Date.parse(message.heldUntil) > Date.now()
    const before = this.#place
    const where = deliveryWords(message)
    const until = message.status === 'queued' ? waitsUntil(message) : null
    // A thousand rows are examined for every event: most have not changed.
    if (!isNew && note === this.shownNote && held === this.shownHeld && until === this.shownUntil && where === this.shownPlace && before.index === place.index
      && before.first === place.first && before.last === place.last && before.away === place.away
      && this.age === age(message.createdAt)) return
    this.#place = place
    this.#message = message
    this.shownNote = note
    this.shownHeld = held
    this.shownUntil = until
    this.shownPlace = where
    this.age = age(message.createdAt)
    const state = message.status
    this.dataset.id = message.id
    this.className = state + (STUCK.includes(state) ? ' stuck' : '') + (message.priority === 'urgent' ? ' urgent' : '') + (note?.state === 'error' ? ' broken' : '')
      + (this.#editor ? ' edited' : '')
    const name = message.content.slice(0, 60)
    if (isNew && !this.formatted.hidden && this.content.textContent !== message.content) this.formatted.replaceChildren(markdown(message.content))
    text(this.content, message.content)
    const lines = this.closest('.now') ? 4 : 2
    // It would take long to ask each of a thousand rows whether its text is cut.
    const letters = lines === 2 && !matchMedia('(47.5em < width < 68.75em)').matches ? NARROW : WIDE
    show(this.whole, !this.#editor && (message.content.length > letters * lines || message.content.trim().split('\n').length > lines))
    this.#showFailure(message)
    // The steps of a queue do not report the positions of neighbours of a moved row.
    const position = message.position && !place.named ? place.index + 1 : message.position
    text(this.handle, position ? String(position) : '·')
    this.handle.setAttribute('aria-label', `Move ${name}: position ${position ?? '?'}. Press the arrow keys.`)
    this.handle.disabled = state !== 'queued'
    text(this.meta, [
      place.named ? model.sessions.get(place.session)?.name || place.session : null, state === 'queued' || STUCK.includes(state) && !place.named ? null : WORDS[state],
      withdrawalWords(message, place.away), message.merged ? 'merged, waits for you' : null, message.priority === 'urgent' ? 'urgent' : null,
      held ? 'being edited' : null,
      until ? `not before ${time(until)}` : null, waitsForOthers(message),
      message.attempts > 1 ? `${message.attempts} attempts` : null,
      state === 'queued' ? this.shownPlace : null, message.byAgent ? `an agent on ${message.device}` : message.device, age(message.createdAt),
      STUCK.includes(state) && !place.named ? null : message.lastError && bare(message.lastError),
    ].filter(Boolean).join(' · '))
    this.#showFiles(message)
    this.#showNote(note)
    const actions = actionsOf(message, place)
    for (const button of this.quick.children) {
      const action = button.dataset.action
      const isStuck = STUCK.includes(state)
      const words = action === 'edit' && isStuck ? 'Edit and retry' : { up: 'Move up', down: 'Move down' }[action] ?? LABELS[action]
      if (action === 'edit') text(button, words)
      disable(button, !actions[action].enabled)
      button.title = actions[action].why ?? words
      button.setAttribute('aria-label', `${words}: ${name}`)
      show(button, action === 'edit' || (['up', 'down'].includes(action) ? state === 'queued' : action === 'start' ? Boolean(until || waitsForOthers(message)) : isStuck))
      button.classList.toggle('main', isStuck && action === 'retry')
    }
    // After the buttons beside them have their size: scrolls to the differences.
    this.#showVersions(message)
    this.more.setAttribute('aria-label', `More: ${name}`)
    if (this.#menu && isNew) this.#fillMenu()
    this.#editor?.changed(message)
    if (isBegun(message.id) && !this.#editor) this.#openEditor()
  }

  /** The daemon is back. */
  back() { this.#editor?.back() }

  /** The message while a user edits it here. */
  get edited() { return this.#editor ? this.#message : null }

  #showWhole(isWhole = this.formatted.hidden) {
    if (isWhole) this.formatted.replaceChildren(markdown(this.#message.content))
    show(this.formatted, isWhole)
    show(this.content, !isWhole)
    this.whole.setAttribute('aria-expanded', String(isWhole))
    text(this.whole, isWhole ? 'Show less' : 'Show all')
  }

  /** The error, and the end of the output: enough to decide by. */
  #showFailure({ id, status, lastError, attempts }) {
    const isShown = STUCK.includes(status) && !this.#place.named
    show(this.failure, isShown)
    const key = isShown && `${id} ${attempts}`
    if (!isShown || this.#failure === key) return (this.#failure = isShown ? key : null)
    this.#failure = key
    const fill = (lines = []) => {
      const last = lines.length ? bare(lines.at(-1)).trim() : ''
      const why = lastError ? bare(lastError).trim() : ''
      // Its last line is below.
      const short = last && why.endsWith(last) ? why.slice(0, -last.length).replace(/[:\s]+$/, '') : why
      const words = WORDS[status]
      this.failure.replaceChildren(h('p.title', {}, `${words[0].toUpperCase()}${words.slice(1)}${short ? `: ${short}` : ''}`),
        ...(lines.length ? [h('pre.said', {}, coloured(lines.join('\n')))] : []))
    }
    fill()
    outputOf(id).then(({ text: output }) => {
      if (output && this.#failure === key) fill(output.trimEnd().split('\n').slice(-LAST_LINES))
    }, () => {})
  }

  /** While several are selected: whether this one is; otherwise nothing. */
  choose(isChosen) {
    if (isChosen === null && !this.pick) return
    if (!this.pick) {
      this.pick = h('input', { type: 'checkbox', onchange: () => this.dispatchEvent(new CustomEvent('chosen', {
        bubbles: true, detail: { id: this.#message.id, isChosen: this.pick.checked } })) })
      this.handle.after(h('label.check.pick', {}, this.pick))
    }
    show(this.pick.parentElement, isChosen !== null)
    show(this.handle, isChosen === null)
    this.pick.checked = isChosen === true
    this.pick.setAttribute('aria-label', `Select ${this.#message.content.slice(0, 60)}`)
  }

  #showFiles(message) {
    const files = message.attachments ?? []
    const names = message.attachmentNames ?? []
    const signature = JSON.stringify([files, names, message.status])
    if (this.files.signature === signature) return
    this.files.signature = signature
    show(this.files, files.length + names.length > 0)
    refill(this.files, [
      ...names.map((name) => h('li', {}, name)),
      ...files.map((file) => h('li', {},
        h('button.link', { type: 'button', onclick: () => this.#download(file) }, `${file.name} (${size(file.size)})`),
        message.status === 'queued' && h('button.link', {
          type: 'button', 'aria-label': `Remove ${file.name}`,
          onclick: () => perform('detach', { id: message.id, hash: file.hash }, { done: `${file.name} was taken away`, undoable: true }),
        }, '×'))),
    ], this.more)
  }

  #showNote(note) {
    if (this.note.shown === note) return
    this.note.shown = note
    show(this.note, Boolean(note))
    this.note.className = `note ${note?.state ?? ''}`
    const button = (name, label, run) => h(name, { type: 'button', onclick: run }, label)
    refill(this.note, !note ? [] : [
      note.words,
      note.again && button('button', 'Try again', note.again),
      note.extra && button('button', note.extra.label, note.extra.run),
      note.state === 'error' && button('button.link', 'Dismiss', () => (model.notes.delete(this.#message.id), model.touch())),
    ], this.more)
  }

  /** The texts that were saved independently, each with a button that takes it, or those that came too late. */
  #showVersions(message) {
    const versions = message.editions ?? []
    const late = message.late ?? []
    const signature = JSON.stringify(versions)
    const shown = signature + JSON.stringify(late)
    if (this.versions.signature === shown) return
    this.versions.signature = shown
    show(this.versions, versions.length + late.length > 0)
    const button = (label, text, name = label) => h('button', {
      type: 'button', 'aria-label': name, onclick: () => this.#take(text, signature),
    }, label)
    const content = (version, others) => version.text === undefined
      ? h('p.content', {}, `A text of ${size(version.bytes)}, which is too long to be kept.`)
      : h('p.content', { dir: 'auto' }, others === null ? version.text : marked(version.text, others.flatMap((each) => each.text ?? [])))
    const author = (version) => h('p.meta', {}, `${version.device ?? 'a device'} · ${age(version.savedAt)}`)
    refill(this.versions, versions.length === 0 ? late.length === 0 ? [] : [
      h('p', {}, 'This edit came too late: the agent already had the text above. It was not sent.'),
      ...late.map((version) => h('div.version', {}, author(version), content(version, null))),
    ] : [
      h('p', {}, 'It was edited in two places, and the texts were merged. The differences are underlined. To let it continue, choose a text or edit it.'),
      h('div.side-by-side', {}, versions.map((version, index) => h('div.version', {},
        author(version), content(version, versions.toSpliced(index, 1)),
        version.text !== undefined && button('Use this', version.text, `Use the version of ${version.device ?? 'a device'}`)))),
      button('Use the merged text'),
    ], this.more)
    // The differences of a long text are in sight.
    for (const mark of this.versions.querySelectorAll('mark:first-of-type')) mark.parentElement.scrollTop = mark.offsetTop - 40
  }

  /** Takes one of the texts, or the merged one, if they have not changed since they were shown. */
  async #take(text, signature) {
    const { id } = this.#message
    try {
      const now = await source.list(`messages/${id}`)
      if (JSON.stringify(now.editions) !== signature) return toast('Its versions changed meanwhile. Look again.')
      await perform('edit', { id, text: text ?? now.content, base: now.base }, { busy: 'choosing …', done: 'Chosen: it continues', undoable: true })
    } catch (error) {
      failed(error, id, () => this.#take(text, signature))
    }
  }

  async #download(file) {
    try {
      const url = URL.createObjectURL(await source.bytes(this.#message.id, file.hash))
      h('a', { href: url, download: file.name }).click()
      setTimeout(() => URL.revokeObjectURL(url), 60_000)
    } catch (error) {
      failed(error, this.#message.id, () => this.#download(file))
    }
  }

  // Actions.

  #toggle() {
    if (this.#menu) {
      this.#menu.remove()
      this.#menu = null
    } else {
      this.#menu = h('div.menu', { role: 'group', 'aria-label': 'What to do with it', onkeydown: (event) => {
        if (event.key !== 'Escape') return
        this.#toggle()
        this.more.focus()
      } })
      this.#fillMenu()
      this.append(this.#menu)
      this.#menu.querySelector('button')?.focus()
    }
    this.more.setAttribute('aria-expanded', String(Boolean(this.#menu)))
  }

  #fillMenu() {
    const actions = actionsOf(this.#message, this.#place)
    refill(this.#menu, MENU
      .filter((name) => !ONLY[name] || ONLY[name].includes(this.#message.status))
      .filter((name) => name !== (this.#message.priority === 'urgent' ? 'urgent' : 'normal'))
      .map((name) => h(['cancel', 'stop', 'takeOver'].includes(name) ? 'button.danger' : 'button', {
        type: 'button', 'data-action': name, 'aria-disabled': actions[name].enabled ? null : 'true',
        title: actions[name].why ?? '', onclick: () => this.run(name),
      }, LABELS[name])), this.more)
  }

  run(name) {
    const { enabled, why } = actionsOf(this.#message, this.#place)[name]
    if (!enabled) return toast(why)
    const message = this.#message
    const values = { id: message.id, session: this.#place.session }
    const steps = {
      edit: () => this.#openEditor(),
      up: () => this.#move(this.#place.index - 1),
      down: () => this.#move(this.#place.index + 1),
      top: () => this.#move(-Infinity),
      bottom: () => this.#move(Infinity),
      place: () => this.#moveToPlace(),
      urgent: () => perform('priority', { ...values, priority: 'urgent' }, { done: `${named(message.content)} is urgent: before all normal messages`, undoable: true }),
      normal: () => perform('priority', { ...values, priority: 'normal' }, { done: `${named(message.content)} is normal again`, undoable: true }),
      attach: () => this.#attach(),
      copy: () => navigator.clipboard.writeText(message.content).then(() => say('Copied'), () => toast('The browser does not allow that. Select the text.')),
      output: () => this.dispatchEvent(new CustomEvent('output', { bubbles: true, detail: message })),
      stop: () => perform('stop', values, STOP),
      takeOver: () => perform('takeOver', values, { busy: 'taking it over …', done: 'It runs here now. The outcome of the turn is unknown: retry it, or skip it' }),
      retry: () => perform('retry', values, { busy: 'retrying …', done: 'It is tried again' }),
      start: () => perform('start', values, { done: `${named(message.content)} may start now`, undoable: true }),
      skip: () => perform('skip', values, { busy: 'skipping …', done: 'Skipped: the queue continues without it' }),
      cancel: () => cancel(message, this.#place),
      restore: () => perform('restore', values, { done: `Restored ${named(message.content)}`, undoable: true }),
      resend: () => deliver(message.id),
      discard: () => discard(message.id),
    }
    steps[name]()
  }

  /** Moves it to a place among the rows, from 0; returns its new place. */
  #move(index) {
    // As it is shown: an earlier move may still be in transit.
    const queue = model.rows(this.#place.session).filter((each) => each.status === 'queued')
    const here = queue.findIndex((each) => each.id === this.#message.id)
    const offset = this.#place.index - here
    const target = Math.max(0, Math.min(queue.length - 1, index - offset))
    moveTo(this.#message, this.#place.session, target, here)
  }

  #keys(event) {
    const how = { ArrowUp: 'up', ArrowDown: 'down', Home: 'top', End: 'bottom' }[event.key]
    if (!how || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    this.run(how)
  }

  async #moveToPlace() {
    const queue = model.rows(this.#place.session).filter((each) => each.status === 'queued')
    const first = this.#place.index - queue.findIndex((each) => each.id === this.#message.id) + 1
    const answer = await form('Move to …', [{
      name: 'place', label: `Position, ${first} to ${first + queue.length - 1}`, value: String(this.#place.index + 1), inputMode: 'numeric', pattern: '[0-9]+', required: true,
    }], 'Move')
    if (answer) this.#move(Number(answer.place) - 1)
  }

  #attach() {
    const input = h('input', { type: 'file', multiple: true })
    input.onchange = () => {
      const files = [...input.files]
      const problem = filesProblem(files)
      problem ? toast(problem) : this.#attachAll(files)
    }
    input.click()
  }

  async #attachAll(files) {
    for (const [index, file] of files.entries()) {
      const data = await packed(file).catch((error) => toast(error.message))
      if (!data) continue
      const answer = await perform('attach', { id: this.#message.id, file: data }, {
        busy: `${file.name}: uploading …`, done: `${file.name} is attached`,
        options: { progress: (part) => this.#progress(file.name, part) },
      })
      if (answer) continue
      // The next message would replace its text; a retry continues with all that are left.
      const note = model.notes.get(this.#message.id)
      if (note?.again) note.again = () => this.#attachAll(files.slice(index))
      return
    }
  }

  #progress(name, part) {
    model.notes.set(this.#message.id, { state: 'busy', words: `${name}: ${Math.round(part * 100)} % uploaded` })
    model.touch()
  }

  #openEditor() {
    if (this.#editor) return this.#editor.focus()
    const isLong = this.#message.content.length > LONG || this.#message.content.split('\n').length > TALL
    this.#editor = new Editor(this.#message, this.#place.session, (hadFocus) => {
      this.#editor = null
      this.#panel?.remove()
      this.#panel = null
      this.content.hidden = false
      this.classList.remove('edited')
      if (hadFocus) this.edit.focus()
      model.touch()
    })
    this.#showWhole(false)
    this.content.hidden = true
    this.classList.add('edited')
    show(this.whole, false)
    if (isLong) this.#panel = panel('Edit the message', this.#editor.element, () => this.#editor?.drop())
    else this.content.after(this.#editor.element)
    this.#editor.open()
    // This page holds it now.
    model.touch()
  }

  disconnectedCallback() {
    // A row that is only moved comes back at once.
    setTimeout(() => {
      if (this.isConnected) return
      this.#editor?.leave()
      this.#panel?.remove()
    }, 0)
  }
}

customElements.define('queue-row', QueueRow)

/** The state of a message that was withdrawn while it runs; `away` is its device, if that is not connected. */
function withdrawalWords({ withdrawn }, away) {
  if (!withdrawn) return null
  if (withdrawn === 'cancelled') return 'to be cancelled'
  return away ? `${away} is away: it stops when it is back` : 'stopping'
}

/** The location of a message that the server does not have; nothing if it has it, or must not get it. */
function deliveryWords(message) {
  const { sync } = model
  // A row that was just changed here shows that itself.
  if (!sync?.server || message.status !== 'queued' || model.notes.get(message.id)?.state === 'here') return null
  const unsent = model.unsent.get(message.id)
  // If all is well, nothing is shown.
  return {
    here: 'on this device only', sending: 'on its way to the server',
    refused: `on this device only, the server refused it: ${unsent?.error ?? 'no reason given'}`,
  }[unsent?.delivery] ?? null
}

/** Puts a message at a place among the waiting ones. */
export async function moveTo(message, session, target, from) {
  // As it is shown: an earlier move may still be in transit.
  const queue = model.rows(session).filter((each) => each.status === 'queued')
  const rest = queue.filter((each) => each.id !== message.id)
  if (target === from) return
  const to = target >= rest.length ? { after: rest.at(-1)?.id } : { before: rest[target].id }
  if (!Object.values(to)[0]) return
  // Shown at once; the daemon's answer follows.
  const move = { id: message.id, ...to }
  model.moves.set(session, move)
  model.touch()
  const answer = await perform('move', { id: message.id, to }, { busy: 'moving …' })
  // The event may come a moment after the answer.
  setTimeout(() => {
    if (model.moves.get(session) === move) model.moves.delete(session)
    model.touch()
  }, answer ? 500 : 0)
  if (answer) say(answer.position ? `Moved to ${answer.position} of ${queue.length}` : 'It has not moved')
}

export async function cancel(message, { session }) {
  const answer = await perform('cancel', { id: message.id }, { busy: 'cancelling …' })
  if (!answer) return
  const outcome = answer.outcomes?.find((each) => each.id === message.id)?.outcome ?? 'cancelled'
  if (outcome === 'cancelled') return offerUndo(`Cancelled ${named(message.content)}`, answer.change)
  const words = outcome === 'invoked'
    ? 'Too late: it had already started.' : 'Cancelled here. It is not known yet whether that was in time.'
  const stop = { label: 'Stop the agent', run: () => perform('stop', { id: message.id, session }, STOP) }
  model.notes.set(message.id, { state: outcome, words, extra: outcome === 'invoked' ? stop : null })
  outcome === 'invoked' ? toast(words, stop) : offerUndo(words, answer.change)
  model.touch()
}
