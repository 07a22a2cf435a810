// What needs its person: requests, messages that failed, and threads that are ready.

import { model, perform } from './app.js'
import { ago, counted, disable, guardPresses, h, reconcile, say, settle, show, text } from './dom.js'
import './request.js'
import './row.js'
import { kept } from './storage.js'

/** Whether a letter alone does something in this browser. */
const SHORTCUTS = 'cospool.shortcuts'
const usesShortcuts = () => localStorage.getItem(SHORTCUTS) !== 'off'

/** How long what was decided is shown at least, in milliseconds. */
const READ_AFTER = 8000

class NeedsView extends HTMLElement {
  open() {
    this.heading = h('h1', {}, 'Needs you')
    this.nothing = h('p.quiet', { hidden: true }, 'Nothing needs you.')
    this.offWords = h('span')
    this.off = h('p.meta', { hidden: true }, this.offWords, ' ',
      h('button.link', { type: 'button', onclick: () => [...model.later.keys()].forEach((id) => model.takeBackPutOff(id)) }, 'Show'))
    // Whoever dictates presses letters, too.
    this.shortcuts = h('input', { type: 'checkbox', onchange: () => kept(SHORTCUTS, this.shortcuts.checked ? 'on' : 'off') })
    this.requests = this.#section('Requests', h('div.requests'))
    // What was decided stays where it was until one leaves, or says so.
    // Its place is kept for it: it moves nothing where it comes.
    this.clear = h('button.link.away', { type: 'button', onclick: () => model.forgetRead() }, 'Hide decided ones')
    this.requests.box.prepend(h('div.bar', {}, this.requests.heading, this.clear))
    this.stuck = this.#section('Failed, interrupted or merged', h('div.queue', { role: 'list', 'aria-label': 'Messages that wait for you' }))
    this.ready = this.#section('Threads that are ready', h('ol.threads', { 'aria-label': 'Threads that need you, in their order' }))
    this.locked = this.#section('At work', h('ol.threads', { 'aria-label': 'Threads that are locked' }))
    this.replaceChildren(this.heading, this.nothing, this.off,
      ...[this.requests, this.stuck, this.ready, this.locked].map((each) => each.box),
      this.hint = h('p.keys', {}, h('label.check', {}, this.shortcuts, 'Single-key shortcuts:'), ' ', h('kbd', {}, 'j'), ' ', h('kbd', {}, 'k'),
        ' next and previous · ', h('kbd', {}, 'a'), ' allow · ', h('kbd', {}, 'd'), ' deny'))
    // Its output is shown in its session.
    this.addEventListener('output', ({ detail }) => {
      const session = [...model.queues].find(([, queue]) => queue.some(({ id }) => id === detail.id))?.[0]
      if (session) location.hash = `#/s/${encodeURIComponent(session)}`
    })
    guardPresses(this)
    // Whatever moves them: also what grows above them.
    this.sizes = new ResizeObserver(() => this.#settle())
    this.sizes.observe(this)
    this.update()
  }

  disconnectedCallback() {
    this.sizes?.disconnect()
    model.forgetRead()
  }

  #settle() { settle(this.querySelectorAll('request-card, queue-row, li.thread')) }

  /** Nobody is here: what was decided goes, and moves nothing under a finger. */
  #leave() {
    if (!this.matches(':hover, :focus-within')) model.forgetRead(READ_AFTER)
  }

  #section(title, list) {
    const heading = h('h2', {}, title)
    return { title, heading, list, box: h('section', { hidden: true }, heading, list) }
  }

  #fill(section, items, how) {
    show(section.box, items.length > 0)
    text(section.heading, `${section.title} · ${items.length}`)
    reconcile(section.list, items, how)
  }

  update() {
    document.title = 'Needs you · Cospool'
    this.#leave()
    const needs = model.needs()
    const requests = model.withDecided(needs.requests)
    this.#fill(this.requests, requests, {
      key: (each) => each.id, make: () => document.createElement('request-card'), update: (card, each) => card.update(each),
    })
    this.#fill(this.stuck, needs.stuck, {
      key: ({ message }) => message.id, make: () => document.createElement('queue-row'),
      update: (row, { message, session }, index) => {
        const host = model.sessions.get(session)?.host
        row.update(message, { index, session, named: true, host: host && host !== model.sync?.device ? model.deviceName(host) : null })
      },
    })
    for (const section of [this.ready, this.locked]) {
      const threads = section === this.ready ? needs.ready : needs.locked
      this.#fill(section, threads, {
        key: (thread) => thread.session, make: (thread) => this.#thread(thread),
        update: (row, thread, index) => this.#updateThread(row, thread, index, threads),
      })
    }
    show(this.nothing, !requests.length && !needs.count && !needs.locked.length)
    text(this.nothing, !model.ready ? 'Connecting …' : model.sessions.size ? 'Nothing needs you.'
      : 'Nothing needs you: there is no session yet. Name one under Sessions and queue its first prompt, or type: cospool send -s NAME "…"')
    show(this.hint, this.nothing.hidden)
    this.shortcuts.checked = usesShortcuts()
    this.clear.classList.toggle('away', !requests.some((each) => each.over && !model.decided.get(each.id)?.stays))
    // Those that are shown as put off say so themselves.
    const hidden = needs.putOff.filter(({ id }) => !model.decided.has(id)).length
    show(this.off, hidden > 0)
    text(this.offWords, `${counted(hidden, 'request')} hidden in this browser. The ${hidden === 1 ? 'agent keeps' : 'agents keep'} waiting.`)
    this.#settle()
  }

  #thread({ session }) {
    const button = (name, label, words) => h('button', {
      type: 'button', 'data-action': name, 'aria-label': `${words}: ${session}`, title: words,
      onclick: () => this.#act(name, session),
    }, label)
    const tools = h('div.tools', {}, button('up', '↑', 'Move up'), button('down', '↓', 'Move down'), button('unlock', 'Unlock', 'Unlock'),
      button('requeue', 'To the end', 'To the end, and lock until its agent is done'), button('remove', 'Remove from list', 'Remove from list'))
    const row = h('li.thread', { 'data-session': session },
      h('a', { href: `#/s/${encodeURIComponent(session)}`, onclick: () => perform('threadView', { session }).catch(() => {}) },
        h('span.name'), h('span.meta')), tools)
    row.pressed = [tools]
    return row
  }

  #updateThread(row, thread, index, threads) {
    const session = model.sessions.get(thread.session)
    const task = model.tasks.get(thread.session)
    text(row.querySelector('.name'), thread.name || thread.session)
    text(row.querySelector('.meta'), [
      session?.waiting ? `${session.waiting} waiting` : null, task && task.status !== 'idle' ? taskWords(task) : null,
      thread.project, `queued ${ago(thread.queuedAt)}`,
    ].filter(Boolean).join(' · '))
    const why = {
      up: index === 0 ? 'It is the first.' : null, down: index === threads.length - 1 ? 'It is the last.' : null,
      unlock: thread.locked ? null : 'It is not locked.',
    }
    for (const button of row.querySelectorAll('[data-action]')) {
      const reason = why[button.dataset.action]
      disable(button, reason)
      if (button.dataset.action === 'unlock') show(button, thread.locked)
    }
  }

  #act(name, session) {
    const threads = model.threads
    const here = threads.findIndex((each) => each.session === session)
    if (here < 0) return say('It is no longer there')
    const same = threads.filter((each) => each.locked === threads[here].locked)
    const place = same.findIndex((each) => each.session === session)
    const beside = same[place + (name === 'up' ? -1 : 1)]?.session
    // The row is as old as its last frame.
    if (!beside && ['up', 'down'].includes(name)) return say(name === 'up' ? 'It is the first' : 'It is the last')
    const steps = {
      up: () => perform('threadMove', { session, to: { before: beside } }, { done: 'Moved up', undoable: true }),
      down: () => perform('threadMove', { session, to: { after: beside } }, { done: 'Moved down', undoable: true }),
      unlock: () => perform('threadUnlock', { session }, { done: `${session} is unlocked` }),
      requeue: () => perform('threadRequeue', { session }, { done: `${session} is at the end, locked`, undoable: true }),
      remove: () => perform('threadRemove', { session }, { done: `${session} was removed from the list`, undoable: true }),
    }
    steps[name]()
  }

  /** `j` and `k` go from one to the next, `a` and `d` decide. */
  key(event) {
    if (!usesShortcuts()) return false
    const stops = [...this.querySelectorAll('request-card, queue-row, li.thread')].filter((each) => each.checkVisibility())
    const here = stops.findIndex((each) => each.contains(document.activeElement))
    if (event.key === 'j' || event.key === 'k') {
      const stop = stops[event.key === 'j' ? Math.min(here + 1, stops.length - 1) : Math.max(here - 1, 0)]
      // Not to a decision: Enter would make it.
      const first = stop?.matches('request-card') ? stop : stop?.querySelector('button:not(:disabled, [hidden]), a') ?? stop
      first?.focus()
      return Boolean(stop)
    }
    const at = stops[here]
    const card = at && !at.matches('.over') ? at.closest('request-card') : this.querySelector('request-card:not(.over)')
    if (!card) return false
    const verdict = { a: 'allowed', d: 'denied' }[event.key]
    const button = verdict && card.querySelector(`[data-verdict="${verdict}"]:not(:disabled)`)
    if (button && at === card) card.decide(verdict)
    else if (button) button.focus()
    return Boolean(button)
  }
}

function taskWords(task) {
  return {
    processing: task.operation ?? 'works', awaitingApproval: 'waits for approval', awaitingAnswer: 'waits for an answer',
    completed: task.result?.kind === 'failure' ? 'failed' : 'done', error: 'failed',
  }[task.status] ?? task.status
}

customElements.define('needs-view', NeedsView)
