// Sends one post to many inboxes with Fedify, for comparison.
import {
  createFederation,
  generateCryptoKeyPair,
  getDocumentLoader,
  InProcessMessageQueue,
  MemoryKvStore,
  ParallelMessageQueue,
} from '@fedify/fedify'
import { Create, Note, PUBLIC_COLLECTION, Service } from '@fedify/vocab'
import type { FanoutOrder, FanoutSetup } from '../orders/fanout.ts'
import { replyText } from '../orders/fanout.ts'
import { gatewayHost } from '../ours/open.ts'
import { serveMeasured } from '../servers/child.ts'

const author = 'herald'

/** Fedify sends as its manual sets it up: a queue in memory with parallel workers; RSA for requests, Ed25519 for the object. */
await serveMeasured<FanoutSetup>(async ({ port, count }) => {
  let sentCount = 0
  const realFetch = globalThis.fetch
  globalThis.fetch = async (...request) => {
    const response = await realFetch(...request)
    sentCount++
    return response
  }
  const federation = createFederation<void>({
    kv: new MemoryKvStore(),
    origin: `https://${gatewayHost}`,
    queue: new ParallelMessageQueue(new InProcessMessageQueue(), 64),
    firstKnock: 'draft-cavage-http-signatures-12',
    documentLoaderFactory: () => getDocumentLoader(),
    contextLoaderFactory: () => getDocumentLoader(),
  })
  const keys = [await generateCryptoKeyPair('RSASSA-PKCS1-v1_5'), await generateCryptoKeyPair('Ed25519')]
  federation
    .setActorDispatcher('/agents/{identifier}', (context, identifier) => {
      return new Service({ id: context.getActorUri(identifier), preferredUsername: identifier })
    })
    .setKeyPairsDispatcher(() => keys)
  const context = federation.createContext(new URL(`https://${gatewayHost}`), undefined)
  return {
    port: 0,
    handled: () => sentCount,
    async work(input) {
      const { serial } = input as FanoutOrder
      const recipients = Array.from({ length: count }, (_, index) => ({
        id: new URL(`http://127.0.0.1:${port}/users/${index}`),
        inboxId: new URL(`http://127.0.0.1:${port}/inboxes/${index}`),
      }))
      const actor = context.getActorUri(author)
      const id = `${actor.href}/posts/${serial}`
      const object = new Note({
        id: new URL(id),
        attribution: actor,
        to: PUBLIC_COLLECTION,
        content: `<p>${replyText}</p>`,
      })
      const activity = new Create({ id: new URL(`${id}/activity`), actor, to: PUBLIC_COLLECTION, object })
      const sentBefore = sentCount
      await context.sendActivity({ identifier: author }, recipients, activity)
      while (sentCount < sentBefore + count) await new Promise(resolve => setTimeout(resolve, 10))
    },
  }
})
