// What can be done with a message in each state, and why the rest cannot: no row is without a way out.

export const LABELS = {
  edit: 'Edit', up: 'Up', down: 'Down', top: 'To the top', bottom: 'To the end', urgent: 'Make urgent',
  normal: 'Make normal', attach: 'Attach a file', cancel: 'Cancel', restore: 'Bring back', retry: 'Try again',
  skip: 'Go on without it', stop: 'Stop the agent', takeOver: 'Go on without it here', output: 'Output', copy: 'Copy the text',
  resend: 'Send again', discard: 'Discard',
}

export const WORDS = {
  sending: 'not taken by the daemon yet', queued: 'waits', running: 'runs', failed: 'failed',
  interrupted: 'its agent died', unknown: 'nobody knows whether it was done', succeeded: 'done',
  skipped: 'skipped', cancelled: 'cancelled',
}

const NOT_FAILED = 'Only what failed, or whose end nobody knows, can be tried again or skipped.'
const NOT_RUNNING = 'It does not run.'
const OVER = 'It is over.'
const UNSENT = 'The daemon does not have it yet.'

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
    : state === 'running' ? 'It runs already. Stop its agent, or queue what you want to add.'
      : 'It failed: try it again or go on without it.'
  const change = waits ? null : refusal
  const notFirst = waits && first ? 'It is the first that can be moved.' : change
  const notLast = waits && last ? 'It is the last.' : change
  const why = {
    edit: change, up: notFirst, top: notFirst, down: notLast, bottom: notLast,
    urgent: waits && message.priority === 'urgent' ? 'It is urgent.' : change,
    normal: waits && message.priority !== 'urgent' ? 'It is normal.' : change,
    attach: change,
    cancel: waits || stuck ? null : refusal,
    restore: state === 'cancelled' ? null : 'It was not cancelled.',
    retry: stuck ? null : NOT_FAILED,
    skip: stuck ? null : NOT_FAILED,
    stop: state !== 'running' ? NOT_RUNNING : null,
    takeOver: state !== 'running' ? NOT_RUNNING : away ? null : 'Its device is connected. Stop its agent.',
    output: waits && !message.attempts || state === 'sending' ? 'It did not run yet.' : null,
    copy: null,
    resend: state === 'sending' ? null : 'The daemon has it.',
    discard: state === 'sending' ? null : 'The daemon has it. Cancel it.',
  }
  return Object.fromEntries(Object.entries(why).map(([name, reason]) => [name, { enabled: !reason, why: reason }]))
}
