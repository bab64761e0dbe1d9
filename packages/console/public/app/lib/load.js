// Loads data of the gateway for a screen, and reloads it when its topics change.
import { useEffect } from '../../vendor/hooks.js'
import { useSignal } from '../../vendor/signals.js'
import { api } from './api.js'
import { onChange } from './live.js'

/**
 * Keeps the answer of a route fresh: requests it again whenever one of `topics` changes, and on `refresh`. The last answer stays visible
 * until the next one arrives, so that nothing flickers.
 * @param {string | undefined} path nothing is requested without one
 * @param {readonly string[]} [topics] of the event stream
 * @param {number} [restMs] the time during which changes are gathered into one request
 */
export function useAnswer(path, topics = [], restMs = 0) {
  const ask = path === undefined ? undefined : (/** @type {AbortSignal} */ signal) => api(path, { signal })
  return useLoaded(ask, path, topics, restMs)
}

/**
 * Keeps data fresh like `useAnswer`, if loading it takes several requests.
 * @param {((signal: AbortSignal) => Promise<any>) | undefined} load
 * @param {string | undefined} key identifies the data: another key discards the last answer
 * @param {readonly string[]} [topics]
 * @param {number} [restMs]
 */
export function useLoaded(load, key, topics = [], restMs = 0) {
  const answer = useSignal(/** @type {any} */ (undefined))
  const error = useSignal(/** @type {Error | undefined} */ (undefined))
  const turn = useSignal(0)
  useEffect(() => {
    answer.value = undefined
    error.value = undefined
  }, [key])
  useEffect(() => {
    if (load === undefined) return undefined
    const leaving = new AbortController()
    load(leaving.signal)
      .then(value => {
        if (leaving.signal.aborted) return
        answer.value = value
        error.value = undefined
      })
      .catch(reason => {
        if (!leaving.signal.aborted) error.value = reason
      })
    return () => leaving.abort()
  }, [key, turn.value])
  const refresh = () => {
    turn.value += 1
  }
  useEffect(() => {
    if (topics.length === 0) return undefined
    let timer = 0
    const later = () => {
      if (restMs === 0) return refresh()
      timer ||= setTimeout(() => {
        timer = 0
        refresh()
      }, restMs)
    }
    const leave = onChange(topics, later)
    return () => {
      leave()
      clearTimeout(timer)
    }
  }, [topics.join()])
  return { answer: answer.value, error: error.value, refresh }
}
