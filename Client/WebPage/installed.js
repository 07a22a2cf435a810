// The page as an app: the service worker keeps its files, its icon shows the number of sessions that need the user,
// and notices come while it is hidden, if its user turned them on.

import { model, nameOf } from './app.js'
import { deed } from './diff.js'
import { kept } from './storage.js'

const NOTICES = 'cospool.notices'
const WORKER = '/sw.js'

/** No text of the page becomes a script: only this address does. */
const policy = globalThis.trustedTypes?.createPolicy('cospool', { createScriptURL: () => WORKER })

/** What needed its user when the page last looked, by the tags of its notices. */
let known
let count = 0
/** Whether this is the tab that shows notices, among all tabs of this browser. */
let isKeeper = false

export const canNotify = () => 'Notification' in globalThis && 'serviceWorker' in navigator

/** Whether notices are shown in this browser. */
export const notifies = () => canNotify() && localStorage.getItem(NOTICES) === 'on' && Notification.permission === 'granted'

/** Turns notices on or off; whether that could be done. */
export async function setNotices(isOn) {
  if (isOn && await Notification.requestPermission() !== 'granted') return false
  kept(NOTICES, isOn ? 'on' : 'off')
  return true
}

/** Whether this tab needs events while it is hidden. */
export const staysAwake = () => isKeeper && notifies()

/** `woken` is called when this tab becomes the one that shows notices. */
export function install(woken) {
  navigator.locks?.request('cospool.notices', () => {
    isKeeper = true
    woken()
    return new Promise(() => {})
  })
  if (!('serviceWorker' in navigator)) return
  navigator.serviceWorker.addEventListener('message', ({ data }) => (location.hash = data.target))
  // What the page itself needs comes first.
  model.addEventListener('event', function begin({ detail }) {
    if (detail.name !== 'present') return
    model.removeEventListener('event', begin)
    // A browser that keeps nothing still shows the page.
    navigator.serviceWorker.register(policy ? policy.createScriptURL('') : WORKER).catch(() => {})
  })
}

/** Shows at the app's icon how many sessions need their user, and reports what is new since the last look. */
export function tellNeeds(needs) {
  const isLocked = model.link === 'locked'
  const fresh = isLocked ? 0 : needs.count
  if (fresh !== count) {
    count = fresh
    const done = count ? navigator.setAppBadge?.(count) : navigator.clearAppBadge?.()
    done?.catch(() => {})
  }
  if (isLocked) {
    if (known) tell({ fresh: [], over: [...known] })
    known = null
  } else if (model.ready) {
    const now = new Map(notices(needs).map((each) => [each.tag, each]))
    const news = known && document.hidden && staysAwake() ? [...now.values()].filter(({ tag }) => !known.has(tag)) : []
    const over = [...known ?? []].filter((tag) => !now.has(tag))
    if (news.length || over.length) tell({ fresh: news, over })
    known = new Set(now.keys())
  }
}

function tell(message) { navigator.serviceWorker?.controller?.postMessage(message) }

function notices({ requests, stuck, ready }) {
  const notice = (session, tag, words) => ({ tag, title: nameOf(session), body: words, place: `#/s/${encodeURIComponent(session)}` })
  return [
    ...requests.map(({ id, session, request, consent }) => notice(session, id, consent ? 'was given to this device' : request ? deed(request.toolName) : 'asks a question')),
    ...stuck.map(({ session, message }) => notice(session, `${message.id} ${message.status}`,
      message.merged ? 'was edited in two places' : message.status === 'failed' ? 'failed' : 'has an unknown outcome')),
    ...ready.map(({ session }) => notice(session, session, 'waits for your next prompt')),
  ]
}
