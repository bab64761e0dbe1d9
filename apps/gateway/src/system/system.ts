// Opens the system outside the process: HTTP, DNS, mail submission, clock, randomness and log.
import { Resolver } from 'node:dns/promises'
import { checkFetchUrl, createGuardedFetch } from '@postern/http'
import type { DnsResolver, GuardedFetch, Log, OpenStream, SubmitMail, System } from '@postern/message'
import { Unavailable } from '@postern/message'
import type { ChannelSlice } from '../config/channel-slices.ts'
import type { Config } from '../config/schema.ts'
import { pause } from './pause.ts'
import { createRandomPool } from './random-pool.ts'
import { softwareVersion } from './version.ts'

export interface GatewaySystem extends System {
  /**
   * Returns a guarded fetch that may also reach this one private origin and no other one, for a destination in the configuration such as a webhook
   * agent or a model.
   */
  fetchFor(origin: string): GuardedFetch & { readonly openStream: OpenStream }
  close(): void
}

interface SystemOptions {
  readonly log: Log
  readonly slices: readonly ChannelSlice[]
  /** The clock. Default: the machine's. */
  readonly clock?: Pick<System, 'now' | 'sleep'> | undefined
}

/** Opens the real network, mail, clock and randomness of a gateway. */
export function createSystem(
  config: Pick<Config, 'origin' | 'network'>,
  { log, slices, clock: { now, sleep } = { now: Date.now, sleep: pause } }: SystemOptions,
): GatewaySystem {
  const { allow_private, allow_private_push, loopback, dns } = config.network
  const userAgent = `Postern/${softwareVersion} (+${config.origin}/)`
  const closables: { close(): void }[] = []
  const openFetch = (allowPrivate: readonly string[]) => {
    const fetch = createGuardedFetch({ allowPrivate, loopback, userAgent, now })
    closables.push(fetch)
    return fetch
  }
  const fetch = openFetch([])
  const configured = openFetch(allow_private)
  const [submitter] = slices.flatMap(({ module, config: channelConfig }) => module.openMail?.(channelConfig, log) ?? [])
  if (submitter) closables.push(submitter)
  return {
    fetch,
    openStream: fetch.openStream,
    configured: { fetch: configured, openStream: configured.openStream },
    configuredFor(origins) {
      const fetch = openFetch(allow_private.filter(origin => origins.includes(origin)))
      return { fetch, openStream: fetch.openStream }
    },
    push: {
      fetch: openFetch(allow_private_push),
      checkUrl: url => checkFetchUrl(url, { allowPrivate: allow_private_push, loopback }),
    },
    fetchFor: origin => openFetch([origin]),
    resolveDns: createResolver(dns),
    submitMail: submitter ?? refuseToSubmit,
    now,
    randomBytes: createRandomPool(),
    sleep,
    log,
    close: () => {
      for (const { close } of closables) close()
    },
  }
}

function createResolver(servers: readonly string[] | undefined): DnsResolver {
  const resolver = new Resolver({ timeout: 5_000, tries: 2 })
  if (servers && servers.length > 0) resolver.setServers(servers)
  return (name, type) => resolver.resolve(name, type)
}

const refuseToSubmit: SubmitMail = async () => {
  throw new Unavailable('no mail server is configured to send by')
}
