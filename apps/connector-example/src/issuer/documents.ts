import { connectorCardPath, writeConnectorCard, writeDidDocument } from '@postern/identity'
import { Hono } from 'hono'
import type { ConnectorConfig } from '../config.ts'
import type { ConnectorKeyRing } from './key-ring.ts'

export const callbackPath = '/callback'
export const keySetPath = '/.well-known/jwks.json'

/** The bare host that v0.1 evidence names as its issuer, and the DID of v0.2. */
export function issuersOf({ origin }: Pick<ConnectorConfig, 'origin'>): {
  readonly host: string
  readonly did: string
} {
  const { host } = new URL(origin)
  return { host, did: `did:web:${host}` }
}

type Described = Pick<ConnectorConfig, 'origin' | 'name'>

/** What agents' operators and gateways read of us: Connector Card, DID document, keys of our tokens. */
export function createDocumentRoutes(config: Described, keys: ConnectorKeyRing): Hono {
  const { host, did } = issuersOf(config)
  const all = () => [...keys.active(), ...keys.previous()]
  const card = () =>
    writeConnectorCard({
      issuer: host,
      name: config.name,
      keys: keys.active(),
      previousKeys: keys.previous(),
      callbackUrls: [config.origin + callbackPath],
    })
  const writers: Readonly<Record<string, () => object>> = {
    [connectorCardPath]: card,
    '/.well-known/did.json': () =>
      writeDidDocument(
        did,
        all().map(({ kid, publicKey }) => ({ fragment: kid, publicKey })),
      ),
    [keySetPath]: () => ({ keys: writeConnectorCard({ issuer: host, keys: all() }).keys }),
  }
  const routes = new Hono()
  for (const [path, write] of Object.entries(writers)) {
    routes.get(path, context => context.json(write(), 200, { 'cache-control': 'public, max-age=60' }))
  }
  return routes
}
