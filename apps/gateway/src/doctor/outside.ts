import type { GuardedFetch, OpenStream } from '@postern/core'
import { Unavailable } from '@postern/core'
import type { Config } from '../config/schema.ts'
import type { GatewayPlatform } from '../platform/platform.ts'
import type { Outside } from './deps.ts'

/** The way out of the checks by a platform. It is closed with the platform. */
export function openOutside(platform: GatewayPlatform, { dev }: Pick<Config, 'dev'>): Outside {
  const trusted = new Map<string, GuardedFetch>()
  return {
    fetch: platform.fetch,
    openStream: platform.openStream ?? refuseToStream,
    fetchFor(origin) {
      const fetch = trusted.get(origin) ?? platform.fetchFor(origin)
      trusted.set(origin, fetch)
      return fetch
    },
    resolveDns: platform.resolveDns,
    locate: (host, port) => ({ host, port }),
    isSimulated: dev,
  }
}

const refuseToStream: OpenStream = async () => {
  throw new Unavailable('nothing can be streamed')
}
