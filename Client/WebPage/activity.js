// Two weeks of work: runs, failures, and how long agents waited for a person, by day and by session.

import { nameOf, source } from './app.js'
import { h, lasted } from './dom.js'

const DAYS = 14
const PAGES_MAX = 10
const ENDS = { succeeded: 'runs', failed: 'failures', interrupted: 'failures', unknown: 'failures' }

class ActivityView extends HTMLElement {
  open() {
    this.content = h('div', {}, h('p.quiet', {}, 'Reading the history …'))
    this.replaceChildren(h('h1', {}, 'Activity'), this.content)
    this.update()
    this.#read()
  }

  /** The daemon is back. */
  back() { this.#read() }

  update() { document.title = 'Activity · Cospool' }

  async #read() {
    try {
      const { days, sessions } = await readWeeks()
      if (this.isConnected) this.content.replaceChildren(...drawn(days, sessions))
    } catch (error) {
      this.content.replaceChildren(h('p.quiet', {}, error.message))
    }
  }
}

customElements.define('activity-view', ActivityView)

const none = () => ({ runs: 0, failures: 0, waited: 0 })

async function readWeeks() {
  const days = Array.from({ length: DAYS }, (_, index) => {
    const date = new Date()
    date.setHours(0, 0, 0, 0)
    date.setDate(date.getDate() - (DAYS - 1 - index))
    return { date, ...none() }
  })
  const entries = []
  const query = { limit: 1000 }
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const answer = await source.list('history', query)
    entries.push(...answer.entries)
    query.before = answer.next
    if (!answer.next || answer.entries.some((entry) => entry.at && new Date(entry.at) < days[0].date)) break
  }
  const sessions = new Map()
  const waits = new Map()
  const add = (name, at, id, amount = 1) => {
    const day = days.findLast((each) => each.date <= at)
    if (!day) return
    if (!sessions.has(id)) sessions.set(id, none())
    for (const each of [day, sessions.get(id)]) each[name] += amount
  }
  const waited = (id, end) => {
    if (waits.has(id)) add('waited', end, id, end - Math.max(waits.get(id), days[0].date))
    waits.delete(id)
  }
  for (const entry of entries.reverse()) {
    if (!entry.at) continue
    const at = new Date(entry.at)
    if (ENDS[entry.action]) add(ENDS[entry.action], at, entry.session)
    if (entry.action !== 'task') continue
    waited(entry.session, at)
    if (entry.what.startsWith('task: awaiting')) waits.set(entry.session, at)
  }
  // Some are still waiting.
  for (const id of [...waits.keys()]) waited(id, new Date())
  return { days, sessions }
}

function drawn(days, sessions) {
  const all = days.reduce((sum, day) => ({ runs: sum.runs + day.runs, failures: sum.failures + day.failures, waited: sum.waited + day.waited }), none())
  const most = Math.max(1, ...days.map(({ runs, failures }) => runs + failures))
  const longest = Math.max(...days.map(({ waited }) => waited))
  const bar = (kind, part) => {
    if (!part) return null
    const element = h(`i.${kind}`)
    element.style.height = `${part * 100}%`
    return element
  }
  const chart = (title, top, bars) => [h('p.meta', { 'aria-hidden': 'true' }, title), h('div.chart', { 'aria-hidden': 'true' }, h('span.top', {}, top), h('span.zero', {}, '0'),
    days.map((day) => h('div.day', { title: told(day) }, bars(day))))]
  return [
    h('p', {}, `In the last two weeks: ${counts(all)}.`),
    ...chart('Prompts', String(most), ({ runs, failures }) => [bar('failures', failures / most), bar('runs', runs / most)]),
    ...(longest ? chart('Time waiting for a person', lasted(longest), ({ waited }) => [bar('waited', waited / longest)]) : []),
    h('div.chart.dates', { 'aria-hidden': 'true' }, days.map(({ date }, index) => h('span', {}, index === DAYS - 1 ? 'today' : index % 2 || index > DAYS - 3 ? '' : dated(date)))),
    h('p.meta', {}, h('i.key.runs', {}), 'done ', h('i.key.failures', {}), 'failed ', h('i.key.waited', {}), 'waited for a person'),
    h('h2', {}, 'By session'),
    sessions.size ? table('Session', [...sessions].sort(([, left], [, right]) => right.runs + right.failures - left.runs - left.failures || right.waited - left.waited)
      .map(([id, each]) => [h('a', { href: `#/s/${encodeURIComponent(id)}`, dir: 'auto' }, nameOf(id)), each])) : h('p.quiet', {}, 'No agent has run in these two weeks.'),
    h('details', {}, h('summary', {}, 'Day by day'), table('Day', days.toReversed().map((day) => [day.date.toLocaleDateString(), day]))),
  ]
}

/** Figures in columns; the first column names them. */
function table(first, rows) {
  return h('div.scrolls', { tabIndex: 0, role: 'group', 'aria-label': `By ${first.toLowerCase()}` }, h('table.figures', {},
    h('thead', {}, h('tr', {}, [first, 'Done', 'Failed', 'Waited for a person'].map((each) => h('th', { scope: 'col' }, each)))),
    h('tbody', {}, rows.map(([name, { runs, failures, waited }]) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, runs), h('td', {}, failures), h('td', {}, waited ? lasted(waited) : '–'))))))
}

const dated = (date) => date.toLocaleDateString([], { day: 'numeric', month: 'numeric' })
const told = (day) => `${day.date.toLocaleDateString()}: ${counts(day)}`
const counts = ({ runs, failures, waited }) => `${runs} done, ${failures} failed, ${lasted(waited)} waiting for a person`
