// A mirror of the workspace, kept up to date by events, and actions of this page that are not settled yet.

import { quotedOperand, time } from './dom.js'
import { kept, keptText, parsed, storedFiles } from './storage.js'

const SENDING = 'cospool.sending.'

/** The states in which a message stays first in its queue until a user decides. */
export const STUCK = ['failed', 'interrupted', 'unknown']
/** Whether a message waits for a user's decision. */
export const isStuck = ({ status, merged }) => merged || STUCK.includes(status)

export class Model extends EventTarget {
  sessions = new Map()
  queues = new Map()
  threads = []
  tasks = new Map()
  activities = new Map()
  sync = null
  daemon = null
  settings = null
  undo = null
  /** Whether the state is complete. */
  ready = false
  /** Whether it was complete and is read again; the shown state stays until it is complete again. */
  renewing = false
  /** `connecting`, `live`, `down` or `locked`. */
  link = 'connecting'
  /** Whether another program answers in the daemon's place while it is `down`. */
  isStranger = false
  /** What else this page shows for a message: `{state, words}` by its id. */
  notes = new Map()
  /** Messages that were typed here and that the daemon does not have yet, by their ids. */
  sending = new Map()
  /** Moves in transit, by session: the message, and the one `before` or `after` which it goes. */
  moves = new Map()
  /** Messages that the server may not have: `{delivery, error}` by their ids. */
  unsent = new Map()
  /** Requests that were just decided: their content, and how they ended. */
  decided = new Map()
  /** Requests that are snoozed in this browser, and until when. */
  later = new Map(Object.entries(parsed(localStorage.getItem('cospool.later')) ?? {}))
  /** Sessions that another device assigned to this one, without consent here yet. */
  unconsented = new Set()
  /** Sessions that run here but have no agent here. */
  agentless = new Set()
  /** Whether that may be outdated. */
  consentsStale = true
  /** Locked threads that are shown because no agent can work on them. */
  lifted = new Set()
  /** Whether there may be others. */
  liftedStale = true
  /** How often something happened after which a message may wait for others no longer, which no event of its own tells. */
  needsAge = 0
  /** The order in which requests came to be shown: none changes places with another. */
  #places = new Map()
  #scheduled = false

  /** Forgets what it shows of the workspace; typed and unsent text stays. */
  clear() {
    for (const each of [this.sessions, this.queues, this.tasks, this.activities, this.moves, this.unsent, this.unconsented]) each.clear()
    for (const id of [...this.decided.keys()]) this.decided.delete(id)
    for (const [id] of this.notes) if (!this.sending.has(id)) this.notes.delete(id)
    Object.assign(this, { threads: [], sync: null, daemon: null, settings: null, undo: null, ready: false, renewing: false, consentsStale: true, lifted: new Set(), liftedStale: true })
  }

  /** Notifies the views, once for all changes in a frame. */
  touch() {
    if (this.#scheduled) return
    this.#scheduled = true
    const tell = () => {
      this.#scheduled = false
      this.dispatchEvent(new Event('change'))
    }
    // A hidden page gets no frames, but its title still counts.
    if (document.hidden) setTimeout(tell, 0)
    else requestAnimationFrame(tell)
  }

  take(name, data) {
    const how = {
      resume: () => {
        if (data.resume !== 'gap') return
        this.renewing ||= this.ready
        this.ready = false
        this.sessions.clear()
        this.queues.clear()
        this.tasks.clear()
        this.threads = []
      },
      present: () => Object.assign(this, { ready: true, renewing: false }),
      session: () => {
        if (this.sessions.get(data.id)?.host !== (data.host ?? null)) this.consentsStale = true
        // Only the steps of `threads` report its place in the thread queue.
        this.sessions.set(data.id, { ...data, host: data.host ?? null })
      },
      sessionDeleted: () => {
        for (const asked of asks(this.tasks.get(data.id))) this.#gone(asked, 'The session was deleted')
        for (const map of [this.sessions, this.queues, this.tasks]) map.delete(data.id)
      },
      messages: () => {
        const queue = [...(this.queues.get(data.session) ?? [])]
        for (const step of data.changes) apply(queue, step)
        this.queues.set(data.session, queue)
        for (const { item } of data.changes) if (item) this.settle(item.id)
        // Until it is there: other changes in the meantime do not move it back.
        const shown = moved(queue, this.moves.get(data.session))
        if (shown.every((each, index) => each === queue[index])) this.moves.delete(data.session)
      },
      threads: () => {
        this.threads = [...this.threads]
        for (const step of data.changes) apply(this.threads, step)
      },
      task: () => this.#takeTask(timed(data)),
      activity: () => this.activities.set(data.session, data),
      sync: () => this.takeSync(data),
      settings: () => {
        this.settings = { ...this.settings, ...data }
        this.daemon = { ...this.daemon, queueSizeMax: data.maxQueueSize }
      },
      answer: () => this.#takeAnswer(data),
    }[name]
    if (name === 'settings' || this.unconsented.has(data?.session ?? data?.id)) this.consentsStale = true
    if (['present', 'session', 'messages', 'threads', 'task', 'sync', 'settings'].includes(name)) this.liftedStale = true
    if (['present', 'messages', 'session', 'sessionDeleted'].includes(name)) this.needsAge += 1
    how?.()
    this.dispatchEvent(new CustomEvent('event', { detail: { name, data } }))
    this.touch()
  }

  /** The daemon has it, or must not get it. */
  settle(id) {
    if (!this.#forgetSending(id)) return
    localStorage.removeItem(SENDING + id)
    storedFiles.put(SENDING + id, [])
  }

  /** Another tab of this browser has finished with what this key holds. */
  sentElsewhere(key) {
    if (key.startsWith(SENDING) && this.#forgetSending(key.slice(SENDING.length))) this.touch()
  }

  /** The obstacle to sending it is gone, too. */
  #forgetSending(id) {
    if (!this.sending.delete(id)) return false
    if (this.notes.get(id)?.state === 'error') this.notes.delete(id)
    return true
  }

  /** Each separately: other tabs of this browser keep their own. */
  async keepSending(id) {
    const { attachments, ...message } = this.sending.get(id)
    // The files first: it must not be sent without them.
    if (attachments) await storedFiles.put(SENDING + id, attachments)
    if (!this.sending.has(id)) return storedFiles.put(SENDING + id, [])
    kept(SENDING + id, JSON.stringify({ ...message, hasFiles: Boolean(attachments) }))
  }

  /** Restores what was not sent before a page of this browser was closed. */
  async restoreSending() {
    for (const key of Object.keys(localStorage).filter((each) => each.startsWith(SENDING))) {
      const stored = localStorage.getItem(key)
      // Another tab was faster.
      if (!stored) continue
      const { hasFiles, ...message } = keptText(stored)
      if (typeof message.session !== 'string' || typeof message.createdAt !== 'string') continue
      const id = key.slice(SENDING.length)
      if (hasFiles) {
        message.attachments = await storedFiles.get(key)
        // Another tab was faster.
        if (!localStorage.getItem(key)) continue
        message.isLost = !message.attachments.length
      }
      this.sending.set(id, message)
    }
    this.touch()
  }

  /** Takes what the messages of a session wait for. */
  takeNeeds(session, messages) {
    const told = new Map(messages.map(({ id, waitsFor }) => [id, waitsFor ?? null]))
    this.queues.set(session, (this.queues.get(session) ?? []).map((each) =>
      each.needs && told.has(each.id) && told.get(each.id) !== each.waitsFor ? { ...each, waitsFor: told.get(each.id) } : each))
    this.touch()
  }

  takeSync(sync) {
    this.sync = sync
    if (!sync.outgoing && this.unsent.size) this.unsent = new Map()
    if (!sync.synced) return
    for (const [id, note] of this.notes) {
      if (['here', 'unconfirmed'].includes(note.state)) this.notes.delete(id)
    }
  }

  /** The same for an answer. An event that came after `before` may be newer; if it is not, another follows. */
  takeStatus({ sync }, before) { this.takeSync(this.sync === before ? sync : this.sync) }

  #takeTask(task) {
    const before = asks(this.tasks.get(task.session))
    this.tasks.set(task.session, task)
    const open = new Set(asks(task).map(({ id }) => id))
    // A task may be without one for a moment.
    for (const id of open) if (this.decided.get(id)?.gone) this.decided.delete(id)
    const outcome = task.outcome
    for (const asked of before) if (!open.has(asked.id) && asked.id !== outcome?.request) this.#gone(asked, 'The request is no longer open')
    const asked = before.find((each) => each.id === outcome?.request)
    if (!asked || open.has(asked.id)) return
    const decision = this.decided.get(asked.id)
    const isOwn = decision?.own && outcome.device === this.sync?.device
    this.decide(asked.id, {
      session: task.session, asked, own: isOwn,
      words: isOwn && !decision.stays ? decision.words : endingWords(outcome, this.deviceName(outcome.device)),
    })
  }

  #takeAnswer({ request, session, verdict, text, result }) {
    const words = {
      taken: this.decided.get(request)?.stays ? 'It counted.' : null,
      answeredAlready: 'It was answered before; your answer did not count.',
      tooLate: 'There was no connection in time; your answer was not sent.',
      notAwaited: 'The request is no longer open; your answer did not count.',
    }[result]
    if (!words) return
    const counted = result === 'taken'
    this.decide(request, { session, words: words + (text && !counted ? ` Your words: “${text}”` : ''), stays: !counted, verdict })
  }

  /**
   * Shows how a request ended, in its place: until its user has left the list, and if it `stays`,
   * until a user has read it.
   */
  decide(id, decision) {
    this.decided.set(id, { ...this.decided.get(id), stays: false, gone: false, at: performance.now(), ...decision })
    this.touch()
  }

  /** A request that ended without a reason. */
  #gone(asked, words) {
    if (!this.decided.has(asked.id)) this.decide(asked.id, { session: asked.session, asked, words, gone: true })
  }

  /** Another device assigned these sessions to this one. */
  takeConsents(unconsented) {
    const before = [...this.unconsented]
    this.unconsented = new Set(unconsented)
    for (const session of unconsented) {
      const id = `consent.${session}`
      if (!before.includes(session) || this.decided.get(id)?.gone) this.decided.delete(id)
    }
    for (const session of before) if (!this.unconsented.has(session)) this.#gone(this.#consent(session), 'The request is no longer open')
    this.touch()
  }

  forgetDecision(id) {
    this.decided.delete(id)
    this.touch()
  }

  /** Forgets what was decided and read: called when no user is at the list, or on request. */
  forgetRead(leastAge = 0) {
    const before = this.decided.size
    const end = performance.now() - leastAge
    for (const [id, { stays, at }] of this.decided) if (!stays && at <= end) this.decided.delete(id)
    if (this.decided.size !== before) this.touch()
  }

  /** Snoozes a request in this browser; without minutes, it is shown again. */
  putOff(id, minutes) {
    minutes ? this.later.set(id, Date.now() + minutes * 60_000) : this.later.delete(id)
    kept('cospool.later', JSON.stringify(Object.fromEntries([...this.later].filter(([, end]) => end > Date.now()))))
    if (minutes) setTimeout(() => this.touch(), minutes * 60_000 + 100)
    this.touch()
  }

  takeBackPutOff(id) {
    this.forgetDecision(id)
    this.putOff(id)
  }

  // Queries of views.

  deviceName(id) {
    if (!id) return null
    if (id === this.sync?.device) return this.sync.deviceName
    return this.sync?.devices.find((device) => device.id === id)?.name ?? id.slice(0, 8)
  }

  /** The rows of a session: those that the daemon has, and then those in transit. */
  rows(session) {
    const queue = moved(this.queues.get(session) ?? [], this.moves.get(session))
    const known = new Set(queue.map((message) => message.id))
    const unsent = [...this.sending].filter(([id, each]) => each.session === session && !known.has(id))
    // Only the names of its files are shown: they cannot be fetched yet.
    return [...queue, ...unsent.map(([id, { attachments, ...each }]) => ({ id, status: 'sending', content: each.text, ...each }))]
  }

  message(id) {
    for (const queue of this.queues.values()) {
      const found = queue.find((message) => message.id === id)
      if (found) return found
    }
    return null
  }

  /** Why no message of a session starts, if that is not visible otherwise: `{words, mayRunHere, isAway}`. */
  obstacle(id) {
    const session = this.sessions.get(id)
    if (!session || !this.sync || session.paused || this.running(id) || this.activities.get(id)?.currentError) return null
    if (!(this.queues.get(id) ?? []).some(({ status }) => status === 'queued')) return null
    const here = this.sync.device
    if (!session.host) return { words: 'No device runs this session.', mayRunHere: true }
    if (session.host === here) {
      return this.agentless.has(id) ? { words: `${this.sync.deviceName} has no agent for it. Set one there: cospool session agent ${quotedOperand(id)} claude` } : null
    }
    const host = this.sync.devices.find((device) => device.id === session.host)
    if (!host || host.connected || this.sync.state !== 'connected') return null
    const since = host.awaySince ? ` since ${time(Date.parse(host.awaySince))}` : ''
    return { words: `${host.name} is offline${since}. The queue continues when it is back.`, mayRunHere: true, isAway: true }
  }

  /** The thread queue as it is shown: none if it is off. */
  get shownThreads() {
    if (this.settings?.queueEnabled === false) return []
    return this.threads.map((thread) => (thread.locked && this.lifted.has(thread.session) ? { ...thread, locked: false } : thread))
  }

  /** Whether a message waits for a user, in a session that does not run merged texts by itself. */
  #waits(session, message) {
    return STUCK.includes(message.status) || (message.merged && this.sessions.get(session)?.onMerge !== 'run')
  }

  running(session) {
    return (this.queues.get(session) ?? []).find((message) => message.status === 'running')
  }

  /** The requests of a session's agent, and those that were just decided. */
  asked(session) { return this.withDecided(this.#asks(session), session) }

  /** The same for open requests; if a session waits for consent to run here, only that. */
  #asks(session) {
    return this.unconsented.has(session) ? [this.#consent(session)] : asks(this.tasks.get(session))
  }

  #consent(session) {
    const name = this.sessions.get(session)?.name || session
    const next = (this.queues.get(session) ?? []).find(({ status }) => status === 'queued')
    return { id: `consent.${session}`, session, consent: true, at: Date.parse(next?.createdAt) || undefined, question: { question: `May ${name} run on this device?` } }
  }

  /** Open requests among the decided ones: each in its place, and new ones behind them. */
  withDecided(open, session) {
    const over = [...this.decided].filter(([id, each]) => each.asked && (!session || each.session === session)
      && !open.some((request) => request.id === id)).map(([id, each]) => ({ ...each.asked, id, over: true }))
    const all = [...open, ...over]
    // A snoozed request is back.
    for (const { id } of open) if (this.decided.get(id)?.later) this.decided.delete(id)
    for (const { id } of all) if (!this.#places.has(id)) this.#places.set(id, this.#places.size)
    return all.sort((left, right) => this.#places.get(left.id) - this.#places.get(right.id))
  }

  /** What waits for this user, the oldest request first. */
  needs() {
    const now = Date.now()
    const requests = [...this.tasks.values()].filter((task) => !this.unconsented.has(task.session))
      .sort((left, right) => left.lastUpdateTime - right.lastUpdateTime).flatMap(asks)
      .concat([...this.unconsented].flatMap((session) => this.#asks(session)))
    const open = requests.filter((each) => !(this.later.get(each.id) > now))
    const putOff = requests.filter((each) => this.later.get(each.id) > now)
    const stuck = []
    for (const [session, queue] of this.queues) {
      for (const message of queue) if (this.#waits(session, message)) stuck.push({ session, message })
    }
    const threads = this.shownThreads
    const ready = threads.filter((thread) => !thread.locked)
    return {
      requests: open, putOff, stuck, ready, locked: threads.filter((thread) => thread.locked),
      // Sessions are counted: one with two reasons counts once.
      count: new Set([...open, ...stuck, ...ready].map(({ session }) => session)).size,
    }
  }

  /** A saved or discarded edit shows at once, unless an event of the message came in the meantime. */
  takeSaved(session, before, change) {
    const queue = this.queues.get(session) ?? []
    const at = queue.indexOf(before)
    if (at >= 0) this.queues.set(session, queue.with(at, { ...before, ...change }))
  }

  /** The present location of a change that was made here. */
  async place(id, source) {
    if (!this.sync?.server) return
    const before = this.sync
    const status = await source.list('status').catch(() => null)
    if (!status) return
    // Other information about it takes precedence.
    if (!this.notes.has(id)) this.notes.set(id, { state: 'here', words: 'on this device, not on the server yet' })
    this.takeStatus(status, before)
    this.touch()
  }
}

function endingWords({ ending }, name) {
  const who = name ? ` by ${name}` : ''
  return {
    allowed: `Allowed${who}`, denied: `Denied${who}`, answered: `Answered${who}`,
    cancelled: `Declined${who}`, expired: 'It expired; the agent asks at its own prompt',
    withdrawn: 'The agent withdrew the request',
  }[ending] ?? `Over${who}`
}

function moved(queue, move) {
  const message = move && queue.find((each) => each.id === move.id)
  if (!message) return queue
  const others = queue.filter((each) => each !== message)
  const anchor = others.findIndex((each) => each.id === (move.before ?? move.after))
  return anchor < 0 ? queue : others.toSpliced(anchor + (move.after ? 1 : 0), 0, message)
}

/** A task with its times as numbers; 0 if its host never reported one. */
const timed = (task) => ({ ...task, startTime: Date.parse(task.startTime) || 0, lastUpdateTime: Date.parse(task.lastUpdateTime) || 0 })

/** One step from an old list to a new one. */
function apply(list, step) {
  if (step.change === 'insert') list.splice(step.at, 0, step.item)
  else if (step.change === 'remove') list.splice(step.at, 1)
  else if (step.change === 'move') list.splice(step.at, 0, ...list.splice(step.from, 1))
  // What it waits for, no event tells: it stays until it is read again.
  else if (step.change === 'update') list[step.at] = step.item.needs ? { ...step.item, waitsFor: list[step.at].waitsFor } : step.item
}

/** Everything that a task waits for and that can be answered, in order, each with its position. */
export function asks(task) {
  const first = task?.request || task?.question ? [{ request: task.request, question: task.question }] : []
  const all = first.concat(first.length ? task.alsoAwaits ?? [] : [])
  return all.map(({ request, question }, index) => ({
    id: (request ?? question).id, session: task.session, request, question, at: task.lastUpdateTime,
    place: index + 1, count: all.length + (task.moreRequests ?? 0),
  }))
}
