// One session in the inbox: a line with its reason, and below it the request or the failure, opened in place.

import { model, nameOf, projectName, source } from './app.js'
import { age, disable, h, reconcile, show, text, time } from './dom.js'
import './request.js'
import './row.js'

/** The tag of each kind, and its dot. */
const KINDS = {
  asks: ['asks', 'ask'], failed: ['failed', 'fail'], unknown: ['unknown', 'fail'], merged: ['merged text', 'fail'], done: ['done, unread', 'done'], ready: ['your turn', 'done'],
  working: ['working', 'on'], off: ['not running', 'off'], paused: ['paused', 'paused'], limit: ['waits', 'off'], locked: ['locked', ''], found: ['', ''],
}

class InboxLine extends HTMLElement {
  #entry

  connectedCallback() {
    if (this.head) return
    this.setAttribute('role', 'listitem')
    this.tabIndex = -1
    const tool = (name, label, words) => h('button', {
      type: 'button', 'data-action': name, title: words ?? '', onclick: () => this.dispatchEvent(new CustomEvent('act', { bubbles: true, detail: { name, entry: this.#entry } })),
    }, label)
    this.dot = h('i.dot', { 'aria-hidden': 'true' })
    this.link = h('a', { dir: 'auto', onclick: () => this.#entry.thread && source.act('threadView', this.#entry).catch(() => {}) })
    this.who = h('p.who', { role: 'heading', 'aria-level': '2' }, this.link)
    this.tag = h('b.tag')
    this.words = h('p.words', { dir: 'auto' })
    this.place = h('span.meta.place')
    this.when = h('time.meta')
    this.mend = tool('mend', '')
    this.tools = h('div.tools', {}, this.mend, tool('up', '↑', 'Move up'), tool('down', '↓', 'Move down'), tool('unlock', 'Unlock'),
      tool('later', 'Later', 'Move it to the end; it is locked until its agent is done'), tool('done', 'Done', 'Remove it from the list'))
    this.head = h('div.head', {}, this.dot, this.who, this.tag, this.words, this.place, this.when, this.tools)
    this.requests = h('div.requests')
    this.stuck = h('div.queue', { role: 'list', 'aria-label': 'Messages that wait for you' })
    this.progress = h('progress', { hidden: true, 'aria-label': 'Progress' })
    this.replaceChildren(this.head, this.progress, this.requests, this.stuck)
  }

  /** The parts that ignore presses for a moment after it moved. */
  get pressed() { return [this.tools] }

  /** Shows an entry: `{session, kind, words, since, requests, stuck, thread, mend, progress, over}`. */
  update(entry) {
    this.#entry = entry
    const { session, kind, requests = [], stuck = [], thread, mend, progress, over } = entry
    const name = nameOf(session)
    const known = model.sessions.get(session)
    const [tag, dot] = KINDS[kind]
    if (!this.link.href) this.link.href = `#/s/${encodeURIComponent(session)}`
    Object.assign(this.dataset, { session, kind })
    text(this.link, name)
    this.dot.className = `dot ${dot}`
    text(this.tag, tag)
    show(this.tag, Boolean(tag))
    this.tag.className = `tag ${dot}`
    const words = over ?? entry.words ?? ''
    text(this.words, words)
    this.words.title = words.length > 60 ? words : ''
    text(this.place, [projectName(known?.project || thread?.project), known?.host && model.deviceName(known.host)].filter(Boolean).join(' · '))
    show(this.when, Boolean(entry.since))
    if (entry.since) {
      const at = new Date(entry.since)
      if (this.when.dateTime !== at.toISOString()) Object.assign(this.when, { dateTime: at.toISOString(), title: time(at) })
      const passed = age(at)
      const left = requests.length === 1 && !requests[0].over ? leftWords(requests[0]) : ''
      text(this.when, (passed === 'now' ? 'just now' : ['asks', 'merged'].includes(kind) ? `waits ${passed}` : kind === 'working' ? `for ${passed}` : `${passed} ago`) + left)
    }
    show(this.progress, Boolean(progress?.total))
    if (progress?.total) Object.assign(this.progress, { max: progress.total, value: progress.completed })
    const isListed = thread && !requests.length && !stuck.length
    const isReady = isListed && !thread.locked
    const isMovable = isReady && (entry.up || entry.down)
    const shown = { mend, unlock: isListed && !isReady, up: isMovable, down: isMovable, later: isReady, done: isReady }
    for (const button of this.tools.children) {
      const action = button.dataset.action
      show(button, Boolean(shown[action]))
      if (action === 'mend' && mend) text(button, mend.label)
      button.setAttribute('aria-label', `${{ up: 'Move up', down: 'Move down' }[action] ?? button.textContent}: ${name}`)
      disable(button, over || ['up', 'down'].includes(action) && !entry[action])
    }
    reconcile(this.requests, requests, { key: (each) => each.id, make: () => document.createElement('request-card'), update: (card, each) => card.update(each) })
    const host = known?.host
    reconcile(this.stuck, stuck, {
      key: (message) => message.id,
      make: () => Object.assign(document.createElement('queue-row'), { tabIndex: -1 }),
      update: (row, message, index) => row.update(message, { index, session, away: host && host !== model.sync?.device ? model.deviceName(host) : null, first: true, last: true }),
    })
    this.classList.toggle('over', Boolean(over) || requests.length > 0 && !stuck.length && requests.every((each) => each.over || model.decided.has(each.id)))
  }
}

/** How long it waits for an answer. */
function leftWords({ request, question }) {
  const left = Math.round((Date.parse((request ?? question).expiresAt) - Date.now()) / 1000)
  return left > 0 && left < 3600 ? ` · ${left >= 60 ? `${Math.floor(left / 60)} min` : `${left} s`} left` : ''
}

customElements.define('inbox-line', InboxLine)
