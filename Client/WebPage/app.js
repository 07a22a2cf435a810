// What all views share: the model, the source, and actions whose state the page shows correctly.

import { say, toast } from './dom.js'
import { Model } from './model.js'
import { kept } from './storage.js'
import { DaemonSource, Refusal, Unreachable } from './source.js'

export const model = new Model()
export const source = new DaemonSource()

/**
 * Does something that is about a message or another thing `id`: says at once that it is on its way, and
 * then what became of it. Gives the answer back, or nothing if it failed, which then stands at the row.
 * `undoable`: what it did can be undone, and the notice offers that.
 */
export async function perform(name, values, { id = values.id, busy, done, undoable, options } = {}) {
  if (id) {
    model.notes.set(id, { state: 'busy', words: busy ?? 'on its way …' })
    model.touch()
  }
  try {
    const answer = await source.act(name, values, options)
    if (id) model.notes.delete(id)
    const words = typeof done === 'function' ? done(answer) : done
    if (words) undoable ? offerUndo(words, answer.change) : say(words)
    if (id) model.place(id, source)
    model.touch()
    return answer
  } catch (error) {
    failed(error, id, () => perform(name, values, { id, busy, done, undoable, options }))
  }
}

/** Shows an error where it belongs, with a way out. */
export function failed(error, id, again) {
  if (!(error instanceof Refusal || error instanceof Unreachable)) throw error
  if (error.status === 401) {
    if (id) model.notes.delete(id)
    return lock(error)
  }
  const words = error instanceof Unreachable ? 'Not confirmed: Cospool did not answer.' : error.message
  if (id) model.notes.set(id, { state: 'error', words, again })
  // The obstacle to an undo stays there.
  else toast(words, again && !['notUndoable', 'changeUnknown'].includes(error.code) ? { label: 'Try again', run: again } : null)
  say(words)
  model.touch()
}

/** The key is no longer valid: a user who is not signed in sees nothing of the workspace, old or new. */
export function lock(error) {
  model.clear()
  model.link = 'locked'
  model.lockWords = error?.message
  doneHere.length = 0
  model.touch()
}

// Undo. A notice is about one change, and undoes only that change.

/** What this page did and can undo, the latest last: `{words, run}`. */
const doneHere = []
const DONE_MAX = 100

/** Shows what was done, and offers to undo only that change: by its number, or with `back`, described by `backWords`. */
export function offerUndo(words, change, { back, backWords } = {}) {
  const step = { run: back ? () => takeBack(back, backWords) : () => undoChange(change, words) }
  if (!back && change == null) return toast(words)
  doneHere.push(step)
  if (doneHere.length > DONE_MAX) doneHere.shift()
  toast(words, { label: 'Undo', run: () => {
    const at = doneHere.indexOf(step)
    if (at >= 0) doneHere.splice(at, 1)
    step.run()
  } })
}

/** Undoes the latest change that was made in this page. */
export function undo() {
  const step = doneHere.pop()
  step ? step.run() : toast('There is nothing to undo that was done in this page.')
}

async function takeBack(back, words) {
  const answer = await back()
  if (answer) toast(words)
}

async function undoChange(change, words) {
  const answer = await perform('undo', { change })
  if (!answer) return
  const told = withNotes(answer.result === 'undone' ? `Undone: ${words}` : 'There was nothing to undo', answer)
  toast(told, answer.change == null ? null : { label: 'Redo', run: () => redo(answer.change, words) })
}

async function redo(change, words) {
  const answer = await perform('redo', { change })
  if (answer) offerUndo(withNotes(words, answer), answer.change)
}

/** The result of an undo or a redo: what it did not change, what it paused and what is not confirmed. */
function withNotes(words, { left = [], paused = [], unconfirmed }) {
  const notes = paused.map((session) => `${session} is paused, so that nothing starts: Resume lets it go on.`)
  if (unconfirmed) notes.push('The server has not confirmed that no agent started it meanwhile.')
  return [...notes, ...left.map(({ note }) => note)].reduce((all, note) => `${all.replace(/\.$/, '')}. ${note}`, words)
}

/** The beginning of a text, as a notice names its message. */
export function named(text) {
  const line = text.trim().split('\n', 1)[0]
  const beginning = line.length > 40 ? `${line.slice(0, 40).trimEnd()}…` : line
  // Right-to-left text must not reorder the words around it.
  return /[\u0590-\u08ff\ufb1d-\ufefc]/.test(line) ? `“\u2068${beginning}\u2069”` : `“${beginning}”`
}

// Messages in transit. Each gets its id here, so it is safe to send it again.

export async function send(session, text, { urgent, attachments, interrupt, progress } = {}) {
  const id = crypto.randomUUID()
  model.sending.set(id, {
    session, text, attachments, interrupt, priority: urgent ? 'urgent' : 'normal', createdAt: new Date().toISOString(),
    attachmentNames: attachments?.map((file) => file.name),
  })
  await model.keepSending(id)
  model.touch()
  await deliver(id, progress)
  return id
}

/** The messages that are being sent now, and when each ends. */
const delivering = new Map()

export function deliver(id, progress) {
  if (!delivering.has(id)) delivering.set(id, deliverOnce(id, progress).finally(() => delivering.delete(id)))
  return delivering.get(id)
}

async function deliverOnce(id, progress) {
  const message = model.sending.get(id)
  if (!message) return
  model.notes.set(id, { state: 'busy', words: 'sending …' })
  model.touch()
  if (message.isLost) {
    // The user sends it without its files: from here on, it is like any other.
    for (const name of ['isLost', 'attachments', 'attachmentNames']) delete message[name]
    await model.keepSending(id)
  }
  try {
    const answer = await source.act('send', { id, ...message }, progress && { progress })
    model.notes.delete(id)
    // A finished message is in no queue: no event will name it.
    if (answer.status !== 'queued') model.settle(id)
    else say(`Queued, position ${answer.position} of ${answer.count}`)
    const words = answer.stop?.note ?? answer.warning
    if (words) toast(words)
    await model.place(id, source)
  } catch (error) {
    if (model.sending.has(id)) return notSent(error, id, () => deliver(id, progress))
    // Only the answer was lost: the event arrived.
    model.notes.delete(id)
    model.touch()
  } finally {
    progress?.(1)
  }
}

/** Shows what is kept here until the daemon has it; it is sent automatically. */
function notSent(error, id, again) {
  if (!(error instanceof Unreachable)) return failed(error, id, again)
  const words = 'Not sent yet: Cospool does not answer. Your message is kept here, and sent when Cospool is back.'
  model.notes.set(id, { state: 'error', words, again })
  say(words)
  model.touch()
}

/** Restores what was not sent before a page of this browser was closed. */
export async function restore() {
  await model.restoreSending()
  for (const [id, { isLost }] of model.sending) {
    // The user decides whether to send the text without its files.
    if (isLost) model.notes.set(id, {
      state: 'error', words: 'Its files are no longer in this browser.',
      extra: { label: 'Send only its text', run: () => deliver(id) },
    })
  }
}

/** The daemon is back: sends what was typed in the meantime. */
export async function deliverAll() {
  const all = [...model.sending].sort(([, left], [, right]) => left.createdAt.localeCompare(right.createdAt))
  // One after the other, so that they keep the order in which they were typed.
  for (const [id, { isLost, session }] of all) {
    if (isLost) continue
    await deliver(id)
    // If there was no answer when it was sent, its text is still a draft there. A refused one ends no draft.
    if (model.notes.get(id)?.state !== 'error') source.act('draft', { session, text: drafts.get(`text.${session}`) }).catch(() => {})
  }
}

export function discard(id) {
  model.settle(id)
  model.notes.delete(id)
  model.touch()
}

/** The daemon is back: repeats unanswered actions that are safe to do twice. */
export function repeatAll() {
  for (const [id, { repeats, again }] of model.notes) {
    if (!repeats) continue
    model.notes.delete(id)
    again()
  }
  model.touch()
}

/** A text that survives a reload and a crash, by its name. */
export const drafts = {
  get: (name) => localStorage.getItem(`cospool.draft.${name}`) ?? '',
  /** The names with this prefix, without it. */
  names(beginning) {
    const whole = `cospool.draft.${beginning}`
    return Object.keys(localStorage).filter((key) => key.startsWith(whole)).map((key) => key.slice(whole.length))
  },
  set(name, text) {
    if (!text) localStorage.removeItem(`cospool.draft.${name}`)
    else if (!kept(`cospool.draft.${name}`, text)) toast('This browser\'s storage is full: what you type is lost if you close the page.')
  },
}

// Files.

const FILE_MAX = 10 * 1024 * 1024
/** What fits into one request together, before it is written as base64. */
const FILES_MAX = 11 * 1024 * 1024

/** A file as the daemon takes it. */
export function packed(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onerror = () => reject(new Error(`${file.name} cannot be read. Choose it again.`))
    reader.onload = () => resolve({
      name: file.name || 'pasted', mediaType: file.type || undefined,
      data: reader.result.slice(reader.result.indexOf(',') + 1),
    })
    reader.readAsDataURL(file)
  })
}

/** Why files cannot be added to others; nothing if they can. */
export function filesProblem(files, present = []) {
  const big = files.find((file) => file.size > FILE_MAX)
  if (big) return `${big.name} is larger than 10 MiB. Write its path in the text instead.`
  if (present.length + files.length > 20) return 'A message can have at most 20 files.'
  const total = [...present, ...files].reduce((sum, file) => sum + file.size, 0)
  if (total > FILES_MAX) return 'Together they exceed 11 MiB. Attach the rest to the queued message.'
}

// Names, and search by words.

/** The last part of a project's path. */
export const projectName = (path) => path?.replace(/\/+$/, '').split('/').at(-1) || ''

export const nameOf = (id) => model.sessions.get(id)?.name || id

export const firstLine = (text) => text?.split('\n').find((line) => line.trim())?.trim() ?? ''

/** The sessions that fit all words of a query by name, project or prompt: `{session, isNamed, prompts}`, with the lines of the prompts that fit. */
export function found(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const fits = (text) => words.every((word) => text.includes(word))
  return [...model.sessions.values()].flatMap((session) => {
    const isNamed = fits(`${session.name ?? ''} ${session.id} ${session.project ?? ''}`.toLowerCase())
    const prompts = words.length ? model.rows(session.id).filter(({ content }) => fits(content.toLowerCase())).map(({ content }) => lineWith(content, words[0])) : []
    return isNamed || prompts.length ? [{ session, isNamed, prompts }] : []
  }).sort((left, right) => right.isNamed - left.isNamed || nameOf(left.session.id).localeCompare(nameOf(right.session.id)))
}

/** The line of a text that contains a word. */
function lineWith(text, word) {
  return text.split('\n').find((line) => line.toLowerCase().includes(word))?.trim() ?? firstLine(text)
}
