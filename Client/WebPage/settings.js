// The settings of this browser, and those of the machine.

import { model, source } from './app.js'
import { h, quotedOperand, show, text } from './dom.js'
import { canNotify, notifies, setNotices } from './installed.js'
import { useShortcuts, usesShortcuts } from './keys.js'
import { kept } from './storage.js'

const THEME = 'cospool.theme'

class SettingsView extends HTMLElement {
  open() {
    const theme = h('select', { id: 'theme', onchange: () => {
      kept(THEME, theme.value)
      document.documentElement.dataset.theme = theme.value
    } }, [['system', "The system's"], ['light', 'Light'], ['dark', 'Dark']].map(([value, words]) => h('option', { value }, words)))
    theme.value = document.documentElement.dataset.theme
    const check = (label, props) => h('label.check', {}, h('input', { type: 'checkbox', ...props }), label)
    this.trouble = h('p.note.error', { hidden: true, role: 'alert' })
    this.device = h('div', {}, h('p.quiet', {}, 'Reading the settings …'))
    this.replaceChildren(
      h('h1', {}, 'Settings'),
      h('section', {}, h('h2', {}, 'This browser'),
        h('p', {}, h('label', { htmlFor: 'theme' }, 'Colours '), theme),
        h('p', {}, check('Notices of what needs you, while the page is open in the background', { checked: notifies(), disabled: !canNotify(), onchange: (event) => this.#setNotices(event.target) })),
        canNotify() ? this.trouble : h('p.quiet', {}, 'This browser shows no notices for this page.'),
        h('p', {}, check('Single-key shortcuts', { checked: usesShortcuts(), onchange: ({ target }) => useShortcuts(target.checked) }))),
      h('section', {}, h('h2', {}, 'This device'), h('p.quiet', {}, 'You can change these only on the device: ', h('code', {}, 'cospool config set NAME VALUE')), this.device))
    this.update()
    this.#read()
  }

  /** The daemon is back. */
  back() { this.#read() }

  update() {
    document.title = 'Settings · Cospool'
    // Some of them come with an event; then others may be new as well.
    if (this.known && this.known !== model.settings) this.#read()
  }

  async #setNotices(box) {
    const isDone = await setNotices(box.checked)
    box.checked = notifies()
    show(this.trouble, !isDone)
    text(this.trouble, isDone ? '' : 'The browser does not allow notices for this page. Allow them in its site settings, then try again.')
  }

  async #read() {
    this.known = model.settings
    try {
      const { settings } = await source.list('settings')
      this.device.replaceChildren(h('dl.settings', {}, settings.map(({ name, value, origin, summary, overridden }) => h('div', {},
        h('dt', {}, h('code', {}, name)), h('dd', {}, h('b', { dir: 'auto' }, shown(value)), ' ', h('span.meta', {},
          `${summary}${origin === 'default' ? '' : ` · set by the ${origin}`}${overridden == null ? '' : `, over ${quotedOperand(shown(overridden))}`}`))))))
    } catch (error) {
      this.device.replaceChildren(h('p.quiet', {}, error.message))
    }
  }
}

const shown = (value) => (value == null || value === '' ? '–' : typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value))

customElements.define('settings-view', SettingsView)
