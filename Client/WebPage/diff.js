// Changes as removed and added lines, and the input of tools with all fields. Only nodes: a text never becomes markup.

import { counted, h } from './dom.js'

/** A longer change is folded. */
const LINES_MAX = 40
const CONTEXT = 3
/** With more pairs of lines than this, everything that differs counts as replaced. */
const PAIRS_MAX = 250_000

/** Whether a text is a unified diff. */
const isDiff = (text) => /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/m.test(text) || /^(--- .+\n\+\+\+ .+|\*\*\* Begin Patch)$/m.test(text)

/** A unified diff in colours, with the numbers of removed and added lines; a long one is folded. */
export function diffView(text) {
  let inHunk = false
  const lines = text.replace(/\n$/, '').split('\n').map((line) => {
    if (/^(diff |index |similarity |rename |new file |deleted file )/.test(line)) inHunk = false
    const isName = !inHunk && /^(---|\+\+\+) /.test(line) || line.startsWith('*** ')
    if (line.startsWith('@@')) inHunk = true
    const kind = isName || line.startsWith('@@') ? 'hunk' : { '+': 'add', '-': 'del' }[line[0]] ?? ''
    return { kind, line }
  })
  const count = (kind) => lines.filter((each) => each.kind === kind).length
  const words = `+${count('add')} −${count('del')}`
  const shown = (some) => some.map(({ kind, line }) => h(kind ? `span.${kind}` : 'span', {}, `${line || ' '}\n`))
  const code = h('code', { dir: 'ltr' })
  const isLong = lines.length > LINES_MAX
  code.append(...shown(isLong ? lines.slice(0, LINES_MAX) : lines))
  const more = isLong && h('button.link', { type: 'button', onclick: () => {
    const hadFocus = document.activeElement === more
    code.append(...shown(lines.slice(LINES_MAX)))
    more.remove()
    if (hadFocus) body.focus({ preventScroll: true })
  } }, `Show all ${counted(lines.length, 'line')}`)
  const body = h('pre', { tabIndex: 0, role: 'group', 'aria-label': `Change, ${words}` }, code)
  return h('div.diff', {}, h('p.meta.counts', {}, h('b.add', {}, `+${count('add')}`), ' ', h('b.del', {}, `−${count('del')}`)), body, more)
}

/** The unified diff from one text to another; empty if they are equal. */
export function unified(before, after) {
  const steps = compared(...[before, after].map((text) => (text ? text.split('\n') : [])))
  const near = steps.map((_, at) => steps.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(([sign]) => sign !== ' '))
  const hunks = []
  let [from, to] = [1, 1]
  for (const [at, [sign, line]] of steps.entries()) {
    if (near[at]) {
      if (!near[at - 1]) hunks.push({ from, to, lines: [] })
      hunks.at(-1).lines.push(sign + line)
    }
    if (sign !== '+') from += 1
    if (sign !== '-') to += 1
  }
  const size = (lines, other) => lines.filter((line) => line[0] !== other).length
  return hunks.map((hunk) => [`@@ -${hunk.from},${size(hunk.lines, '+')} +${hunk.to},${size(hunk.lines, '-')} @@`, ...hunk.lines].join('\n')).join('\n')
}

/** Each line with its sign, in order. */
function compared(old, fresh) {
  let start = 0
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1
  let end = 0
  while (end < Math.min(old.length, fresh.length) - start && old.at(-1 - end) === fresh.at(-1 - end)) end += 1
  const [rows, columns] = [old, fresh].map((lines) => lines.slice(start, lines.length - end))
  const same = (lines) => lines.map((line) => [' ', line])
  const middle = rows.length * columns.length > PAIRS_MAX
    ? [...rows.map((line) => ['-', line]), ...columns.map((line) => ['+', line])] : steps(rows, columns)
  return [...same(old.slice(0, start)), ...middle, ...same(old.slice(old.length - end))]
}

function steps(rows, columns) {
  const width = columns.length + 1
  const longest = new Uint32Array((rows.length + 1) * width)
  for (let row = rows.length - 1; row >= 0; row -= 1) {
    for (let column = columns.length - 1; column >= 0; column -= 1) {
      const at = row * width + column
      longest[at] = rows[row] === columns[column] ? longest[at + width + 1] + 1 : Math.max(longest[at + width], longest[at + 1])
    }
  }
  const result = []
  let [row, column] = [0, 0]
  while (row < rows.length || column < columns.length) {
    const at = row * width + column
    if (row < rows.length && column < columns.length && rows[row] === columns[column]) {
      result.push([' ', rows[row]])
      row += 1
      column += 1
    } else if (column === columns.length || row < rows.length && longest[at + width] >= longest[at + 1]) {
      result.push(['-', rows[row]])
      row += 1
    } else {
      result.push(['+', columns[column]])
      column += 1
    }
  }
  return result
}

// The input of tools.

const NAMED = /^("(?:[^"\\]|\\.)*"|[A-Za-z0-9_-]+):(?: (.*)|)$/

/** The fields of lines `name: value`, and of indented lines behind `name:`; null for any other text. */
function fieldsOf(text) {
  const fields = []
  for (const line of text.split('\n')) {
    const isMore = fields.length && fields.at(-1).lines && line.startsWith('  ')
    const [, name, value] = isMore ? [] : NAMED.exec(line) ?? []
    if (isMore) fields.at(-1).lines.push(line.slice(2))
    else if (name == null) return null
    else fields.push(value == null ? { name, lines: [] } : { name, text: value })
  }
  // No part of it may be lost.
  const whole = fields.map(({ name, text, lines }) => (lines ? `${name}:${lines.map((line) => `\n  ${line}`).join('')}` : `${name}: ${text}`)).join('\n')
  return whole === text ? fields.map(({ name, text, lines }) => ({ name, text: text ?? lines.join('\n') })) : null
}

/** The names that tools use for the old text and the new one. */
const PAIRS = [['old_string', 'new_string'], ['oldString', 'newString'], ['old_str', 'new_str']]

/** A text in a box; a long one can be scrolled with keys, too. */
function box(text, label) {
  const isLong = text.length > 500 || text.split('\n').length > 12
  return h('pre', { dir: 'auto', ...(isLong ? { tabIndex: 0, role: 'group', 'aria-label': label } : {}) }, text)
}

const field = (name, ...nodes) => h('div.field', {}, h('p.meta', { dir: 'auto' }, name), ...nodes)

/** A field of one short line is beside its name. */
const textField = (name, text) => (text.length > 80 || text.includes('\n') ? field(name, box(text, name)) : h('p.field', {}, h('span.meta', { dir: 'auto' }, name), ' ', h('code', { dir: 'auto' }, text)))

function fieldsView(fields) {
  const pair = PAIRS.find((names) => names.every((name) => fields.some((each) => each.name === name)))
  const [before, after] = (pair ?? []).map((name) => fields.find((each) => each.name === name))
  return fields.map((each) => {
    if (each === after) return null
    if (each === before) return field('change', before.text === after.text ? box(before.text, 'change') : diffView(unified(before.text, after.text)))
    return isDiff(each.text) ? field(each.name, diffView(each.text)) : textField(each.name, each.text)
  })
}

/** All of a request's line and details, without repetitions. */
export function inputView({ summary = '', details, isCut }) {
  const more = details && details !== summary ? details : ''
  const fields = more && fieldsOf(more)
  // The line is the beginning of the details; what it omits is in parentheses.
  const subject = summary.replace(/ \(and [^()]*\)$/, '')
  const isSaid = more && (fields ? fields[0].text : more).split('\n')[0] === subject
  const single = more && !fields && (isDiff(more) ? diffView(more) : box(more, 'The request'))
  return [
    summary && !isSaid && box(summary, 'The request'), ...(fields ? fieldsView(fields) : [single]),
    isCut && h('p.note', {}, 'Not all of it is here yet. You can allow it when all of it is shown.'),
  ].filter(Boolean)
}

const DEEDS = {
  bash: 'run a command', shell: 'run a command', exec: 'run a command', edit: 'change a file', apply_patch: 'change files', write: 'write a file', read: 'read a file',
  webfetch: 'read a web page', websearch: 'search the web', exitplanmode: 'start on its plan',
}

/** What a tool does, in plain words. */
export const deed = (toolName) => `wants to ${DEEDS[toolName.toLowerCase()] ?? `use ${toolName}`}`
