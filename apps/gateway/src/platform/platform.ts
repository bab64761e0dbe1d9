import { Resolver } from 'node:dns/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { DnsResolver, GuardedFetch, Log, OpenStream, Platform, SubmitMail } from '@postern/core'
import { Unavailable } from '@postern/core'
import { checkFetchUrl, createGuardedFetch } from '@postern/http'
import type { ChannelSlice } from '../config/channel-slices.ts'
import type { Config } from '../config/schema.ts'
import { createRandomPool } from './random-pool.ts'
import { softwareVersion } from './version.ts'

export interface GatewayPlatform extends Platform {
  /** A guarded fetch that may also reach this one origin: for what the operator configured (a webhook agent, a model). */
  fetchFor(origin: string): GuardedFetch & { readonly openStream: OpenStream }
  close(): void
}

/** Everything outside, for real. */
export function createPlatform(
  config: Pick<Config, 'origin' | 'network'>,
  { log, slices }: { readonly log: Log; readonly slices: readonly ChannelSlice[] },
): GatewayPlatform {
  const { allow_private, loopback, dns } = config.network
  const userAgent = `Postern/${softwareVersion} (+${config.origin}/)`
  const opened: { close(): void }[] = []
  const openFetch = (allowPrivate: readonly string[]) => {
    const fetch = createGuardedFetch({ allowPrivate, loopback, userAgent, now: Date.now })
    opened.push(fetch)
    return fetch
  }
  const fetch = openFetch(allow_private)
  const [submitter] = slices.flatMap(({ module, config: own }) => module.openMail?.(own, log) ?? [])
  if (submitter) opened.push(submitter)
  return {
    fetch,
    checkUrl: url => checkFetchUrl(url, { allowPrivate: allow_private, loopback }),
    openStream: fetch.openStream,
    fetchFor: origin => openFetch([...allow_private, origin]),
    resolveDns: createResolver(dns),
    submitMail: submitter ?? refuseToSubmit,
    now: Date.now,
    randomBytes: createRandomPool(),
    sleep,
    log,
    close: () => {
      for (const { close } of opened) close()
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

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, signal && { signal })
  } catch {
    // Aborted: the wait is over early, which is all the caller asked for.
  }
}
