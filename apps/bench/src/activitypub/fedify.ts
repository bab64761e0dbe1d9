// Receives ActivityPub deliveries with Fedify, for comparison.
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import {
  createFederation,
  type DocumentLoader,
  generateCryptoKeyPair,
  getDocumentLoader,
  MemoryKvStore,
} from '@fedify/fedify'
import { Create, Service } from '@fedify/vocab'
import { serveMeasured } from '../servers/child.ts'
import { listenFetch } from '../servers/hono.ts'

interface FedifyServerOptions {
  readonly fediversePort: number
  readonly origin: string
}

// Serves Fedify as its manual sets it up. Its look-ups go to the bench's own fediverse.
await serveMeasured<FedifyServerOptions>(async ({ fediversePort, origin }) => {
  let handledCount = 0
  const loader = createLoader(fediversePort)
  const federation = createFederation<void>({
    kv: new MemoryKvStore(),
    origin,
    documentLoaderFactory: () => loader,
    contextLoaderFactory: () => loader,
    authenticatedDocumentLoaderFactory: () => loader,
  })
  // Fedify needs the recipient's own keys for every delivery.
  const ownKeys = [await generateCryptoKeyPair('RSASSA-PKCS1-v1_5')]
  federation
    .setActorDispatcher('/agents/{identifier}', (context, identifier) => {
      return new Service({
        id: context.getActorUri(identifier),
        preferredUsername: identifier,
        inbox: context.getInboxUri(identifier),
      })
    })
    .setKeyPairsDispatcher(() => ownKeys)
  federation.setInboxListeners('/agents/{identifier}/inbox', '/inbox').on(Create, () => {
    handledCount++
  })
  const port = await listenFetch(request => {
    // TLS ends in front of this server, and RFC 9421 signs the whole address.
    const httpsRequest = new Request(request.url.replace(/^http:/, 'https:'), request)
    return federation.fetch(httpsRequest, { contextData: undefined })
  })
  return { port, handled: () => handledCount }
})

/** Contexts come preloaded with Fedify; actors and keys come from the bench over loopback. */
function createLoader(port: number): DocumentLoader {
  const preloaded = getDocumentLoader()
  return async url => {
    const { host, pathname } = new URL(url)
    if (!host.endsWith('.test')) return preloaded(url)
    const request = get({ host: '127.0.0.1', port, path: pathname, headers: { host } })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    if (response.statusCode !== 200) throw new Error(`${url} answered ${response.statusCode}`)
    return { contextUrl: null, documentUrl: url, document: await json(response) }
  }
}
