import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Desk, EvidenceClaim, EvidenceVerdict, IdentityVerifier, LogFields, OnceDesk, World } from '@postern/core'
import { createGuardedFetch } from '@postern/http'
import { openSqliteDesk } from '@postern/store'
import type { IdentityConfig } from '../src/index.ts'
import { openIdentity } from '../src/index.ts'
import { connectorCards } from './attestation-cases.ts'
import { audience, host, messageId, now, otherHost, strangerHost, trustedIssuers } from './case.ts'
import { didDocuments } from './credential-cases.ts'

export interface TestHouse {
  readonly identity: IdentityVerifier
  readonly desk: Desk
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
  readonly world: Pick<World, 'fetch' | 'now'>
  readonly place: Pick<EvidenceClaim, 'audience' | 'messageId'>
  /** Another process; on the same desk, where none is given. */
  reopen(desk?: OnceDesk): IdentityVerifier
  close(): Promise<void>
}

/** A verifier, a desk and the connectors' web servers, on loopback. */
export async function openTestHouse(
  config: Partial<IdentityConfig> = {},
  lookup: (host: string) => Promise<readonly string[]> = async () => [],
): Promise<TestHouse> {
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
  const world = { fetch, now: () => time, log }
  const desk = await openSqliteDesk({ path: ':memory:', now: () => time, log })
  const whole = { trusted_issuers: [...trustedIssuers], connectors: [], ...config }
  const reopen = (other: OnceDesk = desk) => openIdentity(whole, { world, desk: other })
  const identity = reopen()
  return {
    identity,
    desk,
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
    world,
    place: { audience, messageId },
    verify: (carriers, claim = {}) => identity.verify({ audience, messageId, carriers, ...claim }),
    reopen,
    async close() {
      fetch.close()
      server.closeAllConnections()
      server.close()
      await desk.close()
    },
  }
}
