// Opens an identity verifier with a store and served key documents.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGuardedFetch } from '@postern/http'
import type { LogFields, System } from '@postern/message'
import type { EvidenceClaim, EvidenceResult, IdentityVerifier, SingleUseStore, Store } from '@postern/pipeline'
import { openSqliteStore } from '@postern/store'
import { sketchedChannels } from '@postern/testing'
import type { IdentityConfig } from '../src/index.ts'
import { openIdentity } from '../src/index.ts'
import { connectorCards } from './attestation-cases.ts'
import { didDocuments } from './credential-cases.ts'
import { audience, host, messageId, now, otherHost, strangerHost, trustedIssuers } from './fixtures.ts'

export interface IdentityGateway {
  readonly identity: IdentityVerifier
  readonly store: Store
  /** The addresses of all requests, in order. */
  readonly requestedUrls: string[]
  readonly logged: LogFields[]
  /** Sets the documents that are served at these addresses from now on; null means none. */
  publish(documents: Readonly<Record<string, unknown>>): void
  /** Sets the time, ms. At first it is the `now` of the cases. */
  setTime(ms: number): void
  /** Runs a function before the next document is served. */
  onNextRequest(effect: () => void): void
  verify(carriers: EvidenceClaim['carriers'], claim?: Partial<EvidenceClaim>): Promise<EvidenceResult>
  readonly system: Pick<System, 'fetch' | 'now'>
  readonly binding: Pick<EvidenceClaim, 'audience' | 'messageId'>
  /** Opens a verifier as another process would. Without a store it shares that of the first one. */
  reopen(store?: SingleUseStore): IdentityVerifier
  close(): Promise<void>
}

/** Opens a verifier, a store and the connectors' web servers on loopback. */
export async function openIdentityGateway(
  config: Partial<IdentityConfig> = {},
  lookup: (host: string) => Promise<readonly string[]> = async () => [],
): Promise<IdentityGateway> {
  const requestedUrls: string[] = []
  const logged: LogFields[] = []
  const documents = new Map<string, unknown>(Object.entries({ ...didDocuments, ...connectorCards }))
  let effect = () => {}
  let time = now
  const server = createServer((request, response) => {
    const url = `https://${request.headers.host}${request.url}`
    requestedUrls.push(url)
    effect()
    effect = () => {}
    const document = documents.get(url) ?? null
    if (typeof document === 'function') return document(response)
    response.statusCode = document === null ? 404 : 200
    response.end(typeof document === 'string' ? document : JSON.stringify(document))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const loopback = Object.fromEntries([host, otherHost, strangerHost].map(name => [name, port]))
  const fetch = createGuardedFetch({ userAgent: 'test', loopback, lookup })
  const note = (fields: LogFields) => void logged.push(fields)
  const log = { debug: note, info: note, warn: note, error: note }
  const system = { fetch, now: () => time, log }
  const store = await openSqliteStore({ channels: sketchedChannels, path: ':memory:', now: () => time, log })
  const fullConfig = { trusted_issuers: [...trustedIssuers], connectors: [], ...config }
  const reopen = (onceStore: SingleUseStore = store) => openIdentity(fullConfig, { system, store: onceStore })
  const identity = reopen()
  return {
    identity,
    store,
    requestedUrls,
    logged,
    publish(changedDocuments) {
      for (const [url, document] of Object.entries(changedDocuments)) documents.set(url, document)
    },
    setTime(ms) {
      time = ms
    },
    onNextRequest(wanted) {
      effect = wanted
    },
    system,
    binding: { audience, messageId },
    verify: (carriers, claim = {}) => identity.verify({ audience, messageId, carriers, ...claim }),
    reopen,
    async close() {
      fetch.close()
      server.closeAllConnections()
      server.close()
      await store.close()
    },
  }
}
