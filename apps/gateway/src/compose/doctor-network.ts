// Opens the network for the checks of `postern doctor`.
import type { GuardedFetch, OpenStream } from '@postern/message'
import { toConfigured, Unavailable } from '@postern/message'
import type { DoctorNetwork } from '@postern/operator'
import type { Config } from '../config/schema.ts'
import type { GatewaySystem } from '../system/system.ts'

/** Opens the network, which closes with the system. */
export function openDoctorNetwork(system: GatewaySystem, { dev }: Pick<Config, 'dev'>): DoctorNetwork {
  const { fetch, openStream } = toConfigured(system)
  const fetchesByOrigin = new Map<string, GuardedFetch>()
  return {
    fetch,
    openStream: openStream ?? refuseToStream,
    fetchFor(origin) {
      const fetch = fetchesByOrigin.get(origin) ?? system.fetchFor(origin)
      fetchesByOrigin.set(origin, fetch)
      return fetch
    },
    resolveDns: system.resolveDns,
    locate: (host, port) => ({ host, port }),
    isSimulated: dev,
  }
}

const refuseToStream: OpenStream = async () => {
  throw new Unavailable('nothing can be streamed')
}
