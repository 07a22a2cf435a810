// Keys: one stop of Tab for a list of many rows, the keys of the whole page, and one field that leads everywhere (Ctrl+K).

import { found, model, undo } from './app.js'
import { h } from './dom.js'
import { kept } from './storage.js'

const SHORTCUTS = 'cospool.shortcuts'
/** Whether single letters act as shortcuts in this browser. */
export const usesShortcuts = () => localStorage.getItem(SHORTCUTS) !== 'off'

export const useShortcuts = (isOn) => kept(SHORTCUTS, isOn ? 'on' : 'off')

/** What Tab stops at by itself. Boxes that scroll are left alone: keys could not reach what they hide. */
const FOCUSABLE = 'a[href], button, input, select, textarea, summary'

/**
 * Has Tab stop at one row of a list alone, the one that had the focus last; the arrow keys go from row to row.
 * `rows` selects the rows.
 */
export function rove(list, rows) {
  let current
  const stop = (row, isOn) => {
    for (const each of row.querySelectorAll(FOCUSABLE)) {
      // A text that is being edited is reached from everywhere.
      if (each.closest('.editor')) continue
      isOn ? each.removeAttribute('tabindex') : (each.tabIndex = -1)
    }
  }
  const turnTo = (row) => {
    if (row === current) return
    if (current) stop(current, false)
    current = row
    if (row) stop(row, true)
  }
  const look = (changed) => {
    if (!current?.isConnected) turnTo(list.querySelector(rows))
    for (const row of changed) if (row.isConnected) stop(row, row === current)
  }
  look(list.querySelectorAll(rows))
  const observer = new MutationObserver((changes) => {
    const changed = new Set()
    for (const { addedNodes, target } of changes) {
      const row = target.closest(rows)
      if (row) changed.add(row)
      else for (const node of addedNodes) if (node.matches?.(rows)) changed.add(node)
    }
    look(changed)
  })
  observer.observe(list, { childList: true, subtree: true })
  list.addEventListener('focusin', ({ target }) => {
    const row = target.closest(rows)
    if (row && list.contains(row)) turnTo(row)
  })
  list.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' }[event.key]
    if (!step || event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return
    if (event.target.closest('input, textarea, select, .handle, .menu, [role=group][tabindex]')) return
    let next = event.target.closest(rows)?.[step]
    while (next && !next.checkVisibility()) next = next[step]
    if (!next) return
    event.preventDefault()
    // Not to a decision: Enter would make it.
    next.querySelector('a[href], button:not([data-verdict], :disabled)')?.focus()
  })
}

const KEYS = Object.entries({
  'Ctrl K': 'Go to a session, a view or a command', c: 'Write a prompt', '/': 'Search', 'Ctrl Z': 'Undo what you did last in this page',
  'j k': 'Inbox: next, previous', 'a d': 'Allow, deny', 'r s': 'Retry, skip; on a request, s is Snooze', '↑ ↓': 'Next or previous row; on a position: move the message',
  'Ctrl Enter': 'Queue or save the text', '?': 'Show these keys',
})

function showKeys() {
  const dialog = h('dialog.help', { 'aria-labelledby': 'help-title', onclose: () => dialog.remove() }, h('h2', { id: 'help-title' }, 'Keyboard'),
    h('dl', {}, KEYS.flatMap(([name, words]) => [h('dt', {}, h('kbd', {}, name)), h('dd', {}, words)])),
    h('div.buttons', {}, h('button', { type: 'button', autofocus: true, onclick: () => dialog.close() }, 'Close')))
  document.body.append(dialog)
  dialog.showModal()
}

/** The keys that every view has; whether this was one of them. */
export function pageKey({ key }) {
  if (key === '?') return showKeys(), true
  if (!usesShortcuts() || !['/', 'c'].includes(key)) return false
  const focus = () => document.getElementById(key === 'c' ? 'composer-text' : 'inbox-search')?.focus() ?? document.activeElement.matches('input, textarea')
  const session = document.activeElement.closest('[data-session]')?.dataset.session
  if (focus()) return true
  if (key === '/' || !session) return openPalette(), true
  location.hash = `#/s/${encodeURIComponent(session)}`
  // Its composer comes with it.
  addEventListener('hashchange', focus, { once: true })
  return true
}

// The palette.

const FOUND_MAX = 12

const go = (place) => () => (location.hash = place)

const COMMANDS = [
  { words: 'Inbox', kind: 'View', run: go('#/needs') },
  { words: 'Sessions', kind: 'View', run: go('#/sessions') },
  { words: 'Activity', kind: 'View', run: go('#/activity') },
  { words: 'Devices', kind: 'View', run: go('#/devices') },
  { words: 'Settings', kind: 'View', run: go('#/settings') },
  { words: 'Undo', kind: 'Command', run: undo },
  { words: 'Keyboard shortcuts', kind: 'Command', run: showKeys },
]

/** What fits a query, best first. */
function choices(query) {
  const wanted = query.trim().toLowerCase()
  const commands = COMMANDS.filter(({ words }) => words.toLowerCase().includes(wanted))
  const sessions = found(query).flatMap(({ session, isNamed, prompts }) => [
    ...(isNamed ? [{ words: session.name || session.id, kind: 'Session', run: go(`#/s/${encodeURIComponent(session.id)}`) }] : []),
    ...prompts.slice(0, 3).map((words) => ({ words, kind: `Prompt in ${session.name || session.id}`, run: go(`#/s/${encodeURIComponent(session.id)}`) })),
  ])
  const isKnown = [...model.sessions.values()].some(({ id, name }) => [id, name].some((each) => each?.toLowerCase() === wanted))
  const fresh = wanted && !isKnown ? [{ words: query.trim(), kind: 'New session', run: go(`#/s/${encodeURIComponent(query.trim())}`) }] : []
  // A view or command that begins so is meant before a prompt that has the letters somewhere.
  const begins = ({ words }) => words.toLowerCase().startsWith(wanted)
  return [...[...commands.filter(begins), ...sessions, ...commands.filter((each) => !begins(each))].slice(0, FOUND_MAX), ...fresh]
}

/** Opens it, unless it is open. */
export function openPalette() {
  if (document.querySelector('dialog.palette[open]')) return
  let shown = []
  let at = 0
  const mark = () => {
    for (const [index, option] of [...list.children].entries()) option.setAttribute('aria-selected', String(index === at))
    list.children[at]?.scrollIntoView({ block: 'nearest' })
    shown.length ? field.setAttribute('aria-activedescendant', `choice-${at}`) : field.removeAttribute('aria-activedescendant')
  }
  const take = (index) => {
    const choice = shown[index]
    if (!choice) return
    dialog.close()
    choice.run()
  }
  const fill = () => {
    shown = choices(field.value)
    at = 0
    list.replaceChildren(...shown.map(({ words, kind }, index) => h('li', {
      role: 'option', id: `choice-${index}`, onclick: () => take(index), onpointermove: () => at !== index && (at = index, mark()),
    }, h('span', { dir: 'auto' }, words), ' ', h('small', {}, kind))))
    none.hidden = shown.length > 0
    mark()
  }
  const field = h('input', {
    role: 'combobox', 'aria-label': 'Go to', 'aria-expanded': 'true', 'aria-controls': 'choices', autocomplete: 'off', spellcheck: false, dir: 'auto',
    placeholder: 'Session, prompt or command', oninput: fill, onkeydown: (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
      if (step && shown.length) at = (at + step + shown.length) % shown.length
      else if (event.key === 'Enter' && !event.isComposing) take(at)
      else return
      event.preventDefault()
      mark()
    },
  })
  const list = h('ul', { id: 'choices', role: 'listbox', 'aria-label': 'Choices' })
  const none = h('p.quiet', { hidden: true }, 'Nothing fits.')
  const dialog = h('dialog.palette', { 'aria-label': 'Go to', onclose: () => dialog.remove(), onclick: ({ target }) => target === dialog && dialog.close() },
    field, list, none)
  fill()
  document.body.append(dialog)
  dialog.showModal()
  field.focus()
}
