// Keeps the files of the page, so that it opens at once and without Cospool; and shows notices. The daemon's
// answers pass it by: nothing of the workspace is kept here.

// `make page` writes the hashes.
const VERSION = 'f1c23d7765437718'
const FILES = {
  '/actions.js': 'c8b50ac7da7d13e3',
  '/activity.js': '93d01a75b91d87be',
  '/ansi.js': 'b021403d897e890e',
  '/app.js': 'dd7ad35aafe8ea40',
  '/composer.js': '1ffc3955397e10c0',
  '/conversation.js': 'e55171bbede0dc20',
  '/devices.js': '2e60923bc5d42bd8',
  '/diff.js': '220f0ed9fa9bec89',
  '/dom.js': 'f26dae5a81facc5e',
  '/editor.js': 'b720bdf45b2bcb57',
  '/icon.png': '29304358db9de4f0',
  '/icon.svg': 'a91f4ba2508d7b69',
  '/inbox.js': 'c13483b47c30b16c',
  '/': '27dd89103ccea966',
  '/installed.js': 'e2734e7129b4d15c',
  '/keys.js': '60718e544d6c5d37',
  '/line.js': 'ef0fa367ed7c5e36',
  '/main.js': 'd6f3db0b47af5a8e',
  '/manifest.webmanifest': 'c2a4fd78acb96135',
  '/markdown.js': 'ab8457197d4c3c4f',
  '/model.js': 'c74f5dddf4f737cc',
  '/next.js': '0e5dbfe3c12dbeed',
  '/output.js': 'e2268cb584a027a7',
  '/request.js': 'd7b06f0ade3848ab',
  '/row.js': 'ee0655afeff2b083',
  '/session.js': 'c9cde78ca3e4a7e5',
  '/settings.js': '4176d220c429f5e6',
  '/sheet.js': 'd9ea71b987818480',
  '/source.js': '68dd78099e2ff615',
  '/storage.js': '3833c7327cbe3c52',
  '/style.css': '69d82b66dbd421f1',
  '/theme.js': 'df554ff770271a8d',
  '/title.js': '3abf15109821cc7c',
}

const CACHE = 'cospool.files'
/** How long the daemon may take to send the page before the kept one is shown, in milliseconds. */
const SLOW = 4000
/** Whether the latest page has another version: its files come from the daemon, too. */
let isOther = false

const place = (path) => `${path}?${FILES[path]}`

self.addEventListener('install', (event) => event.waitUntil(fill().then(() => self.skipWaiting())))

self.addEventListener('activate', (event) => event.waitUntil(tidy().then(() => self.clients.claim())))

self.addEventListener('fetch', (event) => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (origin !== location.origin || request.method !== 'GET' || !Object.hasOwn(FILES, pathname)) return
  if (request.mode === 'navigate') event.respondWith(page())
  else if (!isOther) event.respondWith(kept(pathname).then((file) => file ?? fetch(request)))
})

/** Fetches the files that are not kept yet. A file with a wrong hash is not kept: the daemon may be replaced in the meantime. */
async function fill() {
  const cache = await caches.open(CACHE)
  for (const path of Object.keys(FILES)) {
    if (await cache.match(place(path))) continue
    const response = await fetch(path, { cache: 'no-store', credentials: 'omit', redirect: 'error' })
    const digest = await crypto.subtle.digest('SHA-256', await response.clone().arrayBuffer())
    const hash = Array.from(new Uint8Array(digest).subarray(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('')
    if (!response.ok || hash !== FILES[path]) throw new Error(`${path} belongs to another version`)
    await cache.put(place(path), response)
  }
}

async function tidy() {
  const cache = await caches.open(CACHE)
  const present = new Set(Object.keys(FILES).map((path) => new URL(place(path), location.href).href))
  for (const { url } of await cache.keys()) if (!present.has(url)) await cache.delete(url)
}

const kept = async (path) => (await caches.open(CACHE)).match(place(path))

/** The daemon's current page, or the kept one if the daemon does not answer, or if another program does. */
async function page() {
  try {
    const response = await fetch('/', { cache: 'no-store', credentials: 'omit', signal: AbortSignal.timeout(SLOW) })
    const version = /name="cospool-version" content="(\w+)"/.exec(await response.clone().text())?.[1]
    if (response.ok && version) {
      isOther = version !== VERSION
      return response
    }
  } catch {
    // It is away.
  }
  isOther = false
  return await kept('/') ?? Response.error()
}

// Notices.

self.addEventListener('message', (event) => event.waitUntil(tell(event.data)))

/** Shows notices unless a page is visible, and removes those that have ended. */
async function tell({ fresh, over }) {
  for (const each of await self.registration.getNotifications()) if (over.includes(each.tag)) each.close()
  const pages = await self.clients.matchAll({ type: 'window' })
  if (pages.some(({ visibilityState }) => visibilityState === 'visible')) return
  for (const { tag, title, body, place: data } of fresh) await self.registration.showNotification(title, { tag, body, data, icon: 'icon.png' })
}

self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(go(event.notification.data))
})

async function go(target) {
  const [open] = await self.clients.matchAll({ type: 'window' })
  if (!open) return self.clients.openWindow(`/${target}`)
  open.postMessage({ target })
  await open.focus()
}
