// One field that leads everywhere: sessions, prompts, views and commands (Ctrl+K).

import { model, undo } from './app.js'
import { h } from './dom.js'
import { showKeys } from './keys.js'
import { found } from './search.js'

const FOUND_MAX = 12

const go = (place) => () => (location.hash = place)

const COMMANDS = [
  { words: 'Inbox', kind: 'View', run: go('#/needs') },
  { words: 'Sessions', kind: 'View', run: go('#/sessions') },
  { words: 'Devices', kind: 'View', run: go('#/devices') },
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
  return [...(wanted ? [...sessions, ...commands] : [...commands, ...sessions]).slice(0, FOUND_MAX), ...fresh]
}

/** Opens it, unless it is open. */
export function openPalette() {
  if (document.querySelector('dialog.palette')) return
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
    type: 'text', role: 'combobox', 'aria-label': 'Go to', 'aria-expanded': 'true', 'aria-controls': 'choices', autocomplete: 'off', spellcheck: false, dir: 'auto',
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
