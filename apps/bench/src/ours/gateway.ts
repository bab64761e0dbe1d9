import { setFlagsFromString } from 'node:v8'
import type { NoticeStore } from '@postern/core'
import { serveMeasured } from '../servers/child.ts'
import { readTurns } from './agents/count.ts'
import type { GatewaySetup } from './open.ts'
import { openBenchGateway } from './open.ts'

// As the program's launcher.
setFlagsFromString('--max-semi-space-size=0')

/** The gateway at work. On data of its own, or on those it is given, which stay. */
await serveMeasured<GatewaySetup>(async ({ tree, data, counts = 'turns' }) => {
  const { gateway, close } = await openBenchGateway(tree, data)
  const listeners = countListeners(gateway.store)
  if (counts === 'messages') Object.assign(gateway.store, { leaseTurns: async () => [] })
  const [http] = await gateway.start()
  const handled = {
    turns: readTurns,
    deliveries: async () => (await gateway.store.count()).deliveries.sent,
    messages: async () => (await gateway.store.count()).messages.received,
  }
  return {
    port: http?.port ?? 0,
    work: async () => listeners(),
    handled: handled[counts],
    close,
  }
})

/** How many listen to messages of this store, from now on. */
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
