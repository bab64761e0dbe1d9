import type { Log, NoticeStore } from '@postern/core'

type Listener = (payload: unknown) => void

/** Hints within this process: synchronous, and a listener that throws harms nobody else. */
export function createNotices(log: Log): NoticeStore {
  const topics = new Map<string, Set<Listener>>()

  function forget(topic: string, listener: Listener): void {
    const listeners = topics.get(topic)
    listeners?.delete(listener)
    if (listeners?.size === 0) topics.delete(topic)
  }

  return {
    notify(topic, payload) {
      for (const listener of [...(topics.get(topic) ?? [])]) callListener(listener, payload, log)
    },
    listen(topic, listener) {
      // One function may listen twice; each listening ends on its own.
      const own: Listener = payload => listener(payload)
      const listeners = topics.get(topic) ?? new Set()
      topics.set(topic, listeners.add(own))
      return () => forget(topic, own)
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
