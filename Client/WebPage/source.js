// The source of the page's data. Views know only `list`, `watch` and `act`, so that a replica in the
// browser can replace the daemon.

/** A refusal, in the daemon's words. */
export class Refusal extends Error {
  constructor(status, { code, message, current, candidates }) {
    super(message)
    Object.assign(this, { status, code, current, candidates })
  }
}

/** There was no answer: the request may have been done or not, and may be repeated. */
export class Unreachable extends Error {
  constructor(words = 'Cospool does not answer.') {
    super(words)
    this.code = 'unreachable'
  }
}

/** The answer is certainly not from the daemon. */
export class Stranger extends Unreachable {
  constructor() {
    super('Another program answers at this address.')
  }
}

export const KEY = 'cospool.key'

/** The place where a ticket is exchanged for a key. */
const ENTRY = 'web/keys'

const UNKNOWN = 'The program that answers here does not know this browser. If the browser was revoked, was not used for 30 days, '
  + 'or was replaced by a newer one, run cospool web and open what it prints. If another program answers at this address, this page continues when Cospool is back.'

/** How long a listener may take to prove itself, in milliseconds. */
const PROOF_LASTS = 20_000

/** The daemon's local API over HTTP. */
export class DaemonSource {
  #key = localStorage.getItem(KEY)
  // Another program may listen at the daemon's port as soon as the daemon is gone. It gets no key before
  // it has proved that it has the daemon's list of browsers; a proof is valid while the stream of events lives.
  #proof = null
  #streams = false

  /** Exchanges the ticket of a link for this browser's key. */
  async enter(ticket) {
    const { key } = await this.act('enter', { ticket, name: browserName() })
    this.#key = key
    localStorage.setItem(KEY, key)
  }

  /** Another tab of this browser has a fresh key. */
  takeKey(key) {
    this.#key = key
    this.#proof = null
  }

  /** Reads something: its path below `/v1`, and the query. */
  async list(path, query) {
    // A blank in the form that the daemon reads.
    const fields = new URLSearchParams(query ?? {}).toString().replaceAll('+', '%20')
    return this.#json('GET', path + (fields ? `?${fields}` : ''))
  }

  /** Does something, and returns the result. */
  async act(name, values = {}, { progress } = {}) {
    const [method, path, body] = ACTIONS[name](values)
    if (progress) return this.#upload(method, path, body, progress)
    return this.#json(method, path, body)
  }

  /** A file's bytes. */
  async bytes(message, hash) {
    const response = await this.#fetch('GET', `messages/${message}/attachments/${hash}`)
    return response.blob()
  }

  /**
   * Reads events for as long as the page lives: `event(name, data)` for each event,
   * `state('live' | 'down' | 'locked')` when the connection comes and goes.
   */
  watch({ event, state }) {
    const watcher = new Watcher((headers, signal) => this.#fetch('GET', 'events', null, headers, signal),
      event, state, (streams) => { this.#streams = streams })
    watcher.run()
    return watcher
  }

  async #json(method, path, body) {
    const response = await this.#fetch(method, path, body)
    return response.json()
  }

  async #fetch(method, path, body, headers = {}, signal) {
    if (this.#key && path !== ENTRY) {
      await this.#proven()
      headers = { ...headers, Authorization: `Bearer ${this.#key}` }
    }
    return this.#ask(method, path, body, headers, signal)
  }

  /** Returns when the listener has proved to be the daemon that gave this browser its key. */
  async #proven() {
    if (!this.#streams) this.#proof = null
    const asked = this.#proof ??= this.#prove()
    try {
      await asked
    } catch (error) {
      if (this.#proof === asked) this.#proof = null
      throw error
    }
  }

  async #prove() {
    const nonce = digits(crypto.getRandomValues(new Uint8Array(16)))
    const expected = await proof(this.#key, nonce)
    const { proofs } = await this.#answerBeforeProof(`web/proof?nonce=${nonce}`)
    if (!Array.isArray(proofs)) throw new Stranger()
    // A revoked browser and a program that invents proofs look the same from here.
    if (!proofs.includes(expected)) throw new Refusal(401, { code: 'listenerUnknown', message: UNKNOWN })
  }

  /** An answer before a proof. Its text is not shown, because it may be anyone's. */
  async #answerBeforeProof(path) {
    try {
      const response = await this.#ask('GET', path, null, {}, AbortSignal.timeout(PROOF_LASTS))
      return await response.json() ?? {}
    } catch (error) {
      // A proxy answers like this if nothing is behind it, and the daemon if it has too much to do, or another address.
      if (error.status === 421 || error.status >= 500 || error.name === 'TimeoutError') throw new Unreachable()
      throw error instanceof Unreachable ? error : new Stranger()
    }
  }

  async #ask(method, path, body, headers = {}, signal) {
    let response
    try {
      response = await fetch(`/v1/${path}`, {
        method, signal, cache: 'no-store', credentials: 'omit', redirect: 'error',
        headers: this.#headers(body, headers), body: body && JSON.stringify(body),
      })
    } catch (error) {
      if (signal?.aborted) throw error
      this.#proof = null
      throw new Unreachable()
    }
    if (!response.ok) throw await refusal(response)
    return response
  }

  #headers(body, headers = {}) {
    const all = { ...headers }
    if (body) all['Content-Type'] = 'application/json'
    return all
  }

  /** `fetch` does not report the progress of an upload. */
  async #upload(method, path, body, progress) {
    await this.#proven()
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest()
      request.open(method, `/v1/${path}`)
      for (const [name, value] of Object.entries(this.#headers(body, { Authorization: `Bearer ${this.#key}` }))) request.setRequestHeader(name, value)
      request.upload.onprogress = (event) => event.lengthComputable && progress(event.loaded / event.total)
      request.onerror = () => {
        this.#proof = null
        reject(new Unreachable())
      }
      request.onload = () => {
        const answer = parsed(request.responseText)
        if (request.status < 300 && answer) resolve(answer)
        else reject(new Refusal(request.status, answer?.error ?? { message: `The daemon answered ${request.status}.` }))
      }
      request.send(JSON.stringify(body))
    })
  }
}

/** The daemon's answer to a nonce: it has the SHA-256 of the key. */
async function proof(key, nonce) {
  const bytes = new TextEncoder()
  const hash = digits(await crypto.subtle.digest('SHA-256', bytes.encode(key)))
  const secret = await crypto.subtle.importKey('raw', bytes.encode(hash), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return digits(await crypto.subtle.sign('HMAC', secret, bytes.encode(nonce)))
}

const digits = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('')

async function refusal(response) {
  const answer = parsed(await response.text().catch(() => ''))
  return new Refusal(response.status, answer?.error ?? { message: `The daemon answered ${response.status}.` })
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const part = encodeURIComponent
const session = (values) => `sessions/${part(values.session)}`

/** Every action: method, path and body. */
const ACTIONS = {
  enter: ({ ticket, name }) => ['POST', ENTRY, { ticket, name }],
  send: (v) => ['POST', `${session(v)}/queue`, { id: v.id, text: v.text, priority: v.priority, attachments: v.attachments, interrupt: v.interrupt }],
  edit: (v) => ['PUT', `messages/${v.id}/content`, { content: v.text, base: v.base }],
  hold: (v) => ['PUT', `messages/${v.id}/hold?editing=true`, { seconds: 60 }],
  release: (v) => ['DELETE', `messages/${v.id}/hold?editing=true`],
  move: (v) => ['POST', 'messages/move', { ids: v.ids ?? [v.id], ...v.to }],
  priority: (v) => ['PUT', `messages/${v.id}/priority`, { priority: v.priority }],
  cancel: (v) => ['POST', 'messages/cancel', { ids: v.ids ?? [v.id] }],
  restore: (v) => ['POST', `messages/${v.id}/restore`],
  retry: (v) => ['POST', `messages/${v.id}/retry`],
  start: (v) => ['POST', `messages/${v.id}/start`],
  skip: (v) => ['POST', `messages/${v.id}/skip`],
  attach: (v) => ['POST', `messages/${v.id}/attachments`, v.file],
  detach: (v) => ['DELETE', `messages/${v.id}/attachments/${v.hash}`],
  stop: (v) => ['POST', `${session(v)}/stop`, { message: v.id }],
  takeOver: (v) => ['POST', `${session(v)}/take-over`, { device: 'this', message: v.id }],
  pause: (v) => ['PUT', `${session(v)}/pause`, v.reason ? { reason: v.reason } : undefined],
  resume: (v) => ['DELETE', `${session(v)}/pause`],
  host: (v) => ['PUT', `${session(v)}/host`, { device: v.device }],
  rename: (v) => ['PATCH', session(v), { name: v.name }],
  addSession: (v) => ['POST', 'sessions', { id: v.session, name: v.name, project: v.project }],
  deleteSession: (v) => ['DELETE', session(v)],
  archive: (v) => [v.isBack ? 'DELETE' : 'PUT', `${session(v)}/archive`],
  agent: (v) => [v.agent ? 'PUT' : 'DELETE', `${session(v)}/agent`, v.agent ? { agent: v.agent } : undefined],
  draft: (v) => ['PUT', `${session(v)}/draft?editing=true`, { text: v.text }],
  answer: (v) => ['POST', `asks/${v.id}/answer`, { verdict: v.verdict, text: v.text || undefined, digest: v.digest }],
  undo: (v) => ['POST', 'undo', { change: v.change }],
  redo: (v) => ['POST', 'redo', { change: v.change }],
  threadUnlock: (v) => ['DELETE', `threads/${part(v.session)}/lock`],
  threadRequeue: (v) => ['POST', `threads/${part(v.session)}/requeue`],
  threadRemove: (v) => ['POST', 'threads/remove', { sessions: [v.session] }],
  threadMove: (v) => ['POST', 'threads/move', { sessions: [v.session], ...v.to }],
  threadView: (v) => ['POST', `threads/${part(v.session)}/view`],
  dismiss: (v) => ['POST', 'notifications/dismiss', { ids: v.ids }],
  visible: () => ['POST', 'device/visibility', { visible: true, forSeconds: 60 }],
  pairCode: (v) => ['POST', 'pair/code', { role: v.role }],
  sync: (v) => ['PUT', 'sync', { enabled: v.enabled }],
  syncNow: () => ['POST', 'sync/now'],
  testPush: (v) => ['POST', `push/targets/${v.id}/test`],
  removePush: (v) => ['DELETE', `push/targets/${v.id}`],
  ticket: () => ['POST', 'web/tickets'],
  renameBrowser: (v) => ['PATCH', `web/keys/${part(v.id)}`, { name: v.name }],
  revoke: (v) => ['DELETE', `web/keys/${part(v.id)}`],
}

/** Reads the event stream, and begins again where it stopped. */
class Watcher {
  #open; #event; #state; #streams; #cursor; #abort; #failures = 0; #wake; #asleep = false

  constructor(open, event, state, streams) {
    this.#open = open
    this.#event = event
    this.#state = state
    this.#streams = streams
  }

  async run() {
    for (;;) {
      if (this.#asleep) await this.#pause(2 ** 31 - 1)
      try {
        await this.#read()
      } catch (error) {
        this.#streams(false)
        if (error instanceof Refusal && error.status === 401) {
          // The known state is no longer shown, so everything has to be sent again.
          this.#cursor = null
          this.#state('locked', error)
        }
        else if (!this.#asleep) this.#state('down', error)
        this.#failures += 1
      }
      if (!this.#asleep) await this.#pause(Math.min(5000, 250 * 2 ** Math.min(this.#failures, 5)) * (0.75 + Math.random() / 2))
    }
  }

  /** Tries at once. */
  now() {
    this.#failures = 0
    this.#wake?.()
  }

  /** A hidden page closes its connection; it misses nothing. */
  sleep(asleep) {
    if (this.#asleep === asleep) return
    this.#asleep = asleep
    if (asleep) this.#abort?.abort()
    else this.now()
  }

  #pause(milliseconds) {
    return new Promise((resolve) => {
      this.#wake = resolve
      setTimeout(resolve, milliseconds)
    })
  }

  async #read() {
    this.#abort = new AbortController()
    const headers = this.#cursor ? { 'Last-Event-ID': this.#cursor } : {}
    const response = await this.#open(headers, this.#abort.signal)
    this.#failures = 0
    this.#streams(true)
    this.#state('live')
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      // A comment comes every 30 seconds: a silent connection is a dead one.
      const silence = setTimeout(() => this.#abort.abort(), 75_000)
      const { value, done } = await reader.read().finally(() => clearTimeout(silence))
      if (done) throw new Unreachable()
      rest += value
      const parts = rest.split('\n\n')
      rest = parts.pop()
      for (const part of parts) this.#take(part)
    }
  }

  #take(part) {
    let name, data
    for (const line of part.split('\n')) {
      if (line.startsWith('id:')) this.#cursor = line.slice(3).trim()
      else if (line.startsWith('event: ')) name = line.slice(7)
      else if (line.startsWith('data: ')) data = line.slice(6)
    }
    if (name) this.#event(name, JSON.parse(data ?? 'null'))
  }
}

/** The name of this browser in the list of those that have access. */
function browserName() {
  const agent = navigator.userAgent
  const name = ['Firefox', 'Edg', 'OPR', 'Chrome', 'Safari'].find((each) => agent.includes(each)) ?? 'Browser'
  const system = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS', 'Linux'].find((each) => agent.includes(each))
  return ({ Edg: 'Edge', OPR: 'Opera' }[name] ?? name) + (system ? ` on ${system.replace('Mac OS', 'macOS')}` : '')
}
