// This device and the others, unsent changes, where notifications go, and who may use this page.

import { failed, lock, model, offerUndo, perform, source } from './app.js'
import { ago, confirmed, counted, disable, h, quotedOperand, refill, say, show, svg, text, time, toast } from './dom.js'
import { form } from './sheet.js'

const ROLES = { host: 'runs agents', author: 'queues and answers', viewer: 'read only' }

/** How long a link and a code are valid, in milliseconds; the daemon and the server have their own clocks. */
const LINK_LASTS = 60_000
const CODE_LASTS = 600_000

class DevicesView extends HTMLElement {
  #over; #codeOver
  /** The devices that existed when a code was shown. */
  #before

  open() {
    this.state = h('p')
    this.now = h('button', { type: 'button', onclick: () => perform('syncNow', {}, { done: 'Connecting' }) }, 'Connect now')
    this.toggle = h('button', { type: 'button', onclick: () => this.#switchSync() })
    this.others = h('ul.plain')
    this.adding = h('p.quiet', { hidden: true })
    this.newRole = h('select', { id: 'role' }, ...Object.entries(ROLES).map(([value, words]) => h('option', { value }, words)))
    this.letIn = h('div.buttons', { hidden: true }, h('label', { htmlFor: 'role' }, 'Role of a new device '), this.newRole,
      h('button', { type: 'button', onclick: (event) => this.#letIn(event.currentTarget) }, 'Show a code for it'))
    this.code = h('div.invite', { hidden: true })
    this.pairing = h('p.quiet', { hidden: true }, 'To have the same queues on other devices, pair this device with a server. On the server, ',
      h('code', {}, 'cospool-server pair'), ' prints a code. Then type on this machine: ', h('code', {}, 'cospool pair SERVER CODE'))
    // The focus moves here when its button disappears: the next button would remove something else.
    this.push = h('ul.plain', { tabIndex: -1 })
    this.browsers = h('ul.plain', { tabIndex: -1 })
    this.invite = h('div.invite', { hidden: true })
    this.alone = h('div.quiet', { hidden: true }, h('p', {}, 'Only this machine can open the page. On a phone, with Tailscale:'), h('ol.steps', {},
      h('li', {}, 'Run on this machine: ', h('code', {}, `tailscale serve --bg ${location.port}`)),
      h('li', {}, 'Run, with the address that it printed: ', h('code', {}, 'cospool web --url ADDRESS')),
      h('li', {}, 'Come back to this view, and scan its QR code.')), h('p', {}, 'Other ways: ', h('code', {}, 'cospool web --help')))
    this.inviting = h('button', { type: 'button', hidden: true, onclick: () => this.#invite() }, 'Give a phone or another browser access')
    this.replaceChildren(
      h('h1', {}, 'Devices'),
      h('section', {}, h('h2', {}, 'This device'), this.state, h('div.buttons', {}, this.now, this.toggle), this.pairing,
        h('p.quiet', {}, 'To rename a device, run on it: ', h('code', {}, 'cospool config set deviceName NAME'))),
      h('section', {}, h('h2', {}, 'Other devices'), this.others, this.letIn, this.code, this.adding),
      h('section', {}, h('h2', {}, 'Notifications go to'), this.push),
      h('section', {}, h('h2', {}, 'Browsers with access to this page'), this.browsers,
        this.alone, h('div.buttons', {}, this.inviting), this.invite))
    this.update()
    this.#read()
  }

  /** The daemon is back: everything may have changed. */
  back() { this.#read() }

  async #switchSync() {
    if (model.sync.state === 'disabled') return perform('sync', { enabled: true })
    const isDone = await perform('sync', { enabled: false })
    if (isDone) offerUndo('Sync is off: no changes go to other devices or come from them', null, { back: () => perform('sync', { enabled: true }), backWords: 'Sync is on' })
  }

  async #read() {
    // The server knows the targets.
    const isOnline = model.sync?.state === 'connected'
    const [web, push] = await Promise.allSettled([
      source.list('web'), isOnline ? source.list('push/targets') : Promise.reject(new Error('No connection to the server, which knows them.')),
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
        h('button.link', { type: 'button', 'aria-label': `Remove ${target.address}`, onclick: () => this.#removePush(target) }, 'Remove'))
      : h('li.quiet', {}, 'Nowhere. Add an address: cospool push add --help')), this.push)
  }

  /** This device knows the address without its secrets, so a removed one cannot be restored from here. */
  async #removePush(target) {
    const isMeant = await confirmed('Remove this address?',
      `${target.address} gets no more notifications. To use it again, you have to enter the whole address: cospool push add --help`, 'Remove')
    if (isMeant) this.#then('removePush', { id: target.id }, 'Removed')
  }

  async #test(target, button) {
    if (button.getAttribute('aria-disabled') === 'true') return
    disable(button, true)
    try {
      const { targets } = await source.act('testPush', { id: target.id })
      toast(`Test delivered to ${target.address}`)
      this.#showTargets(targets)
    } catch (error) {
      failed(error)
    } finally {
      disable(button, false)
    }
  }

  #showBrowsers(web) {
    if (web.status === 'rejected') return this.browsers.replaceChildren(h('li.quiet', {}, web.reason.message))
    show(this.alone, !web.value.elsewhere)
    show(this.inviting, Boolean(web.value.elsewhere))
    refill(this.browsers, web.value.browsers.map((browser) => h('li', {},
      h('span', {}, browser.name, browser.current && h('b', {}, ' (this one)')),
      h('span.meta', {}, `let in ${ago(browser.createdAt)} · used ${ago(browser.lastUsedAt)} · until ${new Date(browser.expiresAt).toLocaleDateString()}${browser.letInBy ? ` · by ${browser.letInBy}` : ''}`),
      h('button.link', { type: 'button', 'aria-label': `Rename ${browser.name}`, onclick: () => this.#rename(browser) }, 'Rename'),
      h('button.link', { type: 'button', 'aria-label': `Revoke ${browser.name}`, onclick: () => this.#revoke(browser) }, 'Revoke'))), this.browsers)
    if (!web.value.browsers.length) this.browsers.replaceChildren(h('li.quiet', {}, 'None. To give one access: cospool web'))
  }

  /** Shows a link that gives one browser access, until it expires. */
  async #invite() {
    clearInterval(this.#over)
    try {
      const [{ browsers }, { elsewhere, code }] = await Promise.all([source.list('web'), source.act('ticket')])
      const left = h('p.quiet')
      this.invite.replaceChildren(
        code ? qrCode(code, 'QR code of the link') : h('p', {}, 'The link is too long for a QR code.'),
        h('p', {}, 'Scan it with the other device, or open this link there:'), h('p.meta', {}, elsewhere), left,
        h('p.quiet', {}, 'Works once. Revoking this browser also revokes the browsers to which it gave access.'))
      show(this.invite, true)
      say('A QR code is shown')
      const known = new Set(browsers.map(({ id }) => id))
      const end = performance.now() + LINK_LASTS
      const tick = () => {
        const seconds = Math.ceil((end - performance.now()) / 1000)
        text(left, `${seconds} s left`)
        if (seconds <= 0) this.#endInvite('The link has expired. Show another one.')
        else if (seconds % 2) this.#lookForGuest(known)
      }
      tick()
      this.#over = setInterval(tick, 1000)
    } catch (error) {
      failed(error)
    }
  }

  /** A browser used the shown link, which is invalid from then on. */
  async #lookForGuest(known) {
    const timer = this.#over
    const web = await source.list('web').catch(() => null)
    const guest = web?.browsers.find(({ id }) => !known.has(id))
    if (guest && timer === this.#over) this.#endInvite(`${guest.name} is signed in now.`)
  }

  #endInvite(words) {
    clearInterval(this.#over)
    this.#over = null
    this.invite.replaceChildren(h('p', {}, words))
    say(words)
    this.#read()
  }

  /** Shows a code that gives one device access, until it expires. */
  async #letIn(button) {
    if (button.getAttribute('aria-disabled') === 'true') return
    disable(button, true)
    clearTimeout(this.#codeOver)
    const over = (words) => this.#endCode(words)
    this.#before = null
    try {
      const { code, command, hint, qr } = await source.act('pairCode', { role: this.newRole.value })
      this.code.replaceChildren(
        qr ? qrCode(qr, 'QR code of the command') : h('p', {}, 'The command is too long for a QR code.'),
        h('p', {}, 'Type this on the new device; it works once, within ten minutes:'), h('p', {}, h('code', {}, command)),
        hint && h('p.note.error', {}, hint))
      this.#before = new Set(model.sync.devices.map(({ id }) => id))
      say(`The code is ${code}`)
      this.#codeOver = setTimeout(() => over('The code has expired.'), CODE_LASTS)
    } catch (error) {
      if (error.status === 401) failed(error)
      else {
        over(error.message)
        say(error.message)
      }
    } finally {
      disable(button, false)
    }
    show(this.code, true)
  }

  #endCode(words) {
    clearTimeout(this.#codeOver)
    this.#before = null
    this.code.replaceChildren(h('p.quiet', {}, words))
  }

  disconnectedCallback() {
    clearInterval(this.#over)
    clearTimeout(this.#codeOver)
  }

  async #rename({ id, name }) {
    const answer = await form('Rename the browser', [{ name: 'name', label: 'Name', value: name, required: true }], 'Rename')
    if (answer?.name) this.#then('renameBrowser', { id, name: answer.name }, `Renamed to ${answer.name}`)
  }

  async #revoke(browser) {
    const isMeant = browser.current
      ? await confirmed('Revoke this browser?', 'This immediately signs you out here, and the browsers to which it gave access. To come back: cospool web', 'Revoke this browser')
      : await confirmed(`Revoke ${browser.name}?`, 'This signs it out, and the browsers to which it gave access. To come back, it needs a new link.', 'Revoke')
    if (!isMeant) return
    const isDone = await this.#then('revoke', { id: browser.id }, `${browser.name} is signed out`, { reads: !browser.current })
    if (isDone && browser.current) lock({ message: 'You revoked this browser.' })
  }

  /** Returns `true` if it was done. */
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
    const isAway = model.link !== 'live'
    text(this.state, `${sync.deviceName} · ${isAway ? 'Cospool does not answer' : syncWords(sync)}${sync.server ? ` · ${sync.server}` : ''}`)
    const paired = sync.state !== 'notPaired'
    show(this.pairing, !paired)
    show(this.adding, paired)
    show(this.letIn, paired)
    if (!paired) show(this.code, false)
    text(this.adding, `Or, on the server, “cospool-server pair” prints a code; then on the device: cospool pair ${quotedOperand(sync.server ?? 'SERVER')} CODE`)
    show(this.toggle, paired)
    show(this.now, paired && !['connected', 'disabled'].includes(sync.state))
    text(this.toggle, sync.state === 'disabled' ? 'Turn sync on' : 'Turn sync off')
    if (sync.state !== 'connected') this.read = false
    else if (this.read === false) {
      this.read = true
      this.#read()
    }
    // A used code is invalid.
    const guest = this.#before && sync.devices.find(({ id }) => !this.#before.has(id))
    if (guest) {
      this.#endCode(`${guest.name} is paired now.`)
      say(`${guest.name} is paired now`)
    }
    // Data from a daemon that no longer answers are old.
    const isUnknown = isAway || sync.state !== 'connected'
    const signature = JSON.stringify([sync.devices, isAway, isUnknown])
    if (this.others.signature === signature) return
    this.others.signature = signature
    this.others.replaceChildren(...(sync.devices.length ? sync.devices.map((device) => h('li', {},
      h('span', {}, h(`i.dot${device.connected && !isUnknown ? '.on' : ''}`, { 'aria-hidden': 'true' }), device.name),
      h('span.meta', {}, isAway ? 'unknown at the moment' : isUnknown ? 'unknown without a connection to the server'
        : `${device.connected ? 'connected' : `not connected${device.awaySince ? ` since ${time(device.awaySince)}` : ''}`} · ${device.seenEverything ? 'has everything' : 'does not have everything yet'}`)))
      : [h('li.quiet', {}, 'There is no other device.')]))
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

/** What is known about an address that notifications go to. */
function pushWords({ valid, reason, deliveredAt }) {
  const last = deliveredAt ? `last delivered ${ago(deliveredAt)}` : 'nothing delivered yet'
  return reason ? `${valid ? 'the latest failed' : 'not used any more'}: ${reason} · ${last}` : last
}

/** The state of sync, in a few words. */
export function syncWords(sync) {
  const unsent = sync.outgoing ? `${counted(sync.outgoing, 'change')} on this device only` : null
  const state = {
    notPaired: 'on this device only', disabled: 'sync is off', connecting: 'connecting', connected: sync.synced ? 'in sync' : 'syncing',
    waiting: 'no connection', refused: `the server refused: ${sync.lastError ?? sync.refusalCode ?? ''}`,
  }[sync.state]
  return [state, sync.state === 'notPaired' ? null : unsent].filter(Boolean).join(' · ')
}

customElements.define('devices-view', DevicesView)
