// Chosen files that the daemon does not have yet: like texts, they survive a reload and a crash.

/** The browser's database, which holds files; a browser without one for pages keeps nothing. */
function use(mode, step) {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open('cospool.files', 1)
    opening.onupgradeneeded = () => opening.result.createObjectStore('files')
    opening.onerror = () => reject(opening.error)
    opening.onsuccess = () => {
      const transaction = opening.result.transaction('files', mode)
      const request = step(transaction.objectStore('files'))
      transaction.oncomplete = () => (opening.result.close(), resolve(request.result))
      transaction.onabort = () => (opening.result.close(), reject(transaction.error))
    }
  })
}

export const storedFiles = {
  /** A list by its name; empty if there is none. */
  get: (name) => use('readonly', (store) => store.get(name)).then((list) => list ?? [], () => []),
  put: (name, list) => use('readwrite', (store) => (list.length ? store.put(list, name) : store.delete(name))).catch(() => {}),
}

/** The value of a kept JSON; nothing if it is not JSON. */
export function parsed(stored) {
  try {
    return JSON.parse(stored) ?? undefined
  } catch {
    return undefined
  }
}

/** A kept `{text, …}`. Any other content is taken as the text: an earlier version may have put it there. */
export function keptText(stored) {
  const value = parsed(stored)
  return typeof value?.text === 'string' ? value : { text: stored ?? '' }
}

/** Keeps a text over a reload and a crash; returns whether the browser had room for it. */
export function kept(name, text) {
  try {
    localStorage.setItem(name, text)
    return true
  } catch {
    return false
  }
}
