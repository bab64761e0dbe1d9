// Runs the gateway as a measured server and counts what it has handled.
import type { NoticeStore } from '@postern/pipeline'
import { serveMeasured } from '../servers/child.ts'
import { readTurns } from './agents/count.ts'
import { createAnswerTimer } from './answer-times.ts'
import type { GatewaySetup } from './open.ts'
import { openBenchGateway } from './open.ts'

/**
 * Runs the gateway, on data of its own or on given data, which stay. It obeys two orders: `listeners` counts the listeners to messages, `times` reads
 * the times of accepted posts.
 */
await serveMeasured<GatewaySetup>(async ({ tree: config, data, counts = 'turns' }) => {
  const { gateway, close } = await openBenchGateway(config, data)
  const listeners = countListeners(gateway.store)
  const timer = createAnswerTimer()
  if (counts === 'messages') Object.assign(gateway.store, { leaseTurns: async () => [] })
  const [http] = await gateway.start()
  const counters = {
    turns: readTurns,
    deliveries: async () => (await gateway.store.count()).deliveries.sent,
    messages: async () => (await gateway.store.count()).messages.received,
  }
  return {
    port: http?.port ?? 0,
    work: async order => (order === 'times' ? timer.readTimes() : listeners()),
    handled: counters[counts],
    close,
  }
})

/** Counts the listeners to messages of this store from then on. */
function countListeners(store: NoticeStore): () => number {
  const { listen } = store
  let count = 0
  store.listen = (topic, listener) => {
    const unlisten = listen(topic, listener)
    if (!topic.startsWith('message:')) return unlisten
    let isOver = false
    count += 1
    return () => {
      if (!isOver) count -= 1
      isOver = true
      unlisten()
    }
  }
  return () => count
}
