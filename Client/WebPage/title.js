// The title of a session: its name, its folder, and its actions; and a new session.

import { model, offerUndo, perform, source } from './app.js'
import { confirmed, counted, h, show, text } from './dom.js'
import { form } from './sheet.js'

/** Projects of sessions, as a user may type them. */
const projects = () => [...new Set([...model.sessions.values()].map(({ project }) => project).filter(Boolean))].sort()

const devices = () => [{ id: model.sync?.device, name: `${model.sync?.deviceName} (this one)` }, ...(model.sync?.devices ?? [])]
  .filter(({ id }) => id).map(({ id, name }) => ({ value: id, label: name }))

const PROJECT = 'The folder in which the agent works'

/** Asks for the data of a new session, creates it and opens it. */
export async function newSession(name = '') {
  const answer = await form('New session', [
    { name: 'name', label: 'Name', value: name, maxLength: 128, required: true, spellcheck: false },
    { name: 'project', label: 'Project', known: projects(), hint: PROJECT, spellcheck: false },
    { name: 'host', label: 'Runs on', options: [...devices(), { value: '', label: 'no device yet' }], value: model.sync?.device },
  ], 'Create')
  if (!answer?.name) return
  const id = answer.name
  const place = `#/s/${encodeURIComponent(id)}`
  // An existing session does not change.
  if (!model.sessions.has(id)) {
    const made = await perform('addSession', { session: id, project: answer.project || undefined })
    if (!made) return
    if (answer.host) await perform('host', { session: id, device: answer.host })
  }
  location.hash = place
}

export class TitleMenu {
  #session

  constructor(session) {
    this.#session = session
    this.button = h('button.quiet', { type: 'button', 'aria-label': 'Session options', 'aria-expanded': 'false', onclick: () => this.#toggle() }, '⋯')
    const item = (words, run, kind = '') => h(`button${kind}`, { type: 'button', onclick: () => {
      this.#toggle(false)
      run()
    } }, words)
    this.agent = item('Agent …', () => this.#setAgent())
    this.archive = item('Archive', () => this.#archive())
    this.reason = item('Pause with a reason …', () => this.#pause())
    this.menu = h('div.options', { hidden: true, role: 'group', 'aria-label': 'Session options', onkeydown: (event) => {
      if (event.key !== 'Escape') return
      this.#toggle(false)
      this.button.focus()
    } }, item('Rename …', () => this.#rename()), item('Project …', () => this.#setProject()), this.agent, this.reason, this.archive, item('Delete …', () => this.#delete(), '.danger'))
    this.element = h('div.title-menu', { onfocusout: ({ relatedTarget }) => {
      if (relatedTarget && !this.element.contains(relatedTarget)) this.#toggle(false)
    } }, this.button, this.menu)
    this.end = new AbortController()
    addEventListener('pointerdown', ({ target }) => !this.element.contains(target) && this.#toggle(false), { signal: this.end.signal })
  }

  update(session) {
    show(this.element, Boolean(session))
    // Another device's agent is set on that device.
    show(this.agent, session?.host === model.sync?.device)
    show(this.reason, !session?.paused)
    text(this.archive, session?.archived ? 'Unarchive' : 'Archive')
  }

  leave() { this.end.abort() }

  #toggle(isOpen = this.menu.hidden) {
    show(this.menu, isOpen)
    this.button.setAttribute('aria-expanded', String(isOpen))
    if (isOpen) this.menu.querySelector('button').focus()
  }

  get #known() { return model.sessions.get(this.#session) }

  async #rename() {
    const answer = await form('Rename the session', [{ name: 'name', label: 'Name', value: this.#known?.name || this.#session, required: true }], 'Rename')
    if (answer?.name) perform('rename', { session: this.#session, name: answer.name }, { done: `Renamed to ${answer.name}`, undoable: true })
  }

  async #setProject() {
    const answer = await form('Project', [{ name: 'project', label: 'Folder', value: this.#known?.project ?? '', known: projects(), hint: PROJECT, required: true, spellcheck: false }], 'Set')
    if (answer?.project) perform('addSession', { session: this.#session, project: answer.project }, { done: `Its project is ${answer.project}`, undoable: true })
  }

  /** Among those that the owner of the machine lets browsers choose. */
  async #setAgent() {
    const [setting, now] = await Promise.all([source.list('settings/browserAgents'), source.list(`sessions/${encodeURIComponent(this.#session)}/agent`)]).catch(() => [])
    if (!now) return
    const names = String(setting.value).split(',').map((each) => each.trim()).filter((each) => each && !['none', 'default'].includes(each))
    const answer = await form('Agent', [{
      name: 'agent', label: 'What runs its messages here', value: now.own ? now.agent : '',
      options: [{ value: '', label: now.own ? "The device's agent" : `The device's agent (${now.agent})` },
        ...[...new Set([...(now.own ? [now.agent] : []), ...names])].map((value) => ({ value, label: value }))],
      hint: names.length ? null : 'To allow browsers to choose agents, run on the machine: cospool config set browserAgents …',
    }], 'Set')
    if (answer) perform('agent', { session: this.#session, agent: answer.agent }, { done: answer.agent ? `Runs ${answer.agent}` : "Runs the device's agent" })
  }

  async #pause() {
    const answer = await form('Pause the queue', [{ name: 'reason', label: 'Reason', hint: 'Shown on every device', required: true }], 'Pause')
    if (answer?.reason) perform('pause', { session: this.#session, reason: answer.reason }, { done: 'Paused', undoable: true })
  }

  async #archive() {
    const isBack = this.#known?.archived
    const done = `${this.#known?.name || this.#session} is ${isBack ? 'listed again' : 'archived'}`
    const answer = await perform('archive', { session: this.#session, isBack }, { done, undoable: true })
    if (answer && !isBack) location.hash = '#/needs'
  }

  async #delete() {
    const { waiting = 0, name } = this.#known ?? {}
    const words = `It leaves every device${waiting ? `, and ${counted(waiting, 'message')} that ${waiting === 1 ? 'waits is' : 'wait are'} cancelled` : ''}.`
    if (!await confirmed(`Delete ${name || this.#session}?`, words, 'Delete')) return
    const answer = await perform('deleteSession', { session: this.#session })
    if (!answer) return
    location.hash = '#/needs'
    offerUndo(`${name || this.#session} is deleted`, answer.change)
  }
}

/** Sets the text of a heading if it differs. */
export function entitle(heading, name) {
  text(heading, name)
  document.title = `${name} · Cospool`
}
