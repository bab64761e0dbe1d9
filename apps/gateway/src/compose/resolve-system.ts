// Opens the network for `postern resolve`, which may also reach the gateway's own addresses.
import { KeyNotMade, parseUrl, toConfigured } from '@postern/message'
import type { ResolveSystem } from '@postern/operator'
import type { Channel, PublishedKey } from '@postern/pipeline'
import type { Hono } from 'hono'
import type { Config } from '../config/schema.ts'
import { findHandleHost } from '../config/schema.ts'
import { knownExtensionUris } from '../discovery/extensions.ts'
import { openLocalFetch } from '../system/local-fetch.ts'
import type { GatewaySystem } from '../system/system.ts'
import { createCardReader } from './card-reader.ts'

interface ResolveSystemDeps {
  readonly config: Config
  readonly system: GatewaySystem
  readonly channels: readonly Channel[]
  readonly app: Pick<Hono, 'fetch'>
}

/** Creates the system. In dev mode it fetches the gateway’s own addresses locally, because nobody else could reach them. */
export function createResolveSystem({ config, system, channels, app }: ResolveSystemDeps): ResolveSystem {
  const ownDomain = findHandleHost(config)
  const origins = [config.origin, `https://${ownDomain}`]
  const { fetch } = config.dev ? openLocalFetch(system, { app, origins, channels }) : system
  const { fetch: fetchOwn } = config.dev ? { fetch } : toConfigured(system)
  const network: Pick<ResolveSystem, 'fetch' | 'resolveDns' | 'now'> = {
    // The gateway itself may be in a private network. Other private addresses are not fetched.
    fetch: (url, request) => (origins.includes(parseUrl(url)?.origin ?? '') ? fetchOwn : fetch)(url, request),
    resolveDns: system.resolveDns,
    now: system.now,
  }
  return {
    ...network,
    cards: createCardReader(network),
    extensionUris: knownExtensionUris,
    async dkimRecordsOf(domain) {
      if (domain !== ownDomain) return []
      const keys = (
        await Promise.all(channels.map(channel => channel.keys?.list().catch(noKeysIfNotMade) ?? []))
      ).flat()
      return keys.flatMap(({ dns, publicKey }) =>
        dns?.name.endsWith(`._domainkey.${ownDomain}`) && publicKey ? [{ name: dns.name, key: publicKey }] : [],
      )
    },
  }
}

/** Returns no keys for a gateway that has never run, and rethrows any other error. */
function noKeysIfNotMade(error: unknown): readonly PublishedKey[] {
  if (error instanceof KeyNotMade) return []
  throw error
}
