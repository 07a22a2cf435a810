// A request of an agent: for permission, or for an answer.

import { drafts, failed, firstLine, model, nameOf, perform, source } from './app.js'
import { Unreachable } from './source.js'
import { age, h, say, show, text, toast } from './dom.js'
import { deed, inputView } from './diff.js'
import { markdown } from './markdown.js'
import { asks } from './model.js'
import { outputOf } from './output.js'
import { keptText } from './storage.js'

const DRAFT = 'answer.'
/** How long Snooze hides a request, in minutes. */
const SNOOZE = 15
/** How many lines of the agent's output are shown beside a request. */
const OUTPUT_LINES = 3
/** Text that was typed for a request and not sent: `{text, asked}`. */
const typed = (id) => keptText(drafts.get(DRAFT + id))

/** The text for a request that has ended, even before a reload, is shown until a user has read it. */
export function tellUnsaid() {
  const open = new Set([...model.tasks.values()].flatMap(asks).map(({ id }) => id))
  // Its task may have lacked it for a moment.
  for (const [id, { unsaid }] of model.decided) if (unsaid && open.has(id)) model.forgetDecision(id)
  for (const id of drafts.names(DRAFT)) {
    const { text: words, asked } = typed(id)
    const decision = model.decided.get(id)
    if (open.has(id) || !words.trim() || decision?.own || decision?.stays) continue
    // They are in transit.
    if (model.notes.get(id)?.state === 'busy') continue
    // Without the request, no card can be shown.
    if (!(asked?.request ?? asked?.question)) continue
    model.decide(id, { session: asked.session, asked, unsaid: true, words: `${decision?.words ?? 'It has ended'}. Your words: “${words.trim()}”`, stays: true })
  }
}

/** Sends a decision. If there is no answer, it shows that, and sends the decision again when the daemon is back. */
async function decide(asked, verdict, remark, digest) {
  const { id, session } = asked
  const over = (told, more) => {
    model.decide(id, { session, asked, words: told, ...more })
    say(told)
  }
  model.notes.set(id, { state: 'busy', words: 'sending …' })
  model.touch()
  try {
    const answer = await source.act('answer', { id, verdict, text: verdict === 'allowed' ? '' : remark, digest })
    drafts.set(DRAFT + id, '')
    model.notes.delete(id)
    const done = { allowed: 'Allowed', denied: 'Denied', answered: 'Answered', cancelled: 'Declined' }[verdict]
    const waits = answer.result === 'waiting'
    over(waits ? `${done} here; it counts if there is a connection within two minutes.` : `${done} by you`, { own: true, stays: waits })
  } catch (error) {
    model.notes.delete(id)
    if (error instanceof Unreachable) {
      const words = 'Not confirmed: Cospool does not answer. Your decision is sent again when it is back, if the request is still open.'
      model.notes.set(id, { state: 'error', words, repeats: true, again: () => isOpen(asked) && decide(asked, verdict, remark, digest) })
      return say(words)
    }
    // It is still open: this device does not have all of it, or its content has changed.
    const staysOpen = ['notShown', 'requestIncomplete'].includes(error.code)
    error.status === 409 && !staysOpen ? over(error.message) : failed(error, id)
    tellUnsaid()
  }
}

function isOpen({ id, session }) { return asks(model.tasks.get(session)).some((each) => each.id === id) }

class RequestCard extends HTMLElement {
  #id; #session; #asked
  /** The whole request as it is shown here: what an approval allows. None while some of it is missing. */
  #shown
  /** The request whose whole is being read. */
  #reads

  connectedCallback() {
    if (this.title_) return
    this.setAttribute('role', 'article')
    this.tabIndex = -1
    // In the inbox, its session is above it, and its context is elsewhere.
    this.isListed = Boolean(this.closest('needs-view'))
    this.deed = h('p.deed', { role: 'heading', 'aria-level': this.isListed ? '3' : '2' })
    this.meta = h('p.meta')
    this.title_ = h('div.title')
    this.what = h('div.what')
    this.remark = h('textarea', { rows: 1, dir: 'auto', oninput: () => this.#keep() })
    this.buttons = h('div.buttons', { role: 'group', 'aria-label': 'Decision' })
    this.outcome = h('p.note', { hidden: true, role: 'status' })
    this.prompt = h('span', { dir: 'auto' })
    this.outputText = h('pre', { dir: 'auto' })
    this.output = h('details', { ontoggle: () => this.output.open && this.#readOutput() }, h('summary', {}, 'Last output'), this.outputText)
    this.context = h('div.context', { hidden: true }, this.prompt, this.output)
    const button = (words, run) => h('button', { type: 'button', hidden: true, onclick: run }, words)
    this.again = button('Try again', () => model.notes.get(this.#id)?.again?.())
    this.back = button('Show it again', () => model.takeBackPutOff(this.#id))
    this.read = button('Dismiss', () => this.#dismiss())
    this.replaceChildren(h('div.bar', {}, this.deed, this.meta), this.title_, this.what, this.context, this.buttons, this.outcome,
      h('div.buttons', {}, this.again, this.back, this.read))
  }

  /** The parts that ignore presses for a moment after it moved. */
  get pressed() { return [this.buttons] }

  /** Shows one of `asks`, or a decided one that has ended. */
  update(asked) {
    const { id, session, request, question, place, count } = asked
    const isNew = id !== this.#id || request?.digest !== this.#asked?.request?.digest
    this.#id = id
    this.#session = session
    this.#asked = asked
    const name = nameOf(session)
    const expires = Date.parse((request ?? question).expiresAt)
    const deedWords = asked.consent ? 'was given to this device' : request ? deed(request.toolName) : 'asks a question'
    text(this.deed, this.isListed ? deedWords[0].toUpperCase() + deedWords.slice(1) : `${name} ${deedWords}`)
    if (isNew) {
      this.title_.replaceChildren(question ? markdown(question.question) : '')
      show(this.title_, Boolean(question))
      this.#shown = request?.isCut ? null : request
      this.#reads = null
      this.#showWords(request ?? question)
      this.remark.value = typed(id).text
      this.remark.placeholder = request ? 'Reason (optional; sent with Deny)' : 'Your answer'
      this.remark.setAttribute('aria-label', request ? 'Reason for the denial' : 'Your answer')
      this.setAttribute('aria-label', `${name} ${deedWords}`)
      this.#fill(request, question, asked.consent)
    }
    // A card that was taken out of its list meanwhile reads it when it is shown again.
    if (request?.isCut && !this.#shown && !asked.over && this.#reads !== id) this.#complete(id)
    const device = model.deviceName(model.sessions.get(session)?.host)
    const left = expires && Math.round((expires - Date.now()) / 1000)
    text(this.meta, [
      count > 1 && !asked.over ? `${place} of ${count}` : null, request?.toolName, this.isListed ? null : device, !this.isListed && asked.at ? age(asked.at) : null,
      !asked.over && left > 0 && left < 3600 ? `${left >= 60 ? `${Math.floor(left / 60)} min` : `${left} s`} left` : null,
    ].filter(Boolean).join(' · '))
    const running = this.isListed && model.running(session)
    show(this.context, Boolean(running))
    if (running) text(this.prompt, `For “${firstLine(running.content)}”`)
    const decision = model.decided.get(id)
    const note = model.notes.get(id)
    const busy = note?.state === 'busy'
    const over = asked.over || Boolean(decision)
    // By the clock of the device that asks: the browser's may be wrong.
    const elsewhere = !over && !asked.consent && expires <= asked.at
    const hadFocus = this.contains(document.activeElement)
    // It keeps its height: what is below must not move under a finger that decided.
    if (over !== this.classList.contains('over')) this.style.minHeight = over ? `${this.getBoundingClientRect().height}px` : ''
    this.classList.toggle('over', over)
    for (const button of this.buttons.querySelectorAll('button')) {
      const verdict = button.dataset.verdict
      const unseen = verdict === 'allowed' && Boolean(request) && !asked.consent && !this.#shown
      button.disabled = busy || over || unseen || elsewhere && Boolean(verdict)
      show(button, !(elsewhere && verdict || unseen))
    }
    this.remark.disabled = over
    // Typed text stays readable.
    this.remark.readOnly = elsewhere
    show(this.remark, !asked.consent && (!elsewhere || this.remark.value !== ''))
    if (hadFocus && document.activeElement.matches(':disabled')) this.focus({ preventScroll: true })
    show(this.read, Boolean(decision?.stays))
    show(this.back, Boolean(decision?.later))
    show(this.again, !over && Boolean(note?.again))
    const there = elsewhere ? `It is open on ${device ?? 'another device'}: answer it there.` : ''
    const told = decision?.words ?? note?.words ?? there
    show(this.outcome, Boolean(told))
    // The state in transit takes no room, which would move what is below.
    this.outcome.className = `note ${decision ? 'done' : note?.state ?? ''}${busy && !over ? ' unseen' : ''}`
    text(this.outcome, told)
  }

  #showWords(asked) {
    const nodes = inputView(asked)
    this.what.replaceChildren(...nodes)
    show(this.what, nodes.length > 0)
  }

  /** The end of the agent's output before it asked. */
  async #readOutput() {
    const message = model.running(this.#session)?.id
    text(this.outputText, '…')
    try {
      const { text: written, there } = message ? await outputOf(message) : {}
      const lines = (written ?? '').split('\n').filter((line) => line.trim()).slice(-OUTPUT_LINES)
      text(this.outputText, lines.join('\n') || (there ?? 'It has written nothing yet.'))
    } catch (error) {
      text(this.outputText, error.message)
    }
  }

  /** Reads what its register has no room for, repeatedly, until all of it is here. */
  async #complete(id) {
    this.#reads = id
    const task = await source.list(`sessions/${encodeURIComponent(this.#session)}/task`).catch(() => null)
    if (id !== this.#id) return
    this.#reads = null
    if (!this.isConnected) return
    const whole = task && asks(task).find((asked) => asked.id === id)?.request
    if (whole && !whole.isCut) {
      this.#shown = whole
      this.#showWords(whole)
      model.touch()
    } else if (!this.#asked.over && !model.decided.has(id)) {
      this.#reads = id
      setTimeout(() => this.#complete(id), 5000)
    }
  }

  #fill(request, question, consent) {
    const button = (label, verdict, kind, words) => h(`button${kind}`, {
      type: 'button', 'data-verdict': verdict, dir: words && 'auto', onclick: () => this.decide(verdict, words),
    }, label)
    const choices = consent
      ? [button('Let it run here', 'allowed', '.main'), button('Not here', 'denied', '.danger')] : request
      ? [button('Allow', 'allowed', '.main'), button('Deny', 'denied', '.danger')]
      : [...(question.options ?? []).map((option) => button(option, 'answered', '.option', option)),
        button('Answer', 'answered', '.main'), button('Decline and stop the turn', 'cancelled', '')]
    // An answer is before the button that sends it.
    const at = request || consent ? choices.length : choices.length - 2
    choices.splice(at, 0, ...(question?.options?.length ? [h('span.break')] : []), this.remark)
    const types = document.activeElement === this.remark
    this.buttons.replaceChildren(...choices)
    if (types) this.remark.focus({ preventScroll: true })
    // It is hidden only from the list of what needs a user.
    if (this.isListed) this.buttons.append(h('button.later.link', {
      type: 'button', 'aria-label': `Snooze for ${SNOOZE} min`, title: `Hides it in this browser for ${SNOOZE} min; the agent keeps waiting`,
      onclick: () => this.snooze(),
    }, 'Snooze'))
  }

  /** Hides it for a while; it can be shown again. */
  snooze() {
    const [id, session, asked] = [this.#id, this.#session, this.#asked]
    if (model.decided.has(id)) return
    model.putOff(id, SNOOZE)
    model.decide(id, { session, asked, later: true, words: `Hidden here for ${SNOOZE} min. The agent keeps waiting.` })
  }

  #keep() {
    const words = this.remark.value
    // A decision without an answer had other words.
    if (model.notes.get(this.#id)?.repeats) model.notes.delete(this.#id)
    drafts.set(DRAFT + this.#id, words && JSON.stringify({ text: words, asked: this.#asked }))
  }

  #dismiss() {
    drafts.set(DRAFT + this.#id, '')
    model.forgetDecision(this.#id)
  }

  async decide(verdict, words = this.remark.value) {
    const id = this.#id
    if (model.notes.get(id)?.state === 'busy' || model.decided.has(id) || this.remark.readOnly) return
    if (this.#asked.consent) return this.#settleConsent(verdict)
    if (verdict === 'answered' && !words.trim()) return this.remark.focus()
    decide(this.#asked, verdict, words, verdict === 'allowed' ? this.#shown?.digest : undefined)
  }

  /** Another device assigned the session to this one: only a user here can allow it to run. */
  async #settleConsent(verdict) {
    const [id, session, asked] = [this.#id, this.#session, this.#asked]
    const words = verdict === 'allowed' ? 'It runs here' : 'No device is set to run it'
    const answer = await perform('host', { session, device: verdict === 'allowed' ? 'this' : undefined }, { id, done: words })
    if (!answer) return
    if (answer.warning) toast(answer.warning)
    model.unconsented.delete(session)
    model.decide(id, { session, asked, words })
  }
}

customElements.define('request-card', RequestCard)
