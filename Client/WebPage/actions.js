// The actions for a message in each state, and why others are not possible: every row has a way out.

export const LABELS = {
  edit: 'Edit', up: 'Up', down: 'Down', top: 'To the top', bottom: 'To the end', place: 'Move to …', urgent: 'Make urgent',
  normal: 'Make normal', attach: 'Attach a file', cancel: 'Cancel', restore: 'Restore', retry: 'Retry',
  start: 'Start now', skip: 'Skip', stop: 'Stop the agent', takeOver: 'Continue without it here', output: 'Output', copy: 'Copy the text',
  resend: 'Send again', discard: 'Discard',
}

export const WORDS = {
  sending: 'not sent yet', queued: 'waits', running: 'running', failed: 'failed',
  interrupted: 'the agent stopped unexpectedly', unknown: 'outcome unknown', succeeded: 'done',
  skipped: 'skipped', cancelled: 'cancelled',
}

const NOT_FAILED = 'Only a message that failed, or whose outcome is unknown, can be retried or skipped.'
const NOT_RUNNING = 'It does not run.'
const OVER = 'It has ended.'
const UNSENT = 'It is not sent yet.'

/** The time until which a message waits, in milliseconds since 1970; nothing if it waits for none. */
export function waitsUntil({ notBefore, later }) {
  const until = Math.max(Date.parse(notBefore) || 0, Date.parse(later) || 0)
  return until > Date.now() ? until : null
}

/** What a message waits for besides a time, in words; nothing if for no other message. `waitsFor` is null where all have succeeded. */
export function waitsForOthers({ status, needs, waitsFor }) {
  return status === 'queued' && needs && waitsFor !== null ? waitsFor ?? 'after another' : null
}

/** The message of a queue that starts next: one for later is passed over before its time, one after others before these have succeeded. */
export function nextOf(messages) {
  const waiting = (messages ?? []).filter(({ status }) => status === 'queued')
  const due = (each) => waitsForOthers(each) ? Infinity : Math.max(Date.parse(each.later) || 0, Date.now())
  return waiting.reduce((next, each) => (next && due(next) <= due(each) ? next : each), null)
}

/**
 * Every action with whether it can be done; `why` says why not.
 *
 * `place` is where the message stands among those that can be moved, `first` and `last`; `away` is the
 * name of another device where its agent may run and which is not connected, or nothing.
 */
export function actionsOf(message, { first, last, away } = {}) {
  const state = message.status
  const waits = state === 'queued'
  const stuck = ['failed', 'interrupted', 'unknown'].includes(state)
  const over = ['succeeded', 'skipped', 'cancelled'].includes(state)
  const refusal = over ? OVER : state === 'sending' ? UNSENT
    : state === 'running' ? 'It is already running. Stop its agent, or queue what you want to add.'
      : 'It failed: retry it or skip it.'
  const change = waits ? null : refusal
  const notFirst = waits && first ? 'It is the first one that can move.' : change
  const notLast = waits && last ? 'It is the last.' : change
  const why = {
    edit: waits || stuck ? null : refusal, up: notFirst, top: notFirst, down: notLast, bottom: notLast,
    place: waits && first && last ? 'It is the only one that can move.' : change,
    urgent: waits && message.priority === 'urgent' ? 'It is urgent.' : change,
    normal: waits && message.priority !== 'urgent' ? 'It is normal.' : change,
    attach: change,
    cancel: waits || stuck ? null : refusal,
    restore: state === 'cancelled' ? null : 'It was not cancelled.',
    retry: stuck ? null : NOT_FAILED,
    start: waits && !waitsUntil(message) && !waitsForOthers(message) ? 'It waits for nothing.' : change,
    skip: stuck ? null : NOT_FAILED,
    stop: state !== 'running' ? NOT_RUNNING : null,
    takeOver: state !== 'running' ? NOT_RUNNING : away ? null : 'Its device is connected. Stop its agent.',
    output: waits && !message.attempts || state === 'sending' ? 'It has not run yet.' : null,
    copy: null,
    resend: state === 'sending' ? null : 'It is sent already.',
    discard: state === 'sending' ? null : 'It is sent already. Cancel it.',
  }
  return Object.fromEntries(Object.entries(why).map(([name, reason]) => [name, { enabled: !reason, why: reason }]))
}
