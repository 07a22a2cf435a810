// Editing a queued text in its place. It does not start in the meantime, and changes by others are merged.

import { WORDS } from './actions.js'
import { drafts, failed, model, offerUndo, send, source } from './app.js'
import { counted, h, refill, say, show, text, toast } from './dom.js'
import { STUCK } from './model.js'
import { Unreachable } from './source.js'
import { keptText } from './storage.js'

const HOLD_SECONDS = 20

/** Messages whose edit this page keeps: begun here, or before it was loaded. An edit in another tab belongs to that tab. */
const own = new Set(drafts.names('edit.'))

/** Whether an edit that was begun in this page continues. */
export function isBegun(message) { return own.has(message) && drafts.get(`edit.${message}`) !== '' }

/** The messages of a session whose edits this page keeps, as they were at the beginning of the edit. */
export function begun(session) {
  const all = [...own].map((id) => ({ id, ...keptText(drafts.get(`edit.${id}`)) }))
  return all.filter((each) => each.session === session).map(({ id, shown }) => ({ id, content: shown }))
}

/** Whether a text can still be changed: it waits for its turn, or for a user. */
const canEdit = ({ status }) => status === 'queued' || STUCK.includes(status)

/** The words of context on each side of a difference, and the maximum number of characters of it that are shown. */
const CONTEXT = 6
const SHOWN_MAX = 300

/** The maximum number of pairs of words that are compared, so that it takes only a moment. */
const PAIRS_MAX = 1e6

/** How many words two texts have in common at their beginning, and at their end. */
function ends(old, fresh) {
  let start = 0
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1
  let end = 0
  while (end < old.length - start && end < fresh.length - start && old.at(-1 - end) === fresh.at(-1 - end)) end += 1
  return [start, end]
}

/** The stretch in which two texts differ, by words, as elements: the old and the new words, with some text around. */
function difference(before, after) {
  const [old, fresh] = [before, after].map((text) => text.split(/(\s+)/))
  const [start, end] = ends(old, fresh)
  const cut = (text) => (text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)} … (${counted(text.length - SHOWN_MAX, 'more character')})` : text)
  const [gone, come] = [old, fresh].map((words) => cut(words.slice(start, words.length - end).join('')))
  const from = Math.max(0, start - CONTEXT)
  const to = Math.min(fresh.length, fresh.length - end + CONTEXT)
  return [from > 0 && '… ', fresh.slice(from, start).join(''), gone && h('del', {}, gone), gone && come && ' ', come && h('ins', {}, come),
    fresh.slice(fresh.length - end, to).join(''), to < fresh.length && ' …'].filter(Boolean)
}

/** The words that another text has, too, in the same order; if there are too many, those at both ends. */
function shared(words, others) {
  const [start, end] = ends(words, others)
  const [rows, columns] = [words, others].map((each) => each.slice(start, each.length - end))
  if (rows.length * columns.length > PAIRS_MAX) columns.length = 0
  const result = words.map((_, at) => at < start || at >= start + rows.length)
  let best = Array(columns.length + 1).fill({ length: 0 })
  for (const [at, word] of rows.entries()) {
    const next = [best[0]]
    for (const [to, other] of columns.entries()) {
      next.push(word === other ? { length: best[to].length + 1, at, before: best[to] } : best[to + 1].length > next[to].length ? best[to + 1] : next[to])
    }
    best = next
  }
  for (let each = best.at(-1); each.before; each = each.before) result[start + each.at] = true
  return result
}

/** A text as elements, with marks on the words that one of the others lacks. */
export function marked(text, others) {
  const [words, ...rest] = [text, ...others].map((each) => each.match(/\S+/g) ?? [])
  const have = rest.map((each) => shared(words, each))
  const parts = []
  // Blanks between marked words are part of the mark.
  for (const [at, [, blank, word]] of [...text.matchAll(/(\s*)(\S+)/g)].entries()) {
    const name = have.every((each) => each[at]) ? 'span' : 'mark'
    if (parts.at(-1)?.localName === name) parts.at(-1).append(blank)
    else parts.push(blank, h(name))
    parts.at(-1).append(word)
  }
  return parts
}

export class Editor {
  #message; #session; #end; #base; #shown; #renewing; #asking = false; #closed = false

  constructor(message, session, end) {
    this.#message = message
    this.#session = session
    this.#end = end
    this.#shown = message.content
    this.field = h('textarea', {
      'aria-label': 'Text of the message', rows: 2, dir: 'auto', value: message.content,
      oninput: () => (this.#keep(), this.#grow()), onkeydown: (event) => this.#keys(event),
    })
    this.news = h('p.news', { hidden: true, role: 'status' })
    this.trouble = h('p.note.error', { hidden: true, role: 'alert' })
    this.save = h('button.main', { type: 'button', onclick: () => this.#save() }, this.#saveWords)
    // A change from elsewhere is above the text, and the buttons stay in sight, however long it is.
    this.element = h('div.editor', {}, this.news, this.field, this.trouble,
      h('div.buttons', {}, this.save, h('button', { type: 'button', onclick: () => this.drop() }, 'Discard changes')))
  }

  get #saveWords() { return STUCK.includes(this.#message.status) ? 'Save and retry' : 'Save' }

  get #name() { return `edit.${this.#message.id}` }

  async open() {
    const kept = drafts.get(this.#name)
    if (kept) {
      // The page was reloaded in the meantime: the edit continues with its original base.
      const { text, base, shown = this.#shown } = keptText(kept)
      this.field.value = text
      this.#base = base
      this.#shown = shown
      this.changed(this.#message)
    } else {
      this.field.focus()
      this.field.setSelectionRange(this.field.value.length, this.field.value.length)
    }
    this.#grow()
    await this.#take()
  }

  /** Keeps the message from starting, and reads the base of the edit as soon as possible. */
  async #take() {
    if (!canEdit(this.#message)) return
    // A failed message starts only at the editor's request.
    if (!this.#renewing && this.#message.status === 'queued') {
      this.#hold()
      this.#renewing = setInterval(() => this.#hold(), HOLD_SECONDS * 1000)
    }
    if (this.#base || this.#asking) return
    this.#asking = true
    try {
      const now = await source.list(`messages/${this.#message.id}`)
      // Text typed in the meantime stays; if the field is unchanged, nothing was typed.
      if (this.field.value === this.#shown) this.field.value = now.content
      this.#base = now.base
      this.#shown = now.content
      // Another editor may have continued it.
      if (!this.#closed && own.has(this.#message.id)) this.#keep()
      this.#grow()
    } catch (error) {
      this.#say(error)
    } finally {
      this.#asking = false
    }
  }

  focus() { this.field.focus() }

  /** The message has changed. */
  changed(message) {
    this.#message = message
    const differs = message.content !== this.#shown
    show(this.news, differs)
    if (differs) this.news.replaceChildren('Changed elsewhere meanwhile; saving keeps both. ', ...difference(this.#shown, message.content))
    const over = !canEdit(message)
    if (!this.save.disabled) text(this.save, this.#saveWords)
    if (over) this.#trouble(`It can no longer be edited: ${message.status === 'running' ? 'it runs' : WORDS[message.status]}.`)
    else if (this.trouble.over) show(this.trouble, false)
    this.trouble.over = over
    this.#take()
  }

  #keep() {
    own.add(this.#message.id)
    drafts.set(this.#name, this.#kept)
  }

  get #kept() {
    return JSON.stringify({ text: this.field.value, base: this.#base, shown: this.#shown, session: this.#session })
  }

  #grow() {
    this.field.style.height = 'auto'
    this.field.style.height = `${Math.min(this.field.scrollHeight + 2, 480)}px`
  }

  #keys(event) {
    if (event.key === 'Escape') this.drop()
    else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.#save()
    else return
    event.preventDefault()
  }

  async #hold() {
    // A failure here is shown when the edit is saved.
    await source.act('hold', { id: this.#message.id }).catch(() => {})
  }

  async #save() {
    const typed = this.field.value
    // Saved twice with one base, the typed text would be in it twice.
    if (this.save.disabled || this.#closed) return
    if (!typed.trim()) return this.#trouble('A message cannot be empty. Cancel it instead.')
    this.save.disabled = true
    this.save.textContent = 'Saving …'
    this.trouble.hidden = true
    const before = this.#message
    try {
      const answer = await source.act('edit', { id: this.#message.id, text: typed, base: this.#base })
      const now = await source.list(`messages/${this.#message.id}`).catch(() => null)
      if (now) model.takeSaved(this.#session, before, { content: now.content, heldUntil: undefined })
      this.#close()
      if (answer.unconfirmed) {
        model.notes.set(this.#message.id, { state: 'unconfirmed', words: 'Saved here. Cospool does not know yet if that was before it started.' })
      } else {
        model.place(this.#message.id, source)
      }
      const merged = now && now.content.trim() !== typed.trim()
      // Editing a failed message retries it: a separate retry could be one too many.
      const saved = STUCK.includes(before.status) ? 'Saved. It runs again' : 'Saved'
      offerUndo(merged ? 'Saved and merged: both changes are in it' : saved, answer.change)
      if (merged) say('Merged with a change from elsewhere')
    } catch (error) {
      this.#say(error)
    } finally {
      this.save.disabled = false
      this.save.textContent = this.#saveWords
    }
  }

  #say(error) {
    if (error.code === 'baseForgotten' && error.current?.message) {
      this.#base = error.current.message.base
      this.#shown = error.current.message.content
      this.#keep()
    }
    if (!error.code) return failed(error)
    if (error instanceof Unreachable) return this.#trouble('Not saved: Cospool does not answer.', { isAway: true })
    this.#trouble(error.message)
  }

  /** The daemon is back: errors caused by its absence no longer apply. */
  back() {
    if (!this.trouble.hidden && this.trouble.isAway) this.trouble.hidden = true
    this.#take()
  }

  #trouble(words, { isAway = false } = {}) {
    // Shown once, not with every other change of its row.
    if (!this.trouble.hidden && this.trouble.words === words) return
    Object.assign(this.trouble, { words, isAway })
    // If it can still be edited, another message with its text would be one too many.
    const isOver = !canEdit(this.#message)
    refill(this.trouble, [words, ' Your text is kept.',
      isOver && h('button', { type: 'button', onclick: () => this.#asNew() }, 'Queue it as a new message')])
    this.trouble.hidden = false
  }

  async #asNew() {
    const text = this.field.value
    this.#close()
    await send(this.#session, text)
  }

  drop() {
    const changed = this.field.value !== this.#shown
    const [name, id, kept] = [this.#name, this.#message.id, this.#kept]
    this.#close()
    if (changed) {
      toast('Changes discarded', { label: 'Continue editing', run: () => {
        own.add(id)
        drafts.set(name, kept)
        document.querySelector(`queue-row[data-id="${id}"]`)?.run('edit')
      } })
    }
  }

  #close() {
    own.delete(this.#message.id)
    drafts.set(this.#name, '')
    this.leave()
    model.takeSaved(this.#session, this.#message, { heldUntil: undefined })
    // If the user is writing elsewhere by now, the focus stays there.
    const isHere = document.activeElement === document.body || this.element.contains(document.activeElement)
    this.element.remove()
    this.#end(isHere)
  }

  /** Releases the message; the typed text stays for the next time. */
  leave() {
    clearInterval(this.#renewing)
    if (this.#renewing && !this.#closed) source.act('release', { id: this.#message.id }).catch(() => {})
    this.#closed = true
  }
}
