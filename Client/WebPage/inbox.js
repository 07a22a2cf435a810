// The start view: what needs its user, a line for each session, then what works and what does not run.

import { nextOf, waitsUntil } from './actions.js'
import { firstLine, found, model, nameOf, perform, projectName, source } from './app.js'
import { counted, guardPresses, h, reconcile, say, settle, show, text, time } from './dom.js'
import { deed } from './diff.js'
import { rove, useShortcuts, usesShortcuts } from './keys.js'
import './line.js'
import { STUCK } from './model.js'
import { STOP } from './row.js'
import { newSession } from './title.js'

/** The minimum time that a decided line is shown, in milliseconds. */
const READ_AFTER = 8000
/** How long an order that a user made is kept, in milliseconds. */
const OWN_ORDER = 1500
const FOUND_MAX = 50

/** They apply as long as the page is open. */
let project = ''
let query = ''

class InboxView extends HTMLElement {
  /** Since when each item needs a user: another change does not restart that. */
  #since = new Map()
  /** When a user last moved a line. */
  #ordered = -Infinity
  /** Why sessions are paused, and for which sessions that was requested. */
  #reasons = new Map()
  #reasonsOf = ''
  /** How lines ended by actions here, by session. */
  #told = new Map()

  open() {
    this.heading = h('h1', {}, 'Inbox')
    this.search = h('input', {
      type: 'search', id: 'inbox-search', placeholder: 'Search', dir: 'auto', 'aria-label': 'Search sessions and prompts', value: query,
      oninput: () => (query = this.search.value, this.update()),
      onkeydown: (event) => event.key === 'Escape' && (this.search.value = query = '', this.update()),
    })
    this.projects = h('select', { 'aria-label': 'Filter by project', onchange: () => (project = this.projects.value, this.update()) })
    this.nothing = h('p.quiet', { hidden: true })
    this.start = h('p.buttons', { hidden: true }, h('button.main', { type: 'button', onclick: () => newSession() }, 'New session'), h('a', { href: '#/devices' }, 'Use a phone or another device'))
    this.offWords = h('span')
    this.off = h('p.meta', { hidden: true }, this.offWords, ' ',
      h('button.link', { type: 'button', onclick: () => [...model.later.keys()].forEach((id) => model.takeBackPutOff(id)) }, 'Show'))
    this.filtered = h('p.meta', { hidden: true })
    // Its place is reserved, so that it moves nothing when it comes.
    this.clear = h('button.link', { type: 'button', hidden: true, onclick: () => this.#clear() }, 'Hide decided ones')
    this.list = this.#list('Needs you')
    this.queueOff = h('p.meta', { hidden: true }, 'The thread queue is off, so finished sessions are not listed. To turn it on: ', h('code', {}, 'cospool config set queueEnabled on'))
    this.working = this.#section('Working')
    this.idle = this.#section('Not running')
    this.found = this.#section('Also found')
    this.replaceChildren(h('div.bar', {}, this.heading, h('div.buttons.filter', {}, this.search, this.projects)),
      this.nothing, this.start, this.list, h('div.bar.hidden-ones', {}, this.off, this.filtered, this.clear), this.queueOff,
      this.found.box, this.working.box, this.idle.box,
      h('p.keys', {}, h('label.check', {}, this.shortcuts = h('input', { type: 'checkbox', onchange: () => useShortcuts(this.shortcuts.checked) }), 'Single-key shortcuts'),
        ' · ', h('kbd', {}, '?'), ' shows all keys'))
    // Its output is shown in its session.
    this.addEventListener('output', ({ detail }) => {
      const session = [...model.queues].find(([, queue]) => queue.some(({ id }) => id === detail.id))?.[0]
      if (session) location.hash = `#/s/${encodeURIComponent(session)}`
    })
    this.addEventListener('act', ({ detail: { name, entry } }) => this.#act(name, entry))
    // Lines that waited for the user to leave the list go now.
    for (const kind of ['pointerleave', 'focusout']) this.list.addEventListener(kind, () => model.touch())
    guardPresses(this)
    // Whatever moves them, including growth above them.
    this.sizes = new ResizeObserver(() => this.#settle())
    this.sizes.observe(this)
    this.update()
  }

  disconnectedCallback() {
    this.sizes?.disconnect()
    model.forgetRead()
  }

  /** The daemon is back: reads its data again. */
  back() {
    this.#reasonsOf = ''
    this.#readReasons()
  }

  #list(label) {
    const list = h('div.inbox', { role: 'list', 'aria-label': label })
    rove(list, 'inbox-line')
    return list
  }

  #section(title) {
    const heading = h('h2', {}, title)
    const list = this.#list(title)
    return { title, heading, list, box: h('section', { hidden: true }, heading, list) }
  }

  #settle() { settle(this.querySelectorAll('inbox-line, request-card, queue-row')) }

  #isUsed(list) { return list.matches(':hover, :focus-within') }

  #clear() {
    model.forgetRead()
    this.list.shown = null
    model.touch()
  }

  // What is shown.

  #sinceOf(id, at) {
    if (!this.#since.has(id)) this.#since.set(id, at)
    return this.#since.get(id)
  }

  /** Requests, failures, unknown outcomes and merged texts, oldest first; then the ready threads, in their order. */
  #entries(needs) {
    const bySession = new Map()
    const entry = (session) => {
      if (!bySession.has(session)) bySession.set(session, { session, requests: [], stuck: [], sinces: [] })
      return bySession.get(session)
    }
    for (const each of model.withDecided(needs.requests)) {
      const line = entry(each.session)
      line.requests.push(each)
      line.sinces.push(this.#sinceOf(each.id, each.at ?? Date.now()))
    }
    for (const { session, message } of needs.stuck) {
      const line = entry(session)
      line.stuck.push(message)
      line.sinces.push(this.#sinceOf(message.id + message.status, (STUCK.includes(message.status) && model.tasks.get(session)?.lastUpdateTime) || Date.parse(message.createdAt)))
    }
    const first = [...bySession.values()].map((line) => {
      const [message] = line.stuck
      const kind = line.requests.length ? 'asks' : message.merged ? 'merged' : message.status === 'failed' ? 'failed' : 'unknown'
      const words = kind === 'asks' ? askWords(line.requests) : message.merged ? 'was edited in two places' : failureWords(message)
      return { ...line, kind, words, since: Math.min(...line.sinces), thread: model.shownThreads.find(({ session }) => session === line.session) }
    }).sort(byAge)
    const ready = needs.ready.filter(({ session }) => !bySession.has(session)).map((thread, index, all) => {
      const task = model.tasks.get(thread.session)
      const isDone = task?.status === 'completed' && task.result?.kind === 'success'
      const ended = firstLine(task?.result?.error ?? task?.error)
      const why = this.#pause(thread.session) ?? model.obstacle(thread.session)
      return {
        session: thread.session, kind: isDone ? 'done' : 'ready', thread, since: isDone ? task.lastUpdateTime : Date.parse(thread.queuedAt), up: all[index - 1]?.session, down: all[index + 1]?.session,
        words: isDone ? firstLine(task.result.summary) || 'Its agent is done.' : why?.words ?? (waitingWords(thread.session) || ended), mend: this.#mend(thread.session, why),
      }
    })
    return { first, ready }
  }

  /** For sessions without a line above. */
  #others(above, needs) {
    const working = []
    const idle = []
    const threads = new Map(needs.locked.map((thread) => [thread.session, thread]))
    for (const { id } of model.sessions.values()) {
      if (above.has(id)) continue
      const task = model.tasks.get(id)
      const running = model.running(id)
      const thread = threads.get(id)
      if (running || task?.status === 'processing') {
        const progress = task?.todoProgress
        const words = progress?.total ? `${progress.completed} of ${progress.total}${progress.currentTask ? ` · ${progress.currentTask}` : ''}` : task?.operation ?? firstLine(running?.content)
        working.push({ session: id, kind: 'working', words, progress, since: task?.startTime || null, mend: { label: 'Stop', run: () => perform('stop', { session: id, id: running?.id }, STOP) } })
        continue
      }
      const next = nextOf(model.queues.get(id))
      const until = next && waitsUntil(next)
      const pause = this.#pause(id)
      const why = pause ?? model.obstacle(id)
      if (why) idle.push({ session: id, kind: pause ? 'paused' : 'off', thread, words: why.words, mend: this.#mend(id, why) })
      else if (until) {
        idle.push({ session: id, kind: 'limit', thread, words: `Waits until ${time(until)}${next.lastError ? `: ${firstLine(next.lastError)}` : ''}` })
      } else if (thread) working.push({ session: id, kind: 'locked', thread, words: 'Locked until its agent is done', since: Date.parse(thread.queuedAt) })
    }
    return { working: working.sort(byAge), idle: idle.sort(byAge) }
  }

  /** Why a session with a waiting prompt is paused, with the button that resumes it; null if it is not. */
  #pause(id) {
    if (!model.sessions.get(id)?.paused || !nextOf(model.queues.get(id))) return null
    const resume = () => perform('resume', { session: id }, { id: `session.${id}`, done: `${nameOf(id)} is resumed`, undoable: true })
    return { words: this.#reasons.get(id) ?? waitingWords(id), mend: { label: 'Resume', run: resume } }
  }

  #mend(session, why) {
    if (why?.mend) return why.mend
    if (!why?.mayRunHere || !model.sync?.device) return null
    return { label: `Run on ${model.sync.deviceName}${why.isAway ? ' instead' : ''}`, run: () => perform('host', { session, device: model.sync.device }, { done: (answer) => answer.warning ?? `${nameOf(session)} runs on ${model.sync.deviceName} now` }) }
  }

  /** With the pointer or the focus in a list, no line changes its place, and what goes keeps its own. */
  #fill(list, entries, { keeps = false } = {}) {
    const isUsed = this.#isUsed(list)
    const shown = isUsed && list.shown
    if (shown) {
      if (keeps) {
        // A line without a request would be as small as its thread. A decided line goes only if its user says so.
        const isOpen = ({ requests = [], stuck = [] }) => stuck.length > 0 || requests.some((each) => !each.over)
        const before = new Map(shown.map((each) => [each.session, each]))
        entries = entries.filter((each) => each.requests || !before.has(each.session) || !isOpen(before.get(each.session)))
        const present = new Set(entries.map(({ session }) => session))
        entries.push(...shown.filter((each) => !present.has(each.session) && (!each.requests || isOpen(each)))
          .map((each) => ({ ...each, over: each.over ?? this.#told.get(each.session) ?? 'It no longer waits for you.' })))
      }
      const places = new Map(shown.map(({ session }, index) => [session, index]))
      // A user who moves a line sees it move.
      if (performance.now() - this.#ordered > OWN_ORDER || !keeps) {
        const place = ({ session }) => places.get(session) ?? shown.length
        entries.sort((left, right) => place(left) - place(right))
      }
    } else this.#told.clear()
    list.shown = entries
    reconcile(list, entries, { key: (each) => each.session, make: () => document.createElement('inbox-line'), update: (line, each) => line.update(each) })
    list.classList.toggle('left', !isUsed)
    return entries
  }

  update() {
    document.title = 'Inbox · Cospool'
    if (!this.#isUsed(this.list)) model.forgetRead(READ_AFTER)
    const needs = model.needs()
    const { first, ready } = this.#entries(needs)
    const all = [...first, ...ready]
    const above = new Set(all.map(({ session }) => session))
    const { working, idle } = this.#others(above, needs)
    this.#fillProjects()
    const results = query.trim() ? new Map(found(query).map((each) => [each.session.id, each])) : null
    const isShown = ({ session }) => (!project || projectOf(session) === project) && (!results || results.has(session))
    const fits = (each) => {
      const [prompt] = results?.get(each.session)?.prompts ?? []
      return prompt && !each.requests && !each.stuck ? { ...each, words: prompt } : each
    }
    const lines = this.#fill(this.list, all.filter(isShown).map(fits), { keeps: true })
    text(this.heading, !model.ready ? 'Inbox' : needs.count ? `${counted(needs.count, 'session')} ${needs.count === 1 ? 'needs' : 'need'} you` : 'Nothing needs you')
    for (const [section, entries] of [[this.working, working], [this.idle, idle], [this.found, results ? this.#alsoFound(results, above, [...working, ...idle]) : []]]) {
      const some = this.#fill(section.list, entries.filter(isShown).map(fits))
      show(section.box, some.length > 0)
      text(section.heading, `${section.title} · ${some.length}`)
    }
    const isEmpty = !lines.length
    const isNew = model.ready && !model.sessions.size
    show(this.nothing, isEmpty && (!model.ready || isNew || Boolean(query || project)))
    text(this.nothing, !model.ready ? 'Connecting …' : isNew ? 'Cospool keeps queues of prompts for coding agents, the same on all your devices. Start a session.'
      : query ? 'Nothing that needs you fits the search.' : `Nothing in ${project} needs you.`)
    show(this.start, isNew && isEmpty)
    show(this.list, !isEmpty)
    show(this.search.parentElement, !isNew)
    show(this.queueOff, model.ready && model.settings?.queueEnabled === false)
    this.shortcuts.checked = usesShortcuts()
    show(this.clear, lines.some(({ over, requests = [] }) => over || requests.some((each) => each.over && !model.decided.get(each.id)?.stays)))
    // Snoozed requests show that themselves.
    const hidden = needs.putOff.filter(({ id }) => !model.decided.has(id)).length
    show(this.off, hidden > 0)
    text(this.offWords, `${counted(hidden, 'request')} hidden in this browser. The ${hidden === 1 ? 'agent keeps' : 'agents keep'} waiting.`)
    const elsewhere = project ? all.filter((each) => projectOf(each.session) !== project).length : 0
    show(this.filtered, elsewhere > 0)
    text(this.filtered, `${counted(elsewhere, 'more session')} in other projects ${elsewhere === 1 ? 'needs' : 'need'} you.`)
    this.#readReasons()
    this.#settle()
  }

  #alsoFound(results, above, others) {
    const shown = new Set([...above, ...others.map(({ session }) => session)])
    return [...results.values()].filter(({ session }) => !shown.has(session.id)).slice(0, FOUND_MAX)
      .map(({ session: { id } }) => ({ session: id, kind: 'found', words: model.sessions.get(id).archived ? 'Archived' : waitingWords(id) }))
  }

  #fillProjects() {
    const names = [...new Set([...model.sessions.keys()].map(projectOf).filter(Boolean))].sort((left, right) => left.localeCompare(right))
    if (project && !names.includes(project)) project = ''
    show(this.projects, names.length > 1)
    const signature = JSON.stringify([names, project])
    if (this.projects.signature === signature) return
    this.projects.signature = signature
    this.projects.replaceChildren(h('option', { value: '' }, 'All projects'), ...names.map((name) => h('option', {}, name)))
    this.projects.value = project
  }

  /** No event reports why sessions are paused; it is requested once for those that are. */
  async #readReasons() {
    const paused = [...model.sessions.values()].filter((each) => each.paused && each.waiting).map(({ id }) => id).join('\n')
    if (this.#reasonsOf === paused || model.link !== 'live') return
    this.#reasonsOf = paused
    if (!paused) return
    const answer = await source.list('overview').catch(() => null)
    if (!answer || this.#reasonsOf !== paused) return
    this.#reasons = new Map(answer.sessions.filter(({ standing, note }) => standing === 'paused' && note).map(({ id, note }) => [id, note]))
    model.touch()
  }

  // Finished work.

  async #act(name, entry) {
    const { session, thread } = entry
    const title = nameOf(session)
    if (entry.over) return
    if (name === 'mend') return entry.mend?.run()
    if (name === 'unlock') return perform('threadUnlock', { session }, { done: `${title} is unlocked` })
    const threads = model.shownThreads.filter((each) => each.locked === thread.locked)
    const here = threads.findIndex((each) => each.session === session)
    if (here < 0) return say('It is no longer there')
    const [action, words] = { later: ['threadRequeue', 'is at the end, locked until its agent is done'], done: ['threadRemove', 'is removed from the list'] }[name] ?? []
    if (action) {
      this.#told.set(session, `It ${words}.`)
      return perform(action, { session }, { done: `${title} ${words}`, undoable: true })
    }
    const isUp = name === 'up'
    const place = threads.findIndex((each) => each.session === entry[name])
    // The line is as old as its last frame.
    if (place < 0 || isUp === place > here) return say(isUp ? 'It is the first' : 'It is the last')
    this.#ordered = Infinity
    await perform('threadMove', { session, to: { [isUp ? 'before' : 'after']: entry[name] } }, { done: isUp ? 'Moved up' : 'Moved down', undoable: true })
    this.#ordered = performance.now()
  }

  /** `j` and `k` move between lines; `a`, `d`, `r` and `s` decide. */
  key(event) {
    if (!usesShortcuts()) return false
    const stops = [...this.querySelectorAll('request-card, queue-row, inbox-line')]
      .filter((each) => each.checkVisibility() && !(each.matches('inbox-line') && each.querySelector('request-card, queue-row')))
    const here = stops.findIndex((each) => each.contains(document.activeElement))
    if (event.key === 'j' || event.key === 'k') {
      const stop = stops[event.key === 'j' ? Math.min(here + 1, stops.length - 1) : Math.max(here - 1, 0)]
      // Not to a decision: Enter would trigger it.
      stop?.focus()
      stop?.scrollIntoView({ block: 'nearest' })
      return Boolean(stop)
    }
    const at = stops[here]
    const verdict = { a: 'allowed', d: 'denied' }[event.key]
    const action = { r: 'retry', s: 'skip' }[event.key]
    if (event.key === 's' && at?.matches('request-card:not(.over)')) return at.snooze(), true
    const kind = verdict ? 'request-card:not(.over)' : action && 'queue-row'
    if (!kind) return false
    // The focused line is decided; otherwise the first press moves to one that can be.
    const part = at?.matches('request-card, queue-row') && (at.matches(kind) || verdict) ? at : this.querySelector(kind)
    const button = part?.matches(kind) && part.querySelector(verdict ? `[data-verdict="${verdict}"]:not(:disabled)` : `[data-action="${action}"]:not([hidden])`)
    if (!button) return false
    if (part !== at) button.focus()
    else verdict ? part.decide(verdict) : part.run(action)
    return true
  }
}

function askWords(requests) {
  const open = requests.filter(({ over }) => !over)
  if (open.length > 1) return counted(open.length, 'request')
  const [{ request, consent }] = open.length ? open : requests
  return consent ? 'was given to this device' : request ? deed(request.toolName) : 'asks a question'
}

function failureWords({ status, attempts, lastError }) {
  const tries = attempts > 1 ? `${attempts} attempts` : null
  return [tries, firstLine(lastError) || (status === 'unknown' ? 'Its outcome is unknown.' : '')].filter(Boolean).join(' · ')
}

const byAge = (left, right) => (left.since ?? 0) - (right.since ?? 0) || nameOf(left.session).localeCompare(nameOf(right.session))

const projectOf = (session) => projectName(model.sessions.get(session)?.project)

function waitingWords(session) {
  const queue = (model.queues.get(session) ?? []).filter(({ status }) => status === 'queued')
  return queue.length ? `${queue.length} waiting: ${firstLine(queue[0].content)}` : ''
}

customElements.define('needs-view', InboxView)
