import { signal } from '../../vendor/signals.js'

/** Whether what happens is seen as it happens. */
export const connection = signal(/** @type {'connecting' | 'live' | 'lost'} */ ('connecting'))

/** What the stream tells of. */
const topics = ['message', 'refusal', 'turn', 'delivery', 'requirement']

/** @type {Set<{ topics: readonly string[], tell: () => void }>} */
const listeners = new Set()
/** @type {EventSource | undefined} */
let source
/** @type {Set<string>} */
const changed = new Set()
let isWaiting = false
let isWanted = false

/** Many events within this time are one change, ms. */
const gatherMs = 150
/** Time until the next try after a stream that was none, ms. */
const retryMs = 3_000

/** Follows the gateway until `unfollow`. */
export function follow() {
  isWanted = true
  if (source) return
  source = new EventSource('/operator/api/events')
  source.addEventListener('open', () => {
    // What happened while nobody listened is told by no event that is certain to come.
    if (connection.value === 'lost') for (const topic of topics) note(topic)
    connection.value = 'live'
  })
  source.addEventListener('error', () => {
    connection.value = 'lost'
    if (source?.readyState === EventSource.CLOSED) followLater()
  })
  for (const topic of topics) source.addEventListener(topic, () => note(topic))
  // Events are missing: everything is read anew.
  source.addEventListener('reload', () => topics.forEach(note))
}

export function unfollow() {
  isWanted = false
  source?.close()
  source = undefined
}

/** A browser gives up after an answer that is no stream. Until there is one, everything is looked at again and again. */
function followLater() {
  unfollow()
  isWanted = true
  setTimeout(() => {
    if (!isWanted) return
    for (const topic of topics) note(topic)
    follow()
  }, retryMs)
}

/** @param {string} topic */
function note(topic) {
  changed.add(topic)
  if (isWaiting) return
  isWaiting = true
  setTimeout(() => {
    isWaiting = false
    const told = [...changed]
    changed.clear()
    for (const listener of listeners) if (listener.topics.some(each => told.includes(each))) listener.tell()
  }, gatherMs)
}

/**
 * Calls `tell` after something of these topics has changed; several changes at once are one.
 * @param {readonly string[]} wanted @param {() => void} tell
 * @returns {() => void} ends it
 */
export function onChange(wanted, tell) {
  const listener = { topics: wanted, tell }
  listeners.add(listener)
  return () => void listeners.delete(listener)
}
