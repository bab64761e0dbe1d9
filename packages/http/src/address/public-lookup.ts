import { Resolver } from 'node:dns/promises'
import type { LookupHost } from './pinned-lookup.ts'

const times = { timeout: 2_000, tries: 2 }

/**
 * Asks the DNS itself for the addresses of a host name, as many names at once as there are. The system's look-up runs
 * two at a time: a few names whose servers never answer would hold up all others for minutes.
 */
export function createPublicLookup(servers?: readonly string[]): LookupHost {
  const resolver = new Resolver(times)
  if (servers) resolver.setServers(servers)
  return async host => {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const found = answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []))
    const [failed] = answers.flatMap(answer => (answer.status === 'rejected' ? [answer.reason] : []))
    if (found.length === 0 && failed) throw failed
    return found
  }
}
