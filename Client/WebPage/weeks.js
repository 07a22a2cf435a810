// A picture of the last two weeks, from the history: runs, failures, and time spent waiting for a person.

import { h, svg } from './dom.js'

const DAYS = 14
const PAGES_MAX = 10
const ENDS = { succeeded: 'runs', failed: 'failures', interrupted: 'failures', unknown: 'failures' }

export async function readWeeks(source) {
  const days = Array.from({ length: DAYS }, (_, index) => {
    const date = new Date()
    date.setHours(0, 0, 0, 0)
    date.setDate(date.getDate() - (DAYS - 1 - index))
    return { date, runs: 0, failures: 0, waited: 0 }
  })
  const entries = []
  let before
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const answer = await source.list('history', { limit: 1000, ...(before ? { before } : {}) })
    entries.push(...answer.entries)
    before = answer.next
    if (!before || answer.entries.some((entry) => entry.at && new Date(entry.at) < days[0].date)) break
  }
  const waits = new Map()
  for (const entry of entries.reverse()) {
    if (!entry.at) continue
    const at = new Date(entry.at)
    const day = days.findLast((each) => each.date <= at)
    if (!day) continue
    if (ENDS[entry.action]) day[ENDS[entry.action]] += 1
    if (entry.action !== 'task') continue
    if (waits.has(entry.session)) day.waited += at - waits.get(entry.session)
    waits.delete(entry.session)
    if (entry.what.startsWith('task: awaiting')) waits.set(entry.session, at)
  }
  return days
}

export function drawWeeks(box, days) {
  const runs = days.reduce((sum, day) => sum + day.runs, 0)
  const failures = days.reduce((sum, day) => sum + day.failures, 0)
  const waited = days.reduce((sum, day) => sum + day.waited, 0)
  const words = `${runs} done, ${failures} failed, ${Math.round(waited / 60_000)} min waiting for a person`
  const most = Math.max(1, ...days.map((day) => day.runs + day.failures))
  const longest = Math.max(60_000, ...days.map((day) => day.waited))
  const picture = svg('svg', { viewBox: '0 0 280 64', role: 'img', 'aria-label': words })
  for (const [index, day] of days.entries()) {
    const x = index * 20 + 3
    const bar = (from, part, kind) => part && picture.append(svg('rect', { x, y: from - part, width: 14, height: part, class: kind }))
    const done = (day.runs / most) * 40
    bar(42, done, 'runs')
    bar(42 - done, (day.failures / most) * 40, 'failures')
    bar(62, (day.waited / longest) * 14, 'waited')
    const title = svg('title', {})
    title.textContent = told(day)
    const area = svg('rect', { x: index * 20, y: 0, width: 20, height: 64, class: 'day' })
    area.append(title)
    picture.append(area)
  }
  box.replaceChildren(picture, h('p.meta', {}, h('i.key.runs', {}), 'done ', h('i.key.failures', {}), 'failed ',
    h('i.key.waited', {}), 'waited for a person · ', words),
  h('details', {}, h('summary', {}, 'Day by day'), h('ul.meta', {}, ...days.map((day) => h('li', {}, told(day))))))
}

function told({ date, runs, failures, waited }) {
  return `${date.toLocaleDateString()}: ${runs} done, ${failures} failed, ${Math.round(waited / 60_000)} min waiting`
}
