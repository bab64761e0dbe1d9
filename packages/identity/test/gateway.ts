import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type {
  EvidenceClaim,
  EvidenceVerdict,
  IdentityVerifier,
  LogFields,
  OnceStore,
  Platform,
  Store,
} from '@postern/core'
import { createGuardedFetch } from '@postern/http'
import { openSqliteStore } from '@postern/store'
import { sketchedChannels } from '@postern/testing'
import type { IdentityConfig } from '../src/index.ts'
import { openIdentity } from '../src/index.ts'
import { connectorCards } from './attestation-cases.ts'
import { audience, host, messageId, now, otherHost, strangerHost, trustedIssuers } from './case.ts'
import { didDocuments } from './credential-cases.ts'

export interface IdentityGateway {
  readonly identity: IdentityVerifier
  readonly store: Store
  /** Every address that was asked for, in order. */
  readonly asked: string[]
  readonly logged: LogFields[]
  /** What stands at these addresses from now on; null: nothing. */
  publish(documents: Readonly<Record<string, unknown>>): void
  /** The time, ms; `now` of the cases at first. */
  setTime(ms: number): void
  /** What happens before the next document is given out. */
  onceAsked(effect: () => void): void
  verify(carriers: EvidenceClaim['carriers'], claim?: Partial<EvidenceClaim>): Promise<EvidenceVerdict>
  readonly platform: Pick<Platform, 'fetch' | 'now'>
  readonly place: Pick<EvidenceClaim, 'audience' | 'messageId'>
  /** Another process; on the same store, where none is given. */
  reopen(store?: OnceStore): IdentityVerifier
  close(): Promise<void>
}

/** A verifier, a store and the connectors' web servers, on loopback. */
export async function openIdentityGateway(
  config: Partial<IdentityConfig> = {},
  lookup: (host: string) => Promise<readonly string[]> = async () => [],
): Promise<IdentityGateway> {
  const asked: string[] = []
  const logged: LogFields[] = []
  const documents = new Map<string, unknown>(Object.entries({ ...didDocuments, ...connectorCards }))
  let effect = () => {}
  let time = now
  const server = createServer((request, response) => {
    const url = `https://${request.headers.host}${request.url}`
    asked.push(url)
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
  const platform = { fetch, now: () => time, log }
  const store = await openSqliteStore({ channels: sketchedChannels, path: ':memory:', now: () => time, log })
  const whole = { trusted_issuers: [...trustedIssuers], connectors: [], ...config }
  const reopen = (other: OnceStore = store) => openIdentity(whole, { platform, store: other })
  const identity = reopen()
  return {
    identity,
    store,
    asked,
    logged,
    publish(changed) {
      for (const [url, document] of Object.entries(changed)) documents.set(url, document)
    },
    setTime(ms) {
      time = ms
    },
    onceAsked(wanted) {
      effect = wanted
    },
    platform,
    place: { audience, messageId },
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
