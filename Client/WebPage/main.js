// The page begins here: the link's ticket, the views, and what comes from the daemon.

import { deliverAll, lock, model, repeatAll, restore, source, undo } from './app.js'
import { h, reconcile, say, show, text } from './dom.js'
import './activity.js'
import './inbox.js'
import { install, staysAwake, tellNeeds } from './installed.js'
import { openPalette, pageKey, rove } from './keys.js'
import './session.js'
import './settings.js'
import { syncWords } from './devices.js'
import { tellUnsaid } from './request.js'
import { newSession } from './title.js'
import { KEY, Stranger } from './source.js'
import { isStuck } from './model.js'

const main = document.getElementById('main')
let view

/** Exchanges the ticket of a link, if the address has one. */
async function enter() {
  const ticket = /^#t=([\w-]+)$/.exec(location.hash)?.[1]
  if (!ticket) return
  // It is invalid from here on, and must not stay in the history either.
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
    if (document.hidden) begin.sleep = setTimeout(() => watcher.sleep(!staysAwake()), 60_000)
    else watcher.sleep(false)
  })
  install(() => staysAwake() && watcher.sleep(false))
  addEventListener('online', () => watcher.now())
  model.addEventListener('change', update)
  model.addEventListener('event', ({ detail }) => {
    if (detail.name === 'present') {
      deliverAll()
      isBack()
    }
    if (model.ready && ['present', 'task'].includes(detail.name)) tellUnsaid()
    if (detail.name === 'sync') readUnsentSoon()
    if (model.consentsStale) readConsents()
    if (model.liftedStale) readLiftedSoon()
  })
  addEventListener('hashchange', async () => {
    if (location.hash.startsWith('#t=')) {
      await enter()
      watcher.now()
    }
    go()
  })
  addEventListener('keydown', keys)
  document.querySelector('.new-session').addEventListener('click', () => newSession())
  setInterval(() => {
    if (document.hidden) return
    model.touch()
    // Consent given elsewhere on this machine changes nothing of a session.
    if (model.unconsented.size) readConsents()
  }, 5000)
  setInterval(saySeen, 45_000)
  for (const kind of ['pointerdown', 'keydown']) addEventListener(kind, () => (saySeen.at = Date.now()), { passive: true })
  addEventListener('pointerdown', () => (keys.typedAt = 0), { passive: true })
  for (const kind of ['focusin', 'focusout']) addEventListener(kind, typing)
  for (const kind of ['dragover', 'drop']) addEventListener(kind, dragged)
  document.querySelector('.skip').addEventListener('click', (event) => {
    // The address belongs to the view.
    event.preventDefault()
    main.focus()
  })
  // An action in another tab of this browser.
  addEventListener('storage', ({ key, newValue }) => {
    if (key === KEY && newValue) {
      source.takeKey(newValue)
      watcher.now()
    } else if (key && newValue === null) {
      model.sentElsewhere(key)
    }
  })
  rove(document.getElementById('sessions'), 'li')
  // Elements that stick below the header of a narrow window need its height: its text may take two lines.
  const header = document.querySelector('header')
  new ResizeObserver(() => {
    const isAbove = getComputedStyle(header).display === 'block'
    document.documentElement.style.setProperty('--header', `${isAbove ? header.offsetHeight : 0}px`)
  }).observe(header)
  go()
}

/** Nothing is pushed to a device that its user looks at; only a recent touch proves that. */
function saySeen() {
  if (!document.hidden && model.link === 'live' && Date.now() - (saySeen.at ?? 0) < 60_000) source.act('visible').catch(() => {})
}

/** The delay after a change before the shown threads are requested, and the delay before they are requested again, in milliseconds. */
const LIFTED_AFTER = 200
const LIFTED_AGAIN_AFTER = 3000
/** How long a change may take to the server before its state is requested, and the interval of those requests, in milliseconds. */
const UNSENT_AFTER = 300
const UNSENT_PERIOD = 1000

/** Asks a moment later which messages the server does not have, once for all changes in between: usually it has them by then. */
function readUnsentSoon() {
  if (!model.sync?.outgoing || !model.sync.server) return
  const wait = Math.max(UNSENT_AFTER, (readUnsent.at ?? -Infinity) + UNSENT_PERIOD - performance.now())
  readUnsent.timer ??= setTimeout(() => {
    readUnsent.timer = null
    readUnsent()
  }, wait)
}

/** Asks which messages the server does not have, for a view that shows that. */
async function readUnsent() {
  if (!model.sync?.outgoing || !model.sync.server || document.hidden || !view?.showsDelivery) return
  if (readUnsent.busy) return readUnsentSoon()
  Object.assign(readUnsent, { busy: true, at: performance.now() })
  const answer = await source.list('messages/unsent').catch(() => null)
  readUnsent.busy = false
  if (answer && model.sync?.outgoing) {
    model.unsent = new Map(answer.messages.map((each) => [each.id, each]))
    model.touch()
  }
}

/** Asks which sessions wait for consent to run here, once for all changes in between. */
async function readConsents() {
  if (readConsents.busy || model.link !== 'live') return
  Object.assign(readConsents, { busy: true })
  model.consentsStale = false
  const status = await source.list('status').catch(() => null)
  readConsents.busy = false
  if (status) takeConsents(status)
  if (model.consentsStale) readConsents()
}

/** Asks a moment later which locked threads are shown anyway, once for all changes in between. */
function readLiftedSoon() {
  if (!model.threads.some(({ locked }) => locked)) return
  const wait = Math.max(LIFTED_AFTER, (readLiftedSoon.at ?? -LIFTED_AGAIN_AFTER) + LIFTED_AGAIN_AFTER - performance.now())
  readLiftedSoon.timer ??= setTimeout(async () => {
    readLiftedSoon.at = performance.now()
    model.liftedStale = false
    const answer = await source.list('threads').catch(() => null)
    readLiftedSoon.timer = null
    if (!answer) return
    model.lifted = new Set(answer.threads.filter(({ lifted }) => lifted).map(({ session }) => session))
    model.touch()
    if (model.liftedStale) readLiftedSoon()
  }, wait)
}

function takeConsents({ unconsented, queues }) {
  model.agentless = new Set(queues?.agentless)
  model.takeConsents(unconsented)
}

/** The daemon answers again: repeats unanswered actions, and reads what could not be read. */
function isBack() {
  repeatAll()
  view?.back?.()
}

async function linkChanged(link, error) {
  if (link === 'locked') return lock(model.lockWords ? { message: model.lockWords } : error)
  // Hidden content stays hidden until the daemon itself answers.
  if (link === 'down' && model.link === 'locked') return
  model.link = link
  model.isStranger = error instanceof Stranger
  model.touch()
  if (link !== 'live') return
  if (!view) go()
  model.lockWords = null
  const before = { sync: model.sync, activities: new Map(model.activities), queueEnabled: model.settings?.queueEnabled }
  const [status, activity, settings] = await Promise.allSettled([source.list('status'), source.list('activity'), source.list('settings/queueEnabled')])
  if (status.status === 'fulfilled') {
    model.daemon = status.value.daemon
    model.takeStatus(status.value, before.sync)
    takeConsents(status.value)
    readUnsent()
    deliverAll()
    // If everything is sent again, the page waits for that.
    if (model.ready) isBack()
  }
  // If an event reported the same in the meantime, the event counts.
  const isOld = ({ session }) => model.activities.get(session) !== before.activities.get(session)
  if (activity.status === 'fulfilled') for (const each of activity.value.activities) if (!isOld(each)) model.activities.set(each.session, each)
  if (settings.status === 'fulfilled' && model.settings?.queueEnabled === before.queueEnabled) model.settings = { ...model.settings, queueEnabled: settings.value.value }
  model.touch()
}

// Views.

async function go() {
  const [, name = 'needs', part] = location.hash.slice(1).split('/')
  const id = decoded(part)
  const kind = name === 's' && !id ? 'sessions-view' : { needs: 'needs-view', s: 'session-view', activity: 'activity-view', devices: 'devices-view', settings: 'settings-view', sessions: 'sessions-view' }[name] ?? 'needs-view'
  const next = document.createElement(kind)
  main.className = kind
  main.replaceChildren(next)
  view = next
  view.open(id)
  for (const list of main.querySelectorAll('.queue')) if (!list.closest('inbox-line')) rove(list, 'queue-row')
  for (const list of main.querySelectorAll('.sessions ul')) rove(list, 'li')
  readUnsent()
  if (document.activeElement === document.body || go.wasHere) main.focus({ preventScroll: true })
  go.wasHere = true
  scrollTo(0, 0)
  update()
}

/** A name as an address has it; unchanged if it is not encoded. */
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
    this.old = h('ul')
    this.archive = h('details', {}, h('summary', {}, 'Archived'), this.old)
    this.replaceChildren(h('div.bar', {}, h('h1', {}, 'Sessions'), h('button.main', { type: 'button', onclick: () => newSession() }, 'New session')),
      h('nav.sessions', { 'aria-label': 'All sessions' }, this.list, this.archive))
    this.update()
  }

  update() {
    document.title = 'Sessions · Cospool'
    fillSessions(this.list)
    fillSessions(this.old, true)
    show(this.archive, this.old.childElementCount > 0)
  }
})

/** How long a first answer may take before the user is informed, in milliseconds: a line may be slow. */
const SLOW = 8000

function update() {
  const banner = document.getElementById('banner')
  const locked = model.link === 'locked'
  const focused = banner.contains(document.activeElement)
  show(banner, model.link === 'down' || locked || model.link === 'connecting' && update.isSlow === true)
  document.body.classList.toggle('told', !banner.hidden)
  typing()
  if (model.link === 'connecting') update.waits ??= setTimeout(() => (update.isSlow = true, model.touch()), SLOW)
  const words = locked ? model.lockWords ?? 'This browser has no key.' : `${model.isStranger
    ? 'Another program answers at this address. This page sends it nothing, and continues by itself when Cospool is back.' : 'Cospool does not answer.'
  } Messages that you queue are kept here, and sent when it is back.`
  if (!banner.hidden && banner.words !== words) {
    banner.words = words
    banner.className = model.link
    // Then there is nothing else to read.
    banner.setAttribute('role', locked ? 'main' : 'alert')
    if (locked) say(words)
    banner.replaceChildren(locked
      ? h('div', {}, h('h1', {}, 'This browser is not signed in'), h('p', {}, words),
        h('p', {}, 'Run this on the machine where Cospool runs: ', h('code', {}, 'cospool web')), h('p.quiet', {}, 'What you typed here is kept.'))
      : h('p', {}, words, ' ', h('button', { type: 'button' }, 'Try now')))
  }
  if (banner.hidden) banner.words = null
  show(main, !locked)
  if (locked && view) {
    // The earlier content is not for the current user.
    view = null
    main.replaceChildren()
    document.title = 'Cospool'
  }
  if (focused && banner.hidden) main.focus({ preventScroll: true })
  // If there is no answer, typed text stays visible.
  if (model.renewing && model.link === 'live') return
  const needs = model.needs()
  tellNeeds(needs)
  const count = document.getElementById('needs-count')
  show(count, needs.count > 0)
  text(count, String(needs.count))
  text(document.getElementById('sync'), linkWords())
  fillSessions(document.getElementById('sessions'))
  for (const link of document.querySelectorAll('header nav a[data-view]')) {
    const here = location.hash.startsWith(link.getAttribute('href')) || (!location.hash && link.dataset.view === 'needs')
    here ? link.setAttribute('aria-current', 'page') : link.removeAttribute('aria-current')
  }
  if (!locked) view?.update()
  if (!locked && needs.count) document.title = `(${needs.count}) ${document.title}`
}

function linkWords() {
  if (model.link === 'live' && model.sync) return syncWords(model.sync)
  return { down: 'Cospool does not answer', connecting: 'connecting …' }[model.link] ?? ''
}

/** The state of a session, in the order in which it needs its user: `{kind, words}`. */
function standing(session) {
  const task = model.tasks.get(session.id)
  if (task?.request || task?.question || model.unconsented.has(session.id)) return { kind: 'ask', words: 'asks you' }
  const stuck = (model.queues.get(session.id) ?? []).find(isStuck)
  if (stuck) return { kind: 'fail', words: { failed: 'failed', unknown: 'outcome unknown', queued: 'merged' }[stuck.status] ?? 'the agent stopped' }
  if (model.running(session.id) || task?.status === 'processing') return { kind: 'on', words: 'running' }
  const why = model.obstacle(session.id)
  if (why) return { kind: 'off', words: why.isAway ? 'its device is offline' : 'does not run' }
  if (session.paused) return { kind: 'paused', words: 'paused' }
  return { kind: '', words: '' }
}

const KINDS = ['ask', 'fail', 'on', 'off', 'paused', '']

function fillSessions(list, isArchive = false) {
  const name = (session) => session.name || session.id
  const rank = (session) => KINDS.indexOf(session.stands.kind) * 2 + (session.waiting ? 0 : 1)
  const sessions = [...model.sessions.values()].filter(({ archived = false }) => archived === isArchive).map((session) => ({ ...session, stands: standing(session) }))
    .sort((left, right) => rank(left) - rank(right) || name(left).localeCompare(name(right)))
  // Nothing moves under a finger.
  if (list.order && list.matches(':hover, :focus-within')) {
    const place = ({ id }) => list.order.get(id) ?? list.order.size
    sessions.sort((left, right) => place(left) - place(right))
  }
  list.order = new Map(sessions.map(({ id }, index) => [id, index]))
  reconcile(list, sessions, {
    key: (session) => session.id,
    make: (session) => h('li', {}, h('a', { href: `#/s/${encodeURIComponent(session.id)}` }, h('i.dot', { 'aria-hidden': 'true' }), h('span', { dir: 'auto' }), h('small'), h('b.count'), h('span.unseen'))),
    update: (row, session) => {
      const [dot, label, state, count, unseen] = row.firstChild.children
      const { kind, words } = session.stands
      dot.className = `dot ${kind}`
      text(label, name(session))
      // The dot and the count show what runs and what waits.
      const isShown = ['fail', 'off'].includes(kind)
      show(state, isShown)
      text(state, words)
      show(count, session.waiting > 0)
      text(count, String(session.waiting))
      text(unseen, [session.waiting ? 'waiting' : '', isShown ? '' : words].filter(Boolean).join(', '))
      if (location.hash === row.firstChild.getAttribute('href')) row.firstChild.setAttribute('aria-current', 'page')
      else row.firstChild.removeAttribute('aria-current')
    },
  })
}

/** The composer makes room for other editors. A class: `:has()` would examine each row for each event. */
function typing() {
  // For an open editor, as long as it is open: otherwise its buttons would move between press and release.
  const types = document.querySelector('.editor') !== null || document.activeElement?.matches('request-card textarea') === true
  document.body.classList.toggle('typing', types)
}

/** Files that are dragged here; a file that is dropped elsewhere must not replace the page. */
function dragged(event) {
  if (!event.dataTransfer.types.includes('Files')) return
  event.preventDefault()
  event.dataTransfer.dropEffect = view?.takeFiles ? 'copy' : 'none'
  if (event.type === 'drop') view?.takeFiles?.([...event.dataTransfer.files])
}

function keys(event) {
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') {
    event.preventDefault()
    return openPalette()
  }
  // A panel in front of the page has its own keys.
  if (document.querySelector('dialog[open]')) return
  const types = (event.key.length === 1 || event.key === 'Enter') && !event.ctrlKey && !event.metaKey
  if (event.target.closest?.('input, textarea, select, [contenteditable]')) {
    keys.typedAt = types ? Date.now() : 0
    return
  }
  if (event.altKey) return
  // The field in use may disappear with its request: further typing decides nothing.
  if (types && Date.now() - keys.typedAt < STILL_TYPING) {
    keys.typedAt = Date.now()
    return event.preventDefault()
  }
  if ((event.ctrlKey || event.metaKey) && event.key === 'z') {
    event.preventDefault()
    undo()
  } else if (!event.ctrlKey && !event.metaKey && (view?.key?.(event) || pageKey(event))) {
    event.preventDefault()
  }
}

keys.typedAt = 0
/** How long keys still belong to a text after the last key press in it, in milliseconds. */
const STILL_TYPING = 2000

begin()
