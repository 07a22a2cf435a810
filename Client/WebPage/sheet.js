// Panels above the page: forms of a few fields, and the editor of a long text. On a phone they fill the screen.

import { h } from './dom.js'

/** Shows something in a panel, and calls `close` when its user presses Escape or makes the phone's gesture. */
export function panel(label, content, close) {
  const dialog = h('dialog.sheet', { 'aria-label': label, oncancel: (event) => {
    event.preventDefault()
    close()
  } }, content)
  document.body.append(dialog)
  dialog.showModal()
  return dialog
}

/**
 * Asks for a few values: each field is `{name, label, value, hint}` with `options` to choose from, or with
 * `known` values to complete. Resolves to the values by name, or to null after a cancel.
 */
export function form(title, fields, label) {
  return new Promise((resolve) => {
    const controls = new Map(fields.map((field) => [field.name, control(field)]))
    const dialog = h('dialog.form', { 'aria-labelledby': 'form-title', onclose: () => {
      dialog.remove()
      resolve(dialog.returnValue === 'yes' ? Object.fromEntries([...controls].map(([name, { value }]) => [name, value.trim()])) : null)
    } }, h('form', { method: 'dialog' }, h('h2', { id: 'form-title' }, title),
      ...fields.map(({ name, label: words, hint, known }) => h('p.field', {}, h('label', { htmlFor: `form-${name}` }, words), controls.get(name),
        known && h('datalist', { id: `known-${name}` }, known.map((value) => h('option', { value }))), hint && h('span.meta', { id: `hint-${name}` }, hint))),
      h('div.buttons', {}, h('button', { type: 'button', onclick: () => dialog.close('no') }, 'Cancel'),
        h('button.main', { value: 'yes' }, label))))
    document.body.append(dialog)
    dialog.showModal()
    const [first] = controls.values()
    first.focus()
    first.select?.()
  })
}

function control({ name, label, value = '', options, known, hint, required, ...more }) {
  const about = hint ? { 'aria-describedby': `hint-${name}` } : {}
  if (options) {
    const select = h('select', { id: `form-${name}`, ...about }, options.map((each) => h('option', { value: each.value }, each.label)))
    select.value = value
    return select
  }
  const input = h('input', { id: `form-${name}`, value, required, dir: 'auto', autocomplete: 'off', ...about, ...more })
  if (known) input.setAttribute('list', `known-${name}`)
  return input
}
