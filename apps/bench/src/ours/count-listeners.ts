import type { NoticeDesk } from '@postern/core'

/** How many listen to messages of this desk, from now on. */
export function countListeners(desk: NoticeDesk): () => number {
  const { listen } = desk
  let count = 0
  desk.listen = (topic, listener) => {
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
