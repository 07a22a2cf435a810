// Terminal output as nodes, with its colours and weights. Cursor movements are left out.

import { h } from './dom.js'

/** A control sequence, or an invisible character; for a sequence, its parameters and its kind. */
const SEQUENCE = /\x1b\[([\d:;<=>?]*)([ -/]*[@-~])|\x1b[\]P^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b-\x1f\x7f]/g

/** The text of a line before it was overwritten. */
const OVERWRITTEN = /[^\n]*\r(?!\n|$)/gm

/** The text only. */
export const bare = (text) => text.replace(OVERWRITTEN, '').replace(SEQUENCE, '')

/** Text as nodes. `style` is the style at its beginning, and afterwards at its end: an object that is empty at first. */
export function coloured(text, style = {}) {
  const nodes = []
  const shown = text.replace(OVERWRITTEN, '')
  let from = 0
  const add = (to) => {
    if (to === from) return
    const part = shown.slice(from, to)
    const names = Object.values(style).filter(Boolean)
    nodes.push(names.length ? h(`span.${names.join('.')}`, {}, part) : part)
  }
  for (const found of shown.matchAll(SEQUENCE)) {
    add(found.index)
    from = found.index + found[0].length
    if (found[2] === 'm') apply(found[1], style)
  }
  add(shown.length)
  return nodes
}

const WEIGHTS = { 1: 'bold', 2: 'dim', 3: 'italic', 4: 'under', 7: 'turned', 9: 'struck' }
/** The weights that a code ends. */
const ENDS = { 22: [1, 2], 23: [3], 24: [4], 27: [7], 29: [9] }

function apply(codes, style) {
  const all = codes.split(/[;:]/).map(Number)
  while (all.length) {
    const code = all.shift()
    if (code === 0) for (const name of Object.keys(style)) delete style[name]
    else if (WEIGHTS[code]) style[code] = WEIGHTS[code]
    else if (ENDS[code]) for (const each of ENDS[code]) delete style[each]
    else if (code === 38 || code === 48) style[code] = named(code, extended(all))
    else if (code === 39 || code === 49) delete style[code - 1]
    else if (code >= 30 && code < 38 || code >= 90 && code < 98) style[38] = named(38, code % 10 + (code < 90 ? 0 : 8))
    else if (code >= 40 && code < 48 || code >= 100 && code < 108) style[48] = named(48, code % 10 + (code < 100 ? 0 : 8))
  }
}

/** One of the eight colours, readable on this page's background; 8 is grey. */
function extended(all) {
  const kind = all.shift()
  if (kind === 2) return nearest(...all.splice(0, 3))
  const code = kind === 5 ? all.shift() : 7
  if (code < 16) return code
  const cube = code - 16
  return code >= 232 ? (code < 244 ? 8 : 7) : nearest(...[cube / 36, cube / 6, cube].map((each) => (Math.floor(each) % 6 ? Math.floor(each) % 6 * 40 + 55 : 0)))
}

function nearest(red, green, blue) {
  const [least, most] = [Math.min(red, green, blue), Math.max(red, green, blue)]
  if (most - least < 40) return most < 140 ? 8 : 7
  const middle = (least + most) / 2
  return (red > middle ? 1 : 0) + (green > middle ? 2 : 0) + (blue > middle ? 4 : 0)
}

/** The class of a colour. Black and white are the page's own. */
function named(code, colour) {
  if (code === 38 && colour === 8) return 'dim'
  return colour % 8 === 0 || colour % 8 === 7 ? null : `${code === 38 ? 'ink' : 'on'}-${colour % 8}`
}

/** A box that shows a growing text: only new text is drawn, and a selection survives. */
export class Screen {
  #box; #text = ''; #drawn = 0; #style = {}; #rest

  constructor(box) {
    this.#box = box
    this.clear()
  }

  clear() {
    this.#text = ''
    this.#drawn = 0
    this.#style = {}
    this.#rest = h('span')
    this.#box.replaceChildren(this.#rest)
  }

  /** Shows the whole text. The last line may still be overwritten, so it is drawn again with the text that follows. */
  show(text) {
    if (text === this.#text) return
    if (!text.startsWith(this.#text.slice(0, this.#drawn))) this.clear()
    this.#text = text
    const end = text.lastIndexOf('\n') + 1
    if (end > this.#drawn) {
      this.#rest.before(...coloured(text.slice(this.#drawn, end), this.#style))
      this.#drawn = end
    }
    this.#rest.replaceChildren(...coloured(text.slice(end), { ...this.#style }))
  }
}
