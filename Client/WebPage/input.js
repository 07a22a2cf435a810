// What an agent wants to do, with every field of its tool's input: a change as a change, all else as it is.

import { diffView, isDiff, unified } from './diff.js'
import { h } from './dom.js'

const NAMED = /^("(?:[^"\\]|\\.)*"|[A-Za-z0-9_-]+):(?: (.*)|)$/

/** The fields of a text of lines `name: value`, and of indented lines behind `name:`; nothing if it is another text. */
function fieldsOf(text) {
  const fields = []
  for (const line of text.split('\n')) {
    const isMore = fields.length && fields.at(-1).lines && line.startsWith('  ')
    const [, name, value] = isMore ? [] : NAMED.exec(line) ?? []
    if (isMore) fields.at(-1).lines.push(line.slice(2))
    else if (name == null) return null
    else fields.push(value == null ? { name, lines: [] } : { name, text: value })
  }
  // Nothing of it is to be lost.
  const whole = fields.map(({ name, text, lines }) => (lines ? `${name}:${lines.map((line) => `\n  ${line}`).join('')}` : `${name}: ${text}`)).join('\n')
  return whole === text ? fields.map(({ name, text, lines }) => ({ name, text: text ?? lines.join('\n') })) : null
}

/** The names under which tools have the text that goes and the one that comes. */
const PAIRS = [['old_string', 'new_string'], ['oldString', 'newString'], ['old_str', 'new_str']]

/** A text in a box of its own; what may be too long to be shown at once is scrolled by keys, too. */
function box(text, label) {
  const isLong = text.length > 500 || text.split('\n').length > 12
  return h('pre', { dir: 'auto', ...(isLong ? { tabIndex: 0, role: 'group', 'aria-label': label } : {}) }, text)
}

const field = (name, ...nodes) => h('div.field', {}, h('p.meta', { dir: 'auto' }, name), ...nodes)

/** A field of one short line stands beside its name. */
const textField = (name, text) => (text.length > 80 || text.includes('\n') ? field(name, box(text, name)) : h('p.field', {}, h('span.meta', { dir: 'auto' }, name), ' ', h('code', { dir: 'auto' }, text)))

/** Edits that come as a list: each as a change, with whatever else it says. */
function edits(text) {
  let list
  try {
    list = JSON.parse(text)
  } catch {
    return null
  }
  const isEdit = (each) => each && PAIRS.some((pair) => pair.every((name) => typeof each[name] === 'string'))
  if (!Array.isArray(list) || !list.length || !list.every(isEdit)) return null
  return list.flatMap((each) => {
    const pair = PAIRS.find((names) => names.every((name) => typeof each[name] === 'string'))
    const rest = Object.entries(each).filter(([name]) => !pair.includes(name)).map(([name, value]) => h('p.meta', {}, `${name}: ${JSON.stringify(value)}`))
    return [diffView(unified(each[pair[0]], each[pair[1]])), ...rest]
  })
}

function fieldsView(fields) {
  const pair = PAIRS.find((names) => names.every((name) => fields.some((each) => each.name === name)))
  const [before, after] = (pair ?? []).map((name) => fields.find((each) => each.name === name))
  return fields.map((each) => {
    if (each === after) return null
    if (each === before) return field('change', before.text === after.text ? box(before.text, 'change') : diffView(unified(before.text, after.text)))
    const list = each.name === 'edits' && edits(each.text)
    if (list) return field('edits', ...list)
    return isDiff(each.text) ? field(each.name, diffView(each.text)) : textField(each.name, each.text)
  })
}

/** What is asked: all of a request's line and details, and nothing twice. */
export function inputView({ summary = '', details, isCut }) {
  const more = details && details !== summary ? details : ''
  const fields = more && fieldsOf(more)
  // The line is the beginning of the details, with what it leaves out in parentheses.
  const subject = summary.replace(/ \(and [^()]*\)$/, '')
  const isSaid = more && (fields ? fields[0].text : more).split('\n')[0] === subject
  const single = more && !fields && (isDiff(more) ? diffView(more) : box(more, 'What is asked'))
  return [
    summary && !isSaid && box(summary, 'What is asked'), ...(fields ? fieldsView(fields) : [single]),
    isCut && h('p.note', {}, 'Not all of it is here yet. You can allow it when all of it is shown.'),
  ].filter(Boolean)
}

/** What a tool does, as a person says it: the name of the tool stands beside it. */
export function deed(toolName) {
  const words = {
    bash: 'run a command', shell: 'run a command', exec: 'run a command', local_shell: 'run a command', edit: 'change a file', multiedit: 'change a file', patch: 'change files',
    apply_patch: 'change files', write: 'write a file', notebookedit: 'change a notebook', read: 'read a file', webfetch: 'read a web page', websearch: 'search the web',
    glob: 'look for files', grep: 'search in files', exitplanmode: 'start on its plan', task: 'start a subagent',
  }[toolName.toLowerCase()]
  return `wants to ${words ?? `use ${toolName}`}`
}
