import type { Channel } from '@postern/core'
import type { Hono } from 'hono'
import type { Config } from '../config/schema.ts'
import { handleHostOf } from '../config/schema.ts'
import type { GatewayPlatform } from '../platform/platform.ts'
import { openLocalFetch } from '../platform/platform.ts'
import type { ResolvePlatform } from './view/fetched.ts'

interface OwnPlatformDeps {
  readonly config: Config
  readonly platform: GatewayPlatform
  readonly channels: readonly Channel[]
  readonly app: Pick<Hono, 'fetch'>
}

/** The way out that an address is looked at by. In dev mode nobody but ourselves could reach our own origin. */
export function createResolvePlatform({ config, platform, channels, app }: OwnPlatformDeps): ResolvePlatform {
  const { fetch } = config.dev
    ? openLocalFetch(platform, { app, origins: [config.origin, `https://${handleHostOf(config)}`], channels })
    : platform
  const ours = handleHostOf(config)
  return {
    fetch,
    resolveDns: platform.resolveDns,
    now: platform.now,
    async dkimRecordsOf(domain) {
      if (domain !== ours) return []
      const keys = (await Promise.all(channels.map(channel => channel.publishedKeys()))).flat()
      return keys.flatMap(({ dns, publicKey }) =>
        dns?.name.endsWith(`._domainkey.${ours}`) && publicKey ? [{ name: dns.name, key: publicKey }] : [],
      )
    },
  }
}
