/** Reads the event streams of a run, and rejoins the run when a stream breaks off. */
import { readEvents } from './events.js'

/** @typedef {import('./events.js').ChatEvent} ChatEvent */

const endTypes = new Set(['RUN_FINISHED', 'RUN_ERROR'])
const [firstWaitMs, longestWaitMs, mostTries] = [500, 15_000, 12]

/** Returns true if an event ends its run. @param {ChatEvent} event */
export function isEnd(event) {
  return endTypes.has(event?.type)
}

/** Returns true if an answer is a stream of events. @param {Response} answer */
export function isStream(answer) {
  return answer.headers.get('content-type')?.startsWith('text/event-stream') === true
}

/** @param {number} ms @param {AbortSignal} [signal] @returns {Promise<void>} */
export function sleep(ms, signal) {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/**
 * Reads a run to its end. If a stream breaks off before that, `comeBack` requests the run again.
 * @param {Response} first @param {() => Promise<Response>} comeBack @returns {AsyncGenerator<ChatEvent>}
 */
export async function* readRun(first, comeBack) {
  let answer = first
  for (let tries = 0; ; tries += 1) {
    /** @type {unknown} */
    let fault
    try {
      for await (const event of readEvents(answer)) {
        yield event
        if (isEnd(event)) return
      }
    } catch (error) {
      fault = error
    }
    answer = await reachAgain(comeBack, tries, fault ?? new Error('The answer broke off.'))
  }
}

/**
 * Requests the run until the server sends a stream. Throws `fault` after the last try, or if there is no run to rejoin.
 * @param {() => Promise<Response>} comeBack @param {number} tries @param {unknown} fault the reason why the stream ended
 */
async function reachAgain(comeBack, tries, fault) {
  for (let attempt = tries; attempt < mostTries; attempt += 1) {
    await sleep(Math.min(firstWaitMs * 2 ** attempt, longestWaitMs))
    const answer = await comeBack().catch(({ cause }) => (isForGood(cause) ? undefined : 'later'))
    if (answer === 'later') continue
    if (answer && isStream(answer)) return answer
    break
  }
  throw fault
}

/** Returns true if a status means that a retry is useless. @param {unknown} status */
export function isForGood(status) {
  return typeof status === 'number' && status >= 400 && status < 500 && status !== 429
}
