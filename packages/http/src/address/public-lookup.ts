import { Resolver } from 'node:dns/promises'
import type { LookupHost } from './pinned-lookup.ts'

const times = { timeout: 2_000, tries: 2 }

/**
 * Asks the DNS for the addresses of a host name, with any number of names at once. The system's lookup runs two at a time, so a few slow
 * names would delay all others for minutes.
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
