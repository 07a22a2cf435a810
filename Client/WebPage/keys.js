// Keys: one stop of Tab for a list of many rows, the keys of the whole page, and what they are.

import { h } from './dom.js'
import { kept } from './storage.js'

const SHORTCUTS = 'cospool.shortcuts'
/** Whether a letter alone does something in this browser. */
export const usesShortcuts = () => localStorage.getItem(SHORTCUTS) !== 'off'

/** The switch for that: whoever dictates presses letters, too. */
export function shortcutSwitch() {
  return h('input', { type: 'checkbox', checked: usesShortcuts(), onchange: ({ target }) => kept(SHORTCUTS, target.checked ? 'on' : 'off') })
}

const FOCUSABLE = 'a[href], button, input, select, textarea, summary, [tabindex="0"], [data-roved]'

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
      const before = each.dataset.roved
      if (isOn && before != null) {
        before ? (each.tabIndex = before) : each.removeAttribute('tabindex')
        delete each.dataset.roved
      } else if (!isOn && before == null && each.tabIndex >= 0) {
        each.dataset.roved = each.getAttribute('tabindex') ?? ''
        each.tabIndex = -1
      }
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

const KEYS = [
  ['Everywhere', [['Ctrl K', 'Go to a session, a view or a command'], ['c', 'Write a prompt'], ['/', 'Search'], ['Ctrl Z', 'Undo what you did last in this page'], ['?', 'Show these keys']]],
  ['Inbox', [['j  k', 'Next, previous'], ['a  d', 'Allow, deny'], ['r  s', 'Retry, skip what failed; s snoozes a request'], ['↑  ↓', 'Next or previous line']]],
  ['Queue', [['↑  ↓', 'On a position: move the message'], ['Home  End', 'On a position: move it to the top, to the end'], ['Ctrl Enter', 'Queue or save the text']]],
]

/** Shows the keys. */
export function showKeys() {
  const part = ([title, keys]) => h('section', {}, h('h3', {}, title), h('dl', {}, keys.flatMap(([names, words]) => [
    h('dt', {}, names.split('  ').map((name) => h('kbd', {}, name))), h('dd', {}, words)])))
  const dialog = h('dialog.help', { 'aria-labelledby': 'help-title', onclose: () => dialog.remove() },
    h('h2', { id: 'help-title' }, 'Keyboard'), h('div.parts', {}, KEYS.map(part)),
    h('p', {}, h('label.check', {}, shortcutSwitch(), 'Use single letters as shortcuts')),
    h('div.buttons', {}, h('button', { type: 'button', autofocus: true, onclick: () => dialog.close() }, 'Close')))
  document.body.append(dialog)
  dialog.showModal()
}

/** The keys that every view has; whether this was one of them. */
export function pageKey(event, openPalette) {
  if (event.key === '?') return showKeys(), true
  if (!usesShortcuts()) return false
  if (event.key === '/') {
    const field = document.getElementById('inbox-search')
    if (field) field.focus()
    else openPalette()
    return true
  }
  if (event.key !== 'c') return false
  const field = document.getElementById('composer-text')
  const session = document.activeElement?.closest('[data-session]')?.dataset.session
  if (field) field.focus()
  else if (session) location.hash = `#/s/${encodeURIComponent(session)}`
  else openPalette()
  // Its composer comes with it.
  if (!field && session) setTimeout(() => document.getElementById('composer-text')?.focus(), 0)
  return true
}
