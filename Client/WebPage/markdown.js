// Markdown as agents write it. Only nodes: a text never becomes markup, and unknown syntax stays unchanged.

import { diffView } from './diff.js'
import { h } from './dom.js'

const FENCE = /^ {0,3}(```+|~~~+)\s*([\w+-]*)/
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/
const ROW = /^\s*\|.*\|\s*$/

/** A text as paragraphs, lists, tables, quotes and code. Line breaks stay. */
export function markdown(text) {
  return h('div.md', {}, blocks(text.replaceAll('\r\n', '\n').split('\n')))
}

/** Signs of Markdown that logs rarely have: a fence, a heading below the first level, bold text, or a table. */
const SIGNS = /^ {0,3}(?:```|~~~|#{2,6} )|\*\*[^\s*][^*\n]*\*\*|^\s*\|.*\|\s*\n\s*\|[\s|:-]+\|\s*$/m

/** Whether a text is probably Markdown; text that a terminal coloured is not. */
export const isMarkdown = (text) => SIGNS.test(text) && !text.includes('\u001b')

/** The last lines of a text, and those before them in the same block of code. */
export function lastLines(lines, count) {
  const start = Math.max(0, lines.length - count)
  const fences = lines.flatMap((line, at) => (FENCE.test(line) && at < start ? [at] : []))
  return lines.slice(fences.length % 2 ? fences.at(-1) : start)
}

function blocks(lines) {
  const nodes = []
  let at = 0
  /** Reads lines as long as they belong to the block. */
  const take = (isPart) => {
    const begin = at
    while (at < lines.length && isPart(lines[at])) at += 1
    return lines.slice(begin, at)
  }
  while (at < lines.length) {
    const line = lines[at]
    const fence = FENCE.exec(line)
    if (!line.trim()) at += 1
    else if (fence) {
      at += 1
      const body = take((each) => !each.trim().startsWith(fence[1])).join('\n')
      at += 1
      nodes.push(fence[2] === 'diff' ? diffView(body) : h('pre', { dir: 'ltr', tabIndex: 0, role: 'group', 'aria-label': 'Code' }, h('code', {}, body)))
    } else if (RULE.test(line)) {
      at += 1
      nodes.push(h('hr'))
    } else if (/^ {0,3}#{1,6} /.test(line)) {
      at += 1
      // Not a heading: it would break the order of the page's headings.
      nodes.push(h('p.heading', { dir: 'auto' }, inline(line.replace(/^ *#+ +/, '').replace(/ +#+ *$/, ''))))
    } else if (/^ {0,3}>/.test(line)) {
      nodes.push(h('blockquote', {}, blocks(take((each) => /^ {0,3}>/.test(each)).map((each) => each.replace(/^ *> ?/, '')))))
    } else if (ITEM.test(line)) {
      const indent = ITEM.exec(line)[1].length
      nodes.push(list(take((each) => ITEM.test(each) && ITEM.exec(each)[1].length >= indent || /^\s+\S/.test(each))))
    } else if (ROW.test(line) && /^[\s|:-]+$/.test(lines[at + 1] ?? '')) nodes.push(table(take((each) => ROW.test(each))))
    else {
      const begins = (each) => !each.trim() || FENCE.test(each) || ITEM.test(each) || RULE.test(each) || /^ {0,3}(#{1,6} |>)/.test(each)
      at += 1
      nodes.push(h('p', { dir: 'auto' }, inline([line, ...take((each) => !begins(each))].join('\n'))))
    }
  }
  return nodes
}

function list(lines) {
  const [, indent, mark] = ITEM.exec(lines[0])
  const items = []
  for (const line of lines) {
    const item = ITEM.exec(line)
    if (item && item[1].length <= indent.length) items.push([item[3]])
    else items.at(-1).push(line.slice(Math.min(/^\s*/.exec(line)[0].length, indent.length + 2)))
  }
  const isOrdered = /\d/.test(mark)
  return h(isOrdered ? 'ol' : 'ul', { dir: 'auto', ...(isOrdered && { start: parseInt(mark, 10) }) },
    items.map(([first, ...rest]) => h('li', {}, inline(first), blocks(rest))))
}

function table([head, , ...rows]) {
  const cells = (row) => row.trim().slice(1, -1).split('|').map((each) => each.trim())
  const line = (name, row) => h('tr', {}, cells(row).map((each) => h(name, {}, inline(each))))
  return h('div.scrolls', { tabIndex: 0, role: 'group', 'aria-label': 'Table' },
    h('table', {}, h('thead', {}, line('th', head)), h('tbody', {}, rows.map((row) => line('td', row)))))
}

const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|(?<![\w*])\*([^*\s](?:[^*]*[^*\s])?)\*(?!\w)|(?<!\w)_([^_\s](?:[^_]*[^_\s])?)_(?!\w)|~~(.+?)~~|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)|(https?:\/\/[^\s<>()]*[^\s<>().,;:!?'"])/gs

function inline(text) {
  const nodes = []
  let end = 0
  for (const match of text.matchAll(INLINE)) {
    const [whole, , code, bold, star, score, struck, label, address, bare] = match
    nodes.push(text.slice(end, match.index))
    if (code != null) nodes.push(h('code', {}, code))
    else if (bold != null) nodes.push(h('strong', {}, inline(bold)))
    else if (star ?? score) nodes.push(h('em', {}, inline(star ?? score)))
    else if (struck != null) nodes.push(h('s', {}, inline(struck)))
    else nodes.push(h('a', { href: address ?? bare, target: '_blank', rel: 'noreferrer noopener', title: address ?? null }, label ?? bare))
    end = match.index + whole.length
  }
  nodes.push(text.slice(end))
  return nodes.filter((each) => each !== '')
}
