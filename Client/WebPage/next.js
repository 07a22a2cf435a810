// The future: the queue. Rows are moved by their grips, with a pointer or by keys, and several at once.

import { model, offerUndo, perform } from './app.js'
import { counted, h, reconcile, show, text } from './dom.js'
import { moveTo } from './row.js'

/** The distance at which a pointer starts to drag, and the distance to an edge at which it scrolls, in pixels. */
const SLACK = 4
const EDGE = 56

class Next extends HTMLElement {
  #session; #drag = null; #rows = []
  /** The selected rows, while the user selects. */
  #chosen = null

  open(session) {
    this.#session = session
    this.count = h('h2')
    const button = (words, run, kind = '') => h(`button${kind}`, { type: 'button', onclick: run }, words)
    this.select = button('Select', () => this.#choose(this.#chosen ? null : new Set()), '.link')
    this.chosen = h('span.meta', { role: 'status' })
    this.together = [button('To top', () => this.#moveAll('top')), button('To end', () => this.#moveAll('end')),
      button('Cancel them', () => this.#cancelAll(), '.danger')]
    this.bar = h('div.buttons.chosen', { hidden: true, role: 'group', 'aria-label': 'What to do with those that are selected' }, this.chosen, ...this.together)
    this.list = h('div.queue', { role: 'list', 'aria-label': 'Queue' })
    this.empty = h('p.quiet')
    this.replaceChildren(h('div.bar', {}, this.count, this.select), this.bar, this.list, this.empty)
    this.list.addEventListener('pointerdown', (event) => this.#press(event))
    this.addEventListener('chosen', ({ detail: { id, isChosen } }) => {
      isChosen ? this.#chosen?.add(id) : this.#chosen?.delete(id)
      this.#showChosen()
    })
  }

  /** `place` says of a row where it is. */
  update(rows, place) {
    this.#rows = rows
    text(this.count, rows.length ? `Next · ${rows.length}` : 'Next')
    show(this.empty, rows.length === 0)
    text(this.empty, model.ready ? 'The queue is empty.' : model.link === 'down' ? 'Its queue is not known until Cospool answers.' : 'Connecting …')
    const waiting = rows.filter(({ status }) => status === 'queued')
    if (this.#chosen) {
      for (const id of this.#chosen) if (!waiting.some((each) => each.id === id)) this.#chosen.delete(id)
      if (!waiting.length) this.#chosen = null
    }
    show(this.select, waiting.length > 1 || this.#chosen !== null)
    reconcile(this.list, rows, {
      key: (message) => message.id, make: () => document.createElement('queue-row'),
      update: (row, message) => {
        row.update(message, place(message))
        row.choose(this.#chosen && message.status === 'queued' ? this.#chosen.has(message.id) : null)
      },
    })
    this.#showChosen()
  }

  // Several at once.

  #choose(chosen) {
    this.#chosen = chosen
    model.touch()
    this.#showChosen()
  }

  #showChosen() {
    const count = this.#chosen?.size ?? 0
    text(this.select, this.#chosen ? 'Done' : 'Select')
    show(this.bar, this.#chosen !== null)
    text(this.chosen, `${count} selected`)
    for (const each of this.together) each.disabled = count === 0
  }

  /** The selected rows, in their order. */
  get #ids() { return this.#rows.map(({ id }) => id).filter((id) => this.#chosen.has(id)) }

  async #moveAll(where) {
    const ids = this.#ids
    const rest = this.#rows.filter(({ id, status }) => status === 'queued' && !ids.includes(id))
    if (!rest.length) return this.#choose(null)
    const to = where === 'top' ? { before: rest[0].id } : { after: rest.at(-1).id }
    if (await perform('move', { ids, to }, { done: `${counted(ids.length, 'message')} moved to the ${where}`, undoable: true })) this.#choose(null)
  }

  async #cancelAll() {
    const answer = await perform('cancel', { ids: this.#ids })
    if (!answer) return
    const late = answer.outcomes?.filter(({ outcome }) => outcome === 'invoked').length
    offerUndo(`${counted((answer.outcomes?.length ?? 0) - late, 'message')} cancelled${late ? `; ${counted(late, 'message')} had already started` : ''}`, answer.change)
    this.#choose(null)
  }

  // Dragging by the grip, with a mouse, a pen or a finger.

  #press(event) {
    const grip = event.target.closest('.handle')
    const row = grip?.closest('queue-row')
    if (!row || grip.disabled || event.button !== 0) return
    const { clientX, clientY, pointerId } = event
    const end = new AbortController()
    const on = (name, run) => addEventListener(name, (each) => each.pointerId === pointerId && run(each), { signal: end.signal })
    const stop = () => {
      end.abort()
      this.#letGo()
    }
    on('pointermove', (each) => {
      if (!this.#drag && Math.hypot(each.clientX - clientX, each.clientY - clientY) < SLACK) return
      this.#drag ??= { row, from: clientY + this.#scrolled }
      this.#drag.y = each.clientY
      this.#show()
      this.#scroll()
    })
    on('pointerup', () => {
      const drag = this.#drag
      stop()
      if (drag) this.#drop(drag)
    })
    on('pointercancel', stop)
    addEventListener('keydown', (each) => {
      if (each.key !== 'Escape' || !this.#drag) return
      each.preventDefault()
      stop()
    }, { signal: end.signal, capture: true })
  }

  /** Beside the conversation, the list scrolls by itself. */
  get #scroller() { return this.scrollHeight > this.clientHeight + 1 && getComputedStyle(this).overflowY === 'auto' ? this : document.scrollingElement }

  get #scrolled() { return this.#scroller.scrollTop }

  /** The place where it would land: beside which row, and whether below it. */
  #target({ row, y }) {
    let found = null
    for (const each of this.list.children) {
      if (each === row || each.message?.status !== 'queued') continue
      const { top, height } = each.getBoundingClientRect()
      if (!found || y >= top) found = { row: each, isBelow: y > top + height / 2 }
    }
    return found
  }

  #show() {
    const { row, from, y } = this.#drag
    row.classList.add('dragged')
    // Within the list: a part outside would make the list longer, and scroll forever.
    const [least, most] = [this.list.offsetTop - row.offsetTop, this.list.offsetTop + this.list.offsetHeight - row.offsetTop - row.offsetHeight]
    row.style.translate = `0 ${Math.max(least, Math.min(most, y + this.#scrolled - from))}px`
    this.#mark(this.#target(this.#drag))
  }

  #mark(target) {
    this.list.querySelector('.over')?.classList.remove('over', 'below')
    target?.row.classList.add('over')
    target?.row.classList.toggle('below', target.isBelow)
  }

  /** A list that is longer than the window scrolls along. */
  #scroll() {
    cancelAnimationFrame(this.#drag.frame)
    const box = this.#scroller === this ? this.getBoundingClientRect() : { top: 0, bottom: innerHeight }
    const by = this.#drag.y < box.top + EDGE ? -8 : this.#drag.y > box.bottom - EDGE ? 8 : 0
    if (!by) return
    this.#drag.frame = requestAnimationFrame(() => {
      if (!this.#drag) return
      this.#scroller.scrollBy(0, by)
      this.#show()
      this.#scroll()
    })
  }

  #letGo() {
    if (!this.#drag) return
    cancelAnimationFrame(this.#drag.frame)
    this.#mark(null)
    this.#drag.row.classList.remove('dragged')
    this.#drag.row.style.translate = ''
    this.#drag = null
  }

  #drop(drag) {
    const target = this.#target(drag)
    const { message } = drag.row
    if (!target) return
    const queue = model.rows(this.#session).filter(({ status }) => status === 'queued')
    const from = queue.findIndex(({ id }) => id === message.id)
    const anchor = queue.filter(({ id }) => id !== message.id).findIndex(({ id }) => id === target.row.message.id)
    if (from >= 0 && anchor >= 0) moveTo(queue[from], this.#session, anchor + (target.isBelow ? 1 : 0), from)
  }
}

customElements.define('next-list', Next)
