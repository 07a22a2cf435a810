// The page begins here: the link's ticket, the views, and what comes from the daemon.

import { deliverAll, lock, model, restore, source, undo } from './app.js'
import { h, reconcile, say, show, text } from './dom.js'
import './needs.js'
import './session.js'
import { syncWords } from './devices.js'
import { tellUnsaid } from './request.js'
import { KEY } from './source.js'

const main = document.getElementById('main')
let view

/** Trades the ticket of a link, where the address has one. */
async function enter() {
  const ticket = /^#t=([\w-]+)$/.exec(location.hash)?.[1]
  if (!ticket) return
  // It is worth nothing from here on, and is not to stand in the history either.
  history.replaceState(null, '', '/#/needs')
  try {
    await source.enter(ticket)
  } catch (error) {
    // This browser may have a key from an earlier time.
    model.lockWords = error.message
    model.touch()
  }
}

async function begin() {
  await enter()
  await restore()
  const watcher = source.watch({ event: (name, data) => model.take(name, data), state: linkChanged })
  document.getElementById('banner').addEventListener('click', (event) => event.target.closest('button') && watcher.now())
  document.addEventListener('visibilitychange', () => {
    clearTimeout(begin.sleep)
    // A browser has six connections to an address, for all of its tabs.
    if (document.hidden) begin.sleep = setTimeout(() => watcher.sleep(true), 60_000)
    else watcher.sleep(false)
  })
  addEventListener('online', () => watcher.now())
  model.addEventListener('change', update)
  model.addEventListener('event', ({ detail }) => {
    if (detail.name === 'present') deliverAll()
    if (model.ready && ['present', 'task'].includes(detail.name)) tellUnsaid()
    if (detail.name === 'sync') readUnsent()
    if (model.consentsStale) readConsents()
  })
  addEventListener('hashchange', async () => {
    if (location.hash.startsWith('#t=')) {
      await enter()
      watcher.now()
    }
    go()
  })
  addEventListener('keydown', keys)
  document.getElementById('new-session').addEventListener('submit', addSession)
  setInterval(() => {
    if (document.hidden) return
    model.touch()
    // A word that was given elsewhere on this machine changes nothing of a session.
    if (model.unconsented.size) readConsents()
  }, 5000)
  setInterval(saySeen, 45_000)
  for (const kind of ['pointerdown', 'keydown']) addEventListener(kind, () => (saySeen.at = Date.now()), { passive: true })
  addEventListener('pointerdown', () => (keys.typedAt = 0), { passive: true })
  for (const kind of ['focusin', 'focusout']) addEventListener(kind, typing)
  for (const kind of ['dragover', 'drop']) addEventListener(kind, dragged)
  document.querySelector('.skip').addEventListener('click', (event) => {
    // The address is the view's.
    event.preventDefault()
    main.focus()
  })
  // What another tab of this browser did.
  addEventListener('storage', ({ key, newValue }) => {
    if (key === KEY && newValue) {
      source.takeKey(newValue)
      watcher.now()
    } else if (key && newValue === null) {
      model.sentElsewhere(key)
    }
  })
  go()
}

/** Nothing is pushed to a device that somebody looks at; only what was touched a moment ago is proof. */
function saySeen() {
  if (!document.hidden && model.link === 'live' && Date.now() - (saySeen.at ?? 0) < 60_000) source.act('visible').catch(() => {})
}

/** Asks which messages the server does not have, once for all that changes meanwhile. */
async function readUnsent() {
  if (!model.sync?.outgoing || !model.sync.server) return
  if (readUnsent.busy) return (readUnsent.again = true)
  Object.assign(readUnsent, { busy: true, again: false })
  const answer = await source.list('messages/unsent').catch(() => null)
  readUnsent.busy = false
  if (answer && model.sync.outgoing) {
    model.unsent = new Map(answer.messages.map((each) => [each.id, each]))
    model.touch()
  }
  // Events may come faster than answers: each answer counts.
  if (readUnsent.again) readUnsent()
}

/** Asks which sessions wait for leave to run here, once for all that changes meanwhile. */
async function readConsents() {
  if (readConsents.busy || model.link !== 'live') return
  Object.assign(readConsents, { busy: true })
  model.consentsStale = false
  const status = await source.list('status').catch(() => null)
  readConsents.busy = false
  if (status) takeConsents(status)
  if (model.consentsStale) readConsents()
}

function takeConsents({ unconsented }) {
  model.unconsented = new Set(unconsented)
  model.touch()
}

async function linkChanged(link, error) {
  if (link === 'locked') return lock(model.lockWords ? { message: model.lockWords } : error)
  model.link = link
  model.touch()
  if (link !== 'live') return
  model.lockWords = null
  const before = { sync: model.sync, activities: new Map(model.activities), queueEnabled: model.settings?.queueEnabled }
  const [status, activity, settings] = await Promise.allSettled([source.list('status'), source.list('activity'), source.list('settings/queueEnabled')])
  if (status.status === 'fulfilled') {
    model.daemon = status.value.daemon
    model.takeStatus(status.value, before.sync)
    takeConsents(status.value)
    readUnsent()
    deliverAll()
  }
  // Of what an event told meanwhile, the event counts.
  const isOld = ({ session }) => model.activities.get(session) !== before.activities.get(session)
  if (activity.status === 'fulfilled') for (const each of activity.value.activities) if (!isOld(each)) model.activities.set(each.session, each)
  if (settings.status === 'fulfilled' && model.settings?.queueEnabled === before.queueEnabled) model.settings = { ...model.settings, queueEnabled: settings.value.value }
  model.touch()
}

// Views.

async function go() {
  const [, name = 'needs', part] = location.hash.slice(1).split('/')
  const id = decoded(part)
  const kind = name === 's' && !id ? 'sessions-view' : { needs: 'needs-view', s: 'session-view', devices: 'devices-view', sessions: 'sessions-view' }[name] ?? 'needs-view'
  const next = document.createElement(kind)
  main.className = kind
  main.replaceChildren(next)
  view = next
  view.open(id)
  if (document.activeElement === document.body || go.wasHere) main.focus({ preventScroll: true })
  go.wasHere = true
  scrollTo(0, 0)
  update()
}

/** Its first message makes it. */
function addSession(event) {
  event.preventDefault()
  const field = event.target.querySelector('input')
  const name = field.value.trim()
  if (name) location.hash = `#/s/${encodeURIComponent(name)}`
  field.value = ''
}

/** A name as an address has it; as it stands where nobody encoded it. */
function decoded(part) {
  try {
    return part && decodeURIComponent(part)
  } catch {
    return part
  }
}

customElements.define('sessions-view', class extends HTMLElement {
  open() {
    this.list = h('ul')
    this.replaceChildren(h('h1', {}, 'Sessions'), h('nav.sessions', { 'aria-label': 'All sessions' }, this.list),
      h('form', { onsubmit: addSession }, h('label', { htmlFor: 'another' }, 'New session'),
        h('div.buttons', {}, h('input', { id: 'another', maxLength: 128 }), h('button', {}, 'Add'))))
    this.update()
  }

  update() {
    document.title = 'Sessions · Cospool'
    fillSessions(this.list)
  }
})

function update() {
  const banner = document.getElementById('banner')
  const locked = model.link === 'locked'
  const focused = banner.contains(document.activeElement)
  show(banner, model.link === 'down' && go.seen === true || locked)
  document.body.classList.toggle('told', !banner.hidden)
  typing()
  if (model.link === 'live') go.seen = true
  else if (!go.seen) go.waits ??= setTimeout(() => (go.seen = true, model.touch()), 800)
  const words = locked ? model.lockWords ?? 'This browser has no key.' : 'The daemon does not answer. What you type is kept here and sent when it is back.'
  if (!banner.hidden && banner.words !== words) {
    banner.words = words
    banner.className = model.link
    // Nothing else is there to be read then.
    banner.setAttribute('role', locked ? 'main' : 'alert')
    if (locked) say(words)
    banner.replaceChildren(locked
      ? h('div', {}, h('h1', {}, 'This browser may not look'), h('p', {}, words),
        h('p', {}, 'On the machine where the daemon runs: ', h('code', {}, 'cospool web')), h('p.quiet', {}, 'What you typed here is kept.'))
      : h('p', {}, words, ' ', h('button', { type: 'button' }, 'Try now')))
  }
  if (banner.hidden) banner.words = null
  show(main, !locked)
  if (focused && banner.hidden) main.focus({ preventScroll: true })
  // Where nobody answers meanwhile, what is typed is to be seen.
  if (model.renewing && model.link === 'live') return
  const needs = model.needs()
  const count = document.getElementById('needs-count')
  show(count, needs.count > 0)
  text(count, String(needs.count))
  text(document.getElementById('sync'), model.link === 'live' && model.sync ? syncWords(model.sync) : model.link === 'down' ? 'the daemon does not answer' : '')
  fillSessions(document.getElementById('sessions'))
  for (const link of document.querySelectorAll('header nav a[data-view]')) {
    const here = location.hash.startsWith(link.getAttribute('href')) || (!location.hash && link.dataset.view === 'needs')
    here ? link.setAttribute('aria-current', 'page') : link.removeAttribute('aria-current')
  }
  if (!locked) view?.update()
  if (!locked && needs.count) document.title = `(${needs.count}) ${document.title}`
}

function fillSessions(list) {
  const sessions = [...model.sessions.values()].sort((left, right) => (left.name || left.id).localeCompare(right.name || right.id))
  reconcile(list, sessions, {
    key: (session) => session.id,
    make: (session) => h('li', {}, h('a', { href: `#/s/${encodeURIComponent(session.id)}` }, h('i.dot', { 'aria-hidden': 'true' }), h('span'), h('b.count'), h('span.unseen'))),
    update: (row, session) => {
      const task = model.tasks.get(session.id)
      const [dot, name, count, words] = row.firstChild.children
      const running = model.running(session.id)
      const asks = task?.request || task?.question || model.unconsented.has(session.id)
      dot.className = `dot ${asks ? 'ask' : running || task?.status === 'processing' ? 'on' : session.paused ? 'paused' : ''}`
      text(name, session.name || session.id)
      show(count, session.waiting > 0)
      text(count, String(session.waiting))
      text(words, [session.waiting ? 'waiting' : '', asks ? ', asks you' : running ? ', runs' : session.paused ? ', paused' : ''].join(''))
      if (location.hash === row.firstChild.getAttribute('href')) row.firstChild.setAttribute('aria-current', 'page')
      else row.firstChild.removeAttribute('aria-current')
    },
  })
}

/** The composer makes room for what is typed elsewhere. A class: `:has()` would have each row looked at for each event. */
function typing() {
  document.body.classList.toggle('typing', document.activeElement?.matches('.editor *, request-card textarea') === true)
}

/** Files that are dragged here; one that is let go where nothing takes it must not take the page's place. */
function dragged(event) {
  if (!event.dataTransfer.types.includes('Files')) return
  event.preventDefault()
  event.dataTransfer.dropEffect = view?.takeFiles ? 'copy' : 'none'
  if (event.type === 'drop') view?.takeFiles?.([...event.dataTransfer.files])
}

function keys(event) {
  const types = (event.key.length === 1 || event.key === 'Enter') && !event.ctrlKey && !event.metaKey
  if (event.target.closest?.('input, textarea, select, [contenteditable]')) {
    keys.typedAt = types ? Date.now() : 0
    return
  }
  if (event.altKey) return
  // The field under somebody's fingers may go, with what it answers: what is still typed decides nothing.
  if (types && Date.now() - keys.typedAt < STILL_TYPING) {
    keys.typedAt = Date.now()
    return event.preventDefault()
  }
  if ((event.ctrlKey || event.metaKey) && event.key === 'z') {
    event.preventDefault()
    undo()
  } else if (!event.ctrlKey && !event.metaKey && view?.key?.(event)) {
    event.preventDefault()
  }
}

keys.typedAt = 0
/** How long keys belong to a text after the last one of it, in milliseconds. */
const STILL_TYPING = 2000

begin()
