import type { Channel } from '@postern/core'
import type { Hono } from 'hono'
import { handleHostOf } from '../config/handle-host.ts'
import type { Config } from '../config/schema.ts'
import { openOwnDoor } from '../own-door.ts'
import type { RealWorld } from '../world.ts'
import type { ResolveWorld } from './peer-view.ts'

export interface ResolveHouse {
  readonly config: Config
  readonly world: RealWorld
  readonly channels: readonly Channel[]
  readonly app: Pick<Hono, 'fetch'>
}

/** The way out that an address is looked at by. In dev mode nobody but ourselves could reach our own origin. */
export function createResolveWorld({ config, world, channels, app }: ResolveHouse): ResolveWorld {
  const { fetch } = config.dev
    ? openOwnDoor(world, { app, origins: [config.origin, `https://${handleHostOf(config)}`] })
    : world
  const ours = handleHostOf(config)
  return {
    fetch,
    resolveDns: world.resolveDns,
    now: world.now,
    async dkimRecordsOf(domain) {
      if (domain !== ours) return []
      const keys = (await Promise.all(channels.map(channel => channel.publishedKeys()))).flat()
      return keys.flatMap(({ dns, publicKey }) =>
        dns?.name.endsWith(`._domainkey.${ours}`) && publicKey ? [{ name: dns.name, key: publicKey }] : [],
      )
    },
  }
}
