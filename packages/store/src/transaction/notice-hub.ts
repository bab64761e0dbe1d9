// Delivers notices to the listeners of this process.
import type { Log } from '@postern/message'
import type { NoticeStore } from '@postern/pipeline'

type Listener = (payload: unknown) => void

/** Creates the notices of this process. Listeners are called synchronously, and a listener that throws does not affect other listeners. */
export function createNotices(log: Log): NoticeStore {
  const topics = new Map<string, Set<Listener>>()

  function removeListener(topic: string, listener: Listener): void {
    const listeners = topics.get(topic)
    listeners?.delete(listener)
    if (listeners?.size === 0) topics.delete(topic)
  }

  return {
    notify(topic, payload) {
      for (const listener of [...(topics.get(topic) ?? [])]) callListener(listener, payload, log)
    },
    listen(topic, listener) {
      // The same function may listen twice, and each of its subscriptions ends separately.
      const ownListener: Listener = payload => listener(payload)
      const listeners = topics.get(topic) ?? new Set()
      topics.set(topic, listeners.add(ownListener))
      return () => removeListener(topic, ownListener)
    },
  }
}

function callListener(listener: Listener, payload: unknown, log: Log): void {
  try {
    listener(payload)
  } catch (error) {
    log.error({ err: error }, 'a listener failed')
  }
}
