// Making and updating elements. Texts are inserted as text, never as markup.

/** Makes an element: `h('button.main', {onclick: f, disabled: true}, 'Send')`. */
export function h(name, props, ...children) {
  const [tag, ...classes] = name.split('.')
  const element = document.createElement(tag)
  if (classes.length) element.className = classes.join(' ')
  for (const [key, value] of Object.entries(props ?? {})) set(element, key, value)
  element.append(...children.flat().filter((child) => child != null && child !== false))
  return element
}

function set(element, key, value) {
  if (value == null) return
  if (key.startsWith('on')) element.addEventListener(key.slice(2), value)
  else if (key in element && key !== 'list' && key !== 'role') element[key] = value
  else if (value === true) element.setAttribute(key, '')
  else if (value !== false) element.setAttribute(key, value)
}

/** The same for a picture. */
export function svg(name, values) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [key, value] of Object.entries(values)) element.setAttribute(key, value)
  return element
}

/** Sets the text if it differs, so that nothing is redrawn without need. */
export function text(element, value) {
  if (element.textContent !== value) element.textContent = value
}

/** Shows or hides. */
export function show(element, visible) {
  if (element.hidden === visible) element.hidden = !visible
}

/** Not `disabled`: the focus stays, and a press shows the reason. If it does not apply, its container may still be disabled. */
export function disable(button, isDisabled) {
  isDisabled ? button.setAttribute('aria-disabled', 'true') : button.removeAttribute('aria-disabled')
}

/**
 * Brings the children of a list in line with items: nodes are kept by key, made where they are new and
 * moved as little as possible. Many new ones come in parts, so that the page stays responsive.
 */
export function reconcile(list, items, { key, make, update }) {
  const nodes = (list.nodesByKey ??= new Map())
  const wanted = new Set(items.map(key))
  for (const [id, node] of nodes) {
    if (wanted.has(id)) continue
    // If a button removed its row, the focus moves to the next row; typed text goes nowhere else.
    const next = document.activeElement?.matches('button') && node.contains(document.activeElement)
      ? node.nextElementSibling ?? node.previousElementSibling : null
    node.remove()
    nodes.delete(id)
    // Not to a decision: a second press would trigger it.
    const first = next?.matches('request-card') ? next : next?.querySelector('button:not(:disabled, [hidden]), a')
    first?.focus({ preventScroll: true })
  }
  cancelAnimationFrame(list.rest ?? 0)
  let made = 0
  let place = list.firstElementChild
  for (const [index, item] of items.entries()) {
    let node = nodes.get(key(item))
    if (!node) {
      if (made === PART) {
        list.rest = requestAnimationFrame(() => reconcile(list, items, { key, make, update }))
        // Existing nodes stay in order behind those that are still to be made.
        for (let later = index; later < items.length; later += 1) {
          const known = nodes.get(key(items[later]))
          if (known) update(known, items[later], later)
        }
        return
      }
      made += 1
      node = make(item)
      nodes.set(key(item), node)
    }
    if (node === place) place = place.nextElementSibling
    else keepingFocus(node, () => list.insertBefore(node, place))
    update(node, item, index)
  }
}

const PART = 60

/** How long a moved element ignores presses, in milliseconds: the user meant what was there before. */
const SETTLES = 500

/**
 * Looks which of these stand elsewhere than they did, or are new, and has them take no press for a moment. Their
 * property `pressed` has the parts of them that take none, and say so to a screen reader. `scrolled` is how far what
 * they stand in is.
 */
export function settle(elements, scrolled = scrollY) {
  // All positions are read before anything changes.
  const tops = Array.from(elements, (each) => [each, each.offsetTop])
  for (const [each, top] of tops) {
    if (each.shownTop === top) continue
    each.shownTop = top
    // Elements far from the window cannot be pressed.
    if (Math.abs(top - scrolled) > 2 * innerHeight) continue
    each.settlesUntil = performance.now() + SETTLES
    for (const part of each.pressed ?? []) part.setAttribute('aria-disabled', 'true')
    clearTimeout(each.settling)
    each.settling = setTimeout(() => {
      for (const part of each.pressed ?? []) part.removeAttribute('aria-disabled')
    }, SETTLES)
  }
}

/** Ignores pointer presses on elements that have just moved under the pointer. Keys go to the focused element, wherever it moves. */
export function guardPresses(view) {
  view.addEventListener('click', (event) => {
    const part = event.target.closest('request-card, queue-row, inbox-line')
    // A press by a key or by a program has no position.
    if (!event.detail || !part || !(part.settlesUntil > performance.now())) return
    if (!part.pressed?.some((each) => each.contains(event.target))) return
    event.preventDefault()
    event.stopPropagation()
    toast('That has just moved, so nothing was done. Press again.')
  }, true)
}

/** Moving a node removes the focus from it. */
function keepingFocus(node, move) {
  const focused = node.contains(document.activeElement) ? document.activeElement : null
  const selection = focused && 'selectionStart' in focused && [focused.selectionStart, focused.selectionEnd]
  move()
  if (!focused || document.activeElement === focused) return
  focused.focus({ preventScroll: true })
  if (selection && selection[0] != null) focused.setSelectionRange(...selection)
}

/**
 * Fills a box anew. Where the focus was in it, it goes to the button of the same name, and where there is none
 * any more, to `other`.
 */
export function refill(box, children, other) {
  const focused = box.contains(document.activeElement) ? nameOf(document.activeElement) : null
  box.replaceChildren(...children.filter(Boolean))
  if (focused == null) return
  const same = [...box.querySelectorAll('button')].find((each) => nameOf(each) === focused)
  const next = same ?? other
  next?.focus({ preventScroll: true })
}

function nameOf(element) { return element.getAttribute('aria-label') ?? element.textContent }

/** Announces something to people who do not see the page. */
export function say(words) {
  const live = document.getElementById('live')
  live.textContent = ''
  // A screen reader announces a change only if the text was different before.
  setTimeout(() => (live.textContent = words), 30)
}

/** A notice at the lower edge, optionally with a button; it disappears by itself, but not under the pointer. */
export function toast(words, action) {
  const toast = document.getElementById('toast')
  const button = action && h('button', {
    type: 'button', onfocus: ({ relatedTarget }) => (toast.from = relatedTarget ?? toast.from), onclick: () => {
      toast.hidden = true
      toast.from?.focus({ preventScroll: true })
      action.run()
    },
  }, action.label)
  // The focus from before an earlier notice is outdated.
  if (!toast.contains(document.activeElement)) toast.from = null
  // The focus returns to where it was, unless the next notice offers the same.
  refill(toast, [h('span', {}, words), button], toast.from)
  toast.hidden = false
  toast.classList.remove('going')
  clearTimeout(toast.timer)
  const go = () => {
    if (toast.matches(':hover, :focus-within')) return (toast.timer = setTimeout(go, 2000))
    // A finger may already be moving: it presses the notice that it saw, and nothing behind it.
    toast.classList.add('going')
    toast.timer = setTimeout(() => (toast.hidden = true), SETTLES)
  }
  toast.timer = setTimeout(go, 10_000)
  say(words)
}

/** Asks for confirmation before something that cannot be undone. The focus returns to where it was. */
export function confirmed(title, words, label) {
  return new Promise((resolve) => {
    const end = (value) => () => dialog.close(value)
    const dialog = h('dialog', { 'aria-labelledby': 'dialog-title', onclose: () => {
      dialog.remove()
      resolve(dialog.returnValue === 'yes')
    } }, h('h2', { id: 'dialog-title' }, title), h('p', {}, words), h('div.buttons', {},
      h('button', { type: 'button', autofocus: true, onclick: end('no') }, 'Cancel'),
      h('button.danger', { type: 'button', onclick: end('yes') }, label)))
    document.body.append(dialog)
    dialog.showModal()
  })
}

/** `3 min`: how long ago, in one word or two. */
export function age(time, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - new Date(time).getTime()) / 1000))
  if (seconds < 5) return 'now'
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

/** `3 min ago`, or `just now`. */
export function ago(time) {
  const words = age(time)
  return words === 'now' ? 'just now' : `${words} ago`
}

/** `16:42`, with its date if it is not today. */
export function time(milliseconds) {
  const at = new Date(milliseconds)
  const clock = at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
  return at.toDateString() === new Date().toDateString() ? clock : `${at.toLocaleDateString()}, ${clock}`
}

/** `8 min`, `1 h 12 min`. */
export function lasted(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000))
  const minutes = Math.round(seconds / 60)
  return seconds < 60 ? `${seconds} s` : minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** `1 file`, `2 files`. */
export function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Bytes in readable units. */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`
  return bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`
}

/** A text as the first operand of a shown command: quoted for a shell, and not an option. */
export function quotedOperand(text) {
  const word = /^[\w/.:\u0080-\uffff-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
  return text.startsWith('-') ? `-- ${word}` : word
}
