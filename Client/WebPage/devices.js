// This device and the others, what is unsent, where notifications go, and who may use this page.

import { failed, lock, model, perform, source } from './app.js'
import { ago, counted, h, refill, say, show, svg, text, toast } from './dom.js'
import { drawWeeks, readWeeks } from './weeks.js'

const ROLES = { host: 'that also runs agents', author: 'that queues and answers', viewer: 'that only reads' }

/** How long a link and a code are of use, in milliseconds; the daemon and the server count for themselves. */
const LINK_LASTS = 60_000
const CODE_LASTS = 600_000

export class DevicesView extends HTMLElement {
  #over; #codeOver

  open() {
    this.state = h('p')
    this.now = h('button', { type: 'button', onclick: () => perform('syncNow', {}, { done: 'Connecting' }) }, 'Connect now')
    this.toggle = h('button', { type: 'button', onclick: () => perform('sync', { enabled: model.sync.state === 'disabled' }) })
    this.others = h('ul.plain')
    this.adding = h('p.quiet', { hidden: true })
    this.newRole = h('select', { id: 'role' }, ...Object.entries(ROLES).map(([value, words]) => h('option', { value }, words)))
    this.letIn = h('div.buttons', { hidden: true }, h('label', { htmlFor: 'role' }, 'A new device '), this.newRole,
      h('button', { type: 'button', onclick: (event) => this.#letIn(event.currentTarget) }, 'Show a code for it'))
    this.code = h('div.invite', { hidden: true })
    this.pairing = h('p.quiet', { hidden: true }, 'To have the same queues on other devices, pair this device with a server. On the server, ',
      h('code', {}, 'cospool-server pair'), ' prints a code. Then type on this machine: ', h('code', {}, 'cospool pair SERVER CODE'))
    // The focus comes here where its button goes: the next one would take away another thing.
    this.push = h('ul.plain', { tabIndex: -1 })
    this.browsers = h('ul.plain', { tabIndex: -1 })
    this.invite = h('div.invite', { hidden: true })
    this.alone = h('p.quiet', { hidden: true }, 'The page is for this machine alone. How a phone gets it, over TLS: ', h('code', {}, 'cospool web --help'))
    this.inviting = h('button', { type: 'button', hidden: true, onclick: () => this.#invite() }, 'Let a phone or another browser in')
    this.weeks = h('div.weeks', {}, h('p.quiet', {}, 'Reading the history …'))
    this.replaceChildren(
      h('h1', {}, 'Devices'),
      h('section', {}, h('h2', {}, 'This device'), this.state, h('div.buttons', {}, this.now, this.toggle), this.pairing),
      h('section', {}, h('h2', {}, 'Other devices'), this.others, this.letIn, this.code, this.adding),
      h('section', {}, h('h2', {}, 'Notifications go to'), this.push),
      h('section', {}, h('h2', {}, 'Browsers that may use this page'), this.browsers,
        this.alone, h('div.buttons', {}, this.inviting), this.invite),
      h('section', {}, h('h2', {}, 'The last two weeks'), this.weeks))
    this.update()
    this.#read()
    readWeeks(source).then((weeks) => drawWeeks(this.weeks, weeks), (error) => text(this.weeks, error.message))
  }

  async #read() {
    // The server knows the targets.
    const isOnline = model.sync?.state === 'connected'
    const [web, push] = await Promise.allSettled([
      source.list('web'), isOnline ? source.list('push/targets') : Promise.reject(new Error('No connection to a server, which knows them.')),
    ])
    this.read = isOnline
    this.#showBrowsers(web)
    if (push.status === 'rejected') return this.push.replaceChildren(h('li.quiet', {}, push.reason.message))
    this.#showTargets(push.value.targets)
  }

  #showTargets(targets) {
    refill(this.push, (targets.length ? targets : [null]).map((target) => target
      ? h('li', {}, h('span', {}, `${target.kind} · ${target.address}${target.person ? ' · yours, while you look at no device' : ''}`),
        h('span.meta', {}, pushWords(target)),
        h('button.link', { type: 'button', 'aria-label': `Send a test to ${target.address}`, onclick: (event) => this.#test(target, event.currentTarget) }, 'Send a test'),
        h('button.link', { type: 'button', 'aria-label': `Remove ${target.address}`, onclick: () => this.#then('removePush', { id: target.id }, 'Removed') }, 'Remove'))
      : h('li.quiet', {}, 'Nowhere. Add an address: cospool push add --help')), this.push)
  }

  async #test(target, button) {
    if (button.getAttribute('aria-disabled') === 'true') return
    button.setAttribute('aria-disabled', 'true')
    try {
      const { targets } = await source.act('testPush', { id: target.id })
      toast(`${target.address} took the test`)
      this.#showTargets(targets)
    } catch (error) {
      failed(error)
    } finally {
      button.setAttribute('aria-disabled', 'false')
    }
  }

  #showBrowsers(web) {
    if (web.status === 'rejected') return this.browsers.replaceChildren(h('li.quiet', {}, web.reason.message))
    show(this.alone, !web.value.elsewhere)
    show(this.inviting, Boolean(web.value.elsewhere))
    refill(this.browsers, web.value.browsers.map((browser) => h('li', {},
      h('span', {}, browser.name, browser.current && h('b', {}, ' (this one)')),
      h('span.meta', {}, `let in ${ago(browser.createdAt)} · used ${ago(browser.lastUsedAt)} · until ${new Date(browser.expiresAt).toLocaleDateString()}${browser.letInBy ? ` · by ${browser.letInBy}` : ''}`),
      h('button.link', { type: 'button', 'aria-label': `Revoke ${browser.name}`, onclick: () => this.#revoke(browser) }, 'Revoke'))), this.browsers)
    if (!web.value.browsers.length) this.browsers.replaceChildren(h('li.quiet', {}, 'None. cospool web lets one in.'))
  }

  /** Shows a link that lets one browser in, until it is worth nothing any more. */
  async #invite() {
    try {
      const { elsewhere, code } = await source.act('ticket')
      this.invite.replaceChildren(
        code ? qrCode(code, 'QR code of the link') : h('p', {}, 'The link is too long for a QR code.'),
        h('p', {}, 'Scan it with the other device, or open this link there:'), h('p.meta', {}, elsewhere),
        h('p.quiet', {}, 'It lets one browser in, within a minute. Whom you let in goes when this browser is revoked.'))
      show(this.invite, true)
      say('A QR code is shown')
      clearTimeout(this.#over)
      this.#over = setTimeout(() => (show(this.invite, false), this.#read()), LINK_LASTS)
    } catch (error) {
      failed(error)
    }
  }

  /** Shows a code that lets one device in, until it is worth nothing any more. */
  async #letIn(button) {
    if (button.getAttribute('aria-disabled') === 'true') return
    button.setAttribute('aria-disabled', 'true')
    clearTimeout(this.#codeOver)
    const over = (words) => this.code.replaceChildren(h('p.quiet', {}, words))
    try {
      const { code, command, hint, qr } = await source.act('pairCode', { role: this.newRole.value })
      this.code.replaceChildren(
        qr ? qrCode(qr, 'QR code of the command') : h('p', {}, 'The command is too long for a QR code.'),
        h('p', {}, 'Type this on the new device; it works once, within ten minutes:'), h('p', {}, h('code', {}, command)),
        hint && h('p.note.error', {}, hint))
      say(`The code is ${code}`)
      this.#codeOver = setTimeout(() => over('The code has ended.'), CODE_LASTS)
    } catch (error) {
      if (error.status === 401) failed(error)
      else {
        over(error.message)
        say(error.message)
      }
    } finally {
      button.setAttribute('aria-disabled', 'false')
    }
    show(this.code, true)
  }

  disconnectedCallback() {
    clearTimeout(this.#over)
    clearTimeout(this.#codeOver)
  }

  async #revoke(browser) {
    const isDone = await this.#then('revoke', { id: browser.id }, `${browser.name} may not use the page any more`, { reads: !browser.current })
    if (isDone && browser.current) lock({ message: 'You revoked this browser.' })
  }

  /** Gives `true` back where it was done. */
  async #then(name, values, words, { reads = true } = {}) {
    try {
      await source.act(name, values)
      toast(words)
      if (reads) await this.#read()
      return true
    } catch (error) {
      failed(error)
    }
  }

  update() {
    document.title = 'Devices · Cospool'
    const sync = model.sync
    if (!sync) return
    text(this.state, `${sync.deviceName} · ${syncWords(sync)}${sync.server ? ` · ${sync.server}` : ''}`)
    const paired = sync.state !== 'notPaired'
    show(this.pairing, !paired)
    show(this.adding, paired)
    show(this.letIn, paired)
    if (!paired) show(this.code, false)
    text(this.adding, `Or, on the server, “cospool-server pair” prints a code; then on the device: cospool pair ${sync.server} CODE`)
    show(this.toggle, paired)
    show(this.now, paired && !['connected', 'disabled'].includes(sync.state))
    text(this.toggle, sync.state === 'disabled' ? 'Turn sync on' : 'Turn sync off')
    if (sync.state === 'connected' && this.read === false) {
      this.read = true
      this.#read()
    }
    const signature = JSON.stringify(sync.devices)
    if (this.others.signature === signature) return
    this.others.signature = signature
    this.others.replaceChildren(...(sync.devices.length ? sync.devices.map((device) => h('li', {},
      h('span', {}, h(`i.dot${device.connected ? '.on' : ''}`, { 'aria-hidden': 'true' }), device.name),
      h('span.meta', {}, `${device.connected ? 'connected' : 'not connected'} · ${device.seenEverything ? 'has everything' : 'does not have everything yet'}`)))
      : [h('li.quiet', {}, 'No other device was seen.')]))
  }
}

/** Dark on light whatever the colours of the page are, with the margin that readers need. */
function qrCode(rows, words) {
  const size = rows.length + 8
  const dark = rows.flatMap((row, y) => [...row].map((module, x) => (module === '1' ? `M${x + 4} ${y + 4}h1v1h-1z` : '')))
  const picture = svg('svg', { viewBox: `0 0 ${size} ${size}`, class: 'qr', role: 'img', 'aria-label': words })
  picture.append(svg('rect', { width: size, height: size, class: 'light' }), svg('path', { d: dark.join(''), class: 'dark' }))
  return picture
}

/** What is known of an address that notifications go to. */
function pushWords({ valid, reason, deliveredAt }) {
  const last = deliveredAt ? `last taken ${ago(deliveredAt)}` : 'nothing was taken there yet'
  return reason ? `${valid ? 'the latest failed' : 'not used any more'}: ${reason} · ${last}` : last
}

/** Where sync stands, in a few words. */
export function syncWords(sync) {
  const unsent = sync.outgoing ? `${counted(sync.outgoing, 'change')} on this device only` : null
  const state = {
    notPaired: 'on this device only', disabled: 'sync is off', connecting: 'connecting', connected: sync.synced ? 'in sync' : 'syncing',
    waiting: 'no connection', refused: `the server refused: ${sync.lastError ?? sync.refusalCode ?? ''}`,
  }[sync.state]
  return [state, sync.state === 'notPaired' ? null : unsent].filter(Boolean).join(' · ')
}

customElements.define('devices-view', DevicesView)
