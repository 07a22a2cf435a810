// What this device has of sessions and prompts, searched as one types.

import { model } from './app.js'

/** The last part of a project's path: how people call it. */
export const projectName = (path) => path?.replace(/\/+$/, '').split('/').at(-1) || ''

/** The name of a session. */
export const nameOf = (id) => model.sessions.get(id)?.name || id

/** The first line of a text that has something in it. */
export const firstLine = (text) => text?.split('\n').find((line) => line.trim())?.trim() ?? ''

/**
 * The sessions that fit all words of a query by name, project or prompt: `{session, isNamed, prompts}` with the first
 * lines of the prompts that fit, sessions that fit by name first.
 */
export function found(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const fits = (text) => words.every((word) => text.includes(word))
  return [...model.sessions.values()].flatMap((session) => {
    const isNamed = fits(`${session.name ?? ''} ${session.id} ${session.project ?? ''}`.toLowerCase())
    const prompts = words.length ? model.rows(session.id).filter(({ content }) => fits(content.toLowerCase())).map(({ content }) => lineWith(content, words[0])) : []
    return isNamed || prompts.length ? [{ session, isNamed, prompts }] : []
  }).sort((left, right) => right.isNamed - left.isNamed || nameOf(left.session.id).localeCompare(nameOf(right.session.id)))
}

/** The line of a text that has a word. */
function lineWith(text, word) {
  return text.split('\n').find((line) => line.toLowerCase().includes(word))?.trim() ?? firstLine(text)
}
