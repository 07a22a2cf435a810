// A change as lines that came and lines that went. Nodes only: a text never becomes markup.

import { counted, h } from './dom.js'

/** How many lines of a change are shown before somebody asks for all of them. */
const LINES_MAX = 40
/** How many unchanged lines stand around a change. */
const CONTEXT = 3
/** Pairs of lines that are compared at most; of more, all that differs counts as replaced. */
const PAIRS_MAX = 250_000

/** Whether a text is a unified diff. */
export const isDiff = (text) => /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/m.test(text) || /^(--- .+\n\+\+\+ .+|\*\*\* Begin Patch)$/m.test(text)

/** A unified diff in colours, with how many lines came and went; a long one is folded. */
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

/** What makes one text of another, as a unified diff; empty if they are equal. */
export function unified(before, after) {
  if (before === after) return ''
  const [old, fresh] = [before, after].map((text) => (text === '' ? [] : text.replace(/\n$/, '').split('\n')))
  const steps = compared(old, fresh)
  // Only line breaks at the end differ.
  if (steps.every(([sign]) => sign === ' ')) return `@@ -${old.length},1 +${fresh.length},1 @@\n-${old.at(-1) ?? ''}\n+${fresh.at(-1) ?? ''}\n\\ The end of the text differs.`
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
