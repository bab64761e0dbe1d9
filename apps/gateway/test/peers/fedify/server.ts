// Runs a fediverse server made with Fedify.
import { readFileSync } from 'node:fs'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { Context, RequestContext } from '@fedify/fedify'
import { createFederation, generateCryptoKeyPair, MemoryKvStore } from '@fedify/fedify'
import { Activity, Endpoints, Note, Person } from '@fedify/vocab'
import { serve } from '@hono/node-server'
import { Temporal } from '@js-temporal/polyfill'
import { fedifyOrigin, ports } from '../names.ts'

/** A server with one user, ann, that answers only signed requests, as those of Hollo or Ghost do. */
export interface FedifyServer {
  /** The Fedify context of ann's server. */
  readonly context: Context<void>
  readonly actor: URL
  /** The activities whose signature Fedify has verified, oldest first. */
  readonly received: readonly Activity[]
  /** The signed requests for ann and her notes: the signer and the path. */
  readonly fetches: readonly { readonly signer: string | undefined; readonly path: string }[]
  /** Ann's notes, by the last segment of their address. */
  readonly notes: Map<string, Note>
  close(): void
}

export const ann = 'ann'

/** Starts the server in this process, which trusts the authority at `caPath` from then on. */
export async function openFedify(caPath: string): Promise<FedifyServer> {
  // Fedify's dates use Temporal, which Node 24 does not have by itself.
  Object.assign(globalThis, { Temporal })
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(caPath, 'utf8')])
  const keys = [await generateCryptoKeyPair('RSASSA-PKCS1-v1_5'), await generateCryptoKeyPair('Ed25519')]
  const receivedActivities: Activity[] = []
  const fetches: { signer: string | undefined; path: string }[] = []
  const notes = new Map<string, Note>()
  const federation = createFederation<void>({
    kv: new MemoryKvStore(),
    origin: fedifyOrigin,
    allowPrivateAddress: true,
  })
  const authorize = async (context: RequestContext<void>) => {
    const owner = await context.getSignedKeyOwner()
    fetches.push({ signer: owner?.id?.href, path: new URL(context.request.url).pathname })
    return owner !== null
  }
  federation
    .setActorDispatcher('/users/{identifier}', async (context, identifier) => {
      if (identifier !== ann) return null
      const pairs = await context.getActorKeyPairs(identifier)
      return new Person({
        id: context.getActorUri(identifier),
        preferredUsername: identifier,
        name: 'Ann',
        inbox: context.getInboxUri(identifier),
        endpoints: new Endpoints({ sharedInbox: context.getInboxUri() }),
        publicKey: pairs[0]?.cryptographicKey ?? null,
        assertionMethods: pairs.map(({ multikey }) => multikey),
      })
    })
    .setKeyPairsDispatcher((_, identifier) => (identifier === ann ? keys : []))
    .authorize(authorize)
  federation
    .setObjectDispatcher(Note, '/users/{identifier}/notes/{id}', (_, { id }) => notes.get(id) ?? null)
    .authorize(authorize)
  federation
    .setInboxListeners('/users/{identifier}/inbox', '/inbox')
    .setSharedKeyDispatcher(() => ({ identifier: ann }))
    .on(Activity, (_, activity) => {
      receivedActivities.push(activity)
    })
  const server = serve({
    port: ports.fedify,
    hostname: '127.0.0.1',
    // TLS ends in front of this server, and RFC 9421 signs the whole address.
    fetch: request =>
      federation.fetch(new Request(request.url.replace(/^http:/, 'https:'), request), {
        contextData: undefined,
      }),
  })
  const context = federation.createContext(new URL(fedifyOrigin), undefined)
  return {
    context,
    actor: context.getActorUri(ann),
    received: receivedActivities,
    fetches,
    notes,
    close: () => server.close(),
  }
}
