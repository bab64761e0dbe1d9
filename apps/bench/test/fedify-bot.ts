// Runs a Fedify bot as its manual builds one, which verifies every delivery with Fedify's own code.
import { createServer } from 'node:http'
import type { DocumentLoader, Federation } from '@fedify/fedify'
import { createFederation, generateCryptoKeyPair, getDocumentLoader, MemoryKvStore } from '@fedify/fedify'
import { Accept, type Activity, Create, Endpoints, Service } from '@fedify/vocab'
import { getRequestListener } from '@hono/node-server'
import { listenOnFreePort } from '../src/servers/loopback.ts'

export interface FedifyBot {
  readonly port: number
  readonly federation: Federation<void>
  readonly actor: URL
  /** The keys: RSA for requests, Ed25519 for objects. */
  readonly keys: { readonly rsa: CryptoKeyPair; readonly ed25519: CryptoKeyPair }
  readonly loader: DocumentLoader
  /** The activities that passed Fedify's checks. */
  readonly verifiedActivities: readonly Activity[]
  /** Every request to its inbox, before any check. */
  readonly requests: readonly Request[]
  /** Waits for a matching activity. @throws Error after thirty seconds */
  waitFor<Kind extends Activity>(findActivity: (activity: Activity) => Promise<Kind | undefined>): Promise<Kind>
  close(): void
}

export const botOrigin = 'https://fedify.test'

export interface FedifyBotOptions {
  /** The bot accepts only signatures by RFC 9421. */
  readonly isModern?: boolean | undefined
}

/** Opens a Fedify bot, which reaches all other hosts in the network with `fetch`. */
export async function openFedifyBot(
  fetch: typeof globalThis.fetch,
  { isModern = false }: FedifyBotOptions = {},
): Promise<FedifyBot> {
  const loader = createLoader(fetch)
  const activities: Activity[] = []
  const requests: Request[] = []
  const keys = {
    rsa: await generateCryptoKeyPair('RSASSA-PKCS1-v1_5'),
    ed25519: await generateCryptoKeyPair('Ed25519'),
  }
  const federation = createFederation<void>({
    kv: new MemoryKvStore(),
    origin: botOrigin,
    // GoToSocial, snac and most other servers understand nothing else.
    firstKnock: 'draft-cavage-http-signatures-12',
    documentLoaderFactory: () => loader,
    contextLoaderFactory: () => loader,
    authenticatedDocumentLoaderFactory: () => loader,
  })
  federation
    .setActorDispatcher('/users/{identifier}', async (context, identifier) => {
      if (identifier !== 'bot') return null
      const pairs = await context.getActorKeyPairs(identifier)
      return new Service({
        id: context.getActorUri(identifier),
        preferredUsername: identifier,
        name: 'A bot of Fedify',
        inbox: context.getInboxUri(identifier),
        endpoints: new Endpoints({ sharedInbox: context.getInboxUri() }),
        publicKeys: pairs.map(({ cryptographicKey }) => cryptographicKey),
        assertionMethods: pairs.map(({ multikey }) => multikey),
      })
    })
    .setKeyPairsDispatcher(() => [keys.rsa, keys.ed25519])
  const hear = (_: unknown, activity: Activity) => void activities.push(activity)
  federation.setInboxListeners('/users/{identifier}/inbox', '/inbox').on(Create, hear).on(Accept, hear)
  const listener = getRequestListener(async request => {
    // TLS ends in front of this server.
    const secure = new Request(request.url.replace(/^http:/, 'https:'), request)
    if (request.method === 'POST') requests.push(secure.clone() as Request)
    if (isModern && request.method === 'POST' && !request.headers.has('signature-input')) {
      await secure.arrayBuffer()
      return new Response(null, { status: 401 })
    }
    return federation.fetch(secure, { contextData: undefined })
  })
  const server = createServer(listener)
  return {
    port: await listenOnFreePort(server),
    federation,
    actor: new URL(`${botOrigin}/users/bot`),
    keys,
    loader,
    verifiedActivities: activities,
    requests,
    close() {
      server.closeAllConnections()
      server.close()
    },
    async waitFor(findActivity) {
      for (let waited = 0; waited < 30_000; waited += 20) {
        for (const activity of activities) {
          const kind = await findActivity(activity)
          if (kind) return kind
        }
        await new Promise(resolve => setTimeout(resolve, 20))
      }
      throw new Error('the bot has not heard it within 10 s')
    },
  }
}

/** Creates a loader. Contexts come preloaded with Fedify; everything else is fetched over loopback. */
function createLoader(fetch: typeof globalThis.fetch): DocumentLoader {
  const preloaded = getDocumentLoader()
  return async url => {
    if (!new URL(url).host.endsWith('.test')) return preloaded(url)
    const response = await fetch(url, { headers: { accept: 'application/activity+json' } })
    if (!response.ok) throw new Error(`${url} answered ${response.status}`)
    return { contextUrl: null, documentUrl: url, document: await response.json() }
  }
}
