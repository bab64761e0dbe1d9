// Follows the gateway's event stream, and tells screens when their topics have changed.
import { signal } from '../../vendor/signals.js'

/** The state of the event stream. Screens show changes at once only while it is `live`. */
export const connection = signal(/** @type {'connecting' | 'live' | 'lost'} */ ('connecting'))

/** The topics of the stream's events. */
const topics = ['message', 'refusal', 'turn', 'delivery', 'requirement']

/** @type {Set<{ topics: readonly string[], notify: () => void }>} */
const listeners = new Set()
/** @type {EventSource | undefined} */
let source
/** @type {Set<string>} */
const changed = new Set()
let isWaiting = false
let isWanted = false

/** The time during which events are gathered into one change, ms. */
const gatherMs = 150
/** The delay before a retry if the answer was not a stream, ms. */
const retryMs = 3_000

/** Follows the gateway until `unfollow` is called. */
export function follow() {
  isWanted = true
  if (source) return
  source = new EventSource('/operator/api/events')
  source.addEventListener('open', () => {
    // Changes during the time without a stream may have produced no event for this page.
    if (connection.value === 'lost') for (const topic of topics) noteChange(topic)
    connection.value = 'live'
  })
  source.addEventListener('error', () => {
    connection.value = 'lost'
    if (source?.readyState === EventSource.CLOSED) followLater()
  })
  for (const topic of topics) source.addEventListener(topic, () => noteChange(topic))
  // The stream has lost events, so everything is loaded again.
  source.addEventListener('reload', () => topics.forEach(noteChange))
}

export function unfollow() {
  isWanted = false
  source?.close()
  source = undefined
}

/** Retries later, because a browser gives up after an answer that is not a stream. Each retry reports every topic as changed. */
function followLater() {
  unfollow()
  isWanted = true
  setTimeout(() => {
    if (!isWanted) return
    for (const topic of topics) noteChange(topic)
    follow()
  }, retryMs)
}

/** @param {string} topic */
function noteChange(topic) {
  changed.add(topic)
  if (isWaiting) return
  isWaiting = true
  setTimeout(() => {
    isWaiting = false
    const changedTopics = [...changed]
    changed.clear()
    for (const listener of listeners) if (listener.topics.some(each => changedTopics.includes(each))) listener.notify()
  }, gatherMs)
}

/**
 * Calls `notify` after one of these topics has changed, and once for several changes at the same time.
 * @param {readonly string[]} watchedTopics @param {() => void} notify
 * @returns {() => void} a function that ends the calls
 */
export function onChange(watchedTopics, notify) {
  const listener = { topics: watchedTopics, notify }
  listeners.add(listener)
  return () => void listeners.delete(listener)
}
