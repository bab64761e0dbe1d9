import type { NoticeStore } from '@postern/core'

/** How many listen to messages of this store, from now on. */
export function countListeners(store: NoticeStore): () => number {
  const { listen } = store
  let count = 0
  store.listen = (topic, listener) => {
    const isCounted = topic.startsWith('message:')
    const unlisten = listen(topic, listener)
    let isOver = !isCounted
    if (isCounted) count += 1
    return () => {
      if (!isOver) count -= 1
      isOver = true
      unlisten()
    }
  }
  return () => count
}
