import { lookup as lookupSystem } from 'node:dns/promises'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { LookupHost } from '../address/pinned-lookup.ts'
import { createPinnedLookup, isAnyAddress } from '../address/pinned-lookup.ts'
import { isPublicAddress } from '../address/public-address.ts'
import { createPublicLookup } from '../address/public-lookup.ts'
import { shareLookups } from '../address/shared-lookup.ts'
import type { Route } from '../address/url.ts'
import type { ConnectionOptions } from './exchange.ts'

interface ConnectionPoolOptions {
  readonly lookup: LookupHost | undefined
  readonly now: (() => number) | undefined
  readonly maxSockets: number
}

export interface ConnectionPool {
  /** The sockets that a route may use. */
  choose(route: Route): ConnectionOptions
  /** Ends every connection, also those in use. */
  close(): void
}

/**
 * Kept connections and their lookups. One origin always has the same lookup, so no pooled connection has passed weaker checks than its next
 * user needs. Idle sockets do not keep the process alive.
 */
export function createConnectionPool({ lookup, now, maxSockets }: ConnectionPoolOptions): ConnectionPool {
  const pool = { keepAlive: true, maxSockets, maxFreeSockets: maxSockets, timeout: 15_000 }
  const agents = { http: new HttpAgent(pool), https: new HttpsAgent(pool) }
  const checked = createPinnedLookup(shareLookups(lookup ?? createPublicLookup(), now), isPublicAddress)
  // An opened origin may have a name that only this machine knows.
  const opened = createPinnedLookup(shareLookups(lookup ?? lookupSystemNames, now), isAnyAddress)
  return {
    choose: ({ secure, isOpened }) => ({
      agent: secure ? agents.https : agents.http,
      lookup: isOpened ? opened : checked,
    }),
    close() {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

async function lookupSystemNames(host: string): Promise<readonly string[]> {
  const found = await lookupSystem(host, { all: true })
  return found.map(({ address }) => address)
}
