import type { Admitted, Desk, Intake } from '@postern/core'
import { createRateLimit, networkOf } from '@postern/http'
import type { Config } from './config/schema.ts'
import { productionLimits } from './config/schema.ts'

export interface Limits {
  /** Counts one request of a network address. @throws Rejection `rate_limited` */
  takeAddress(address: string): void
  /** The desk, refusing what exceeds the limits per host and per sender. */
  guardDesk(desk: Desk): Desk
}

/** Limits hold in production by default and in dev mode only where the file sets them. */
export function createLimits({ limits, dev }: Pick<Config, 'limits' | 'dev'>, now: () => number): Limits {
  const { per_address, per_host, per_identity } = dev ? limits : { ...productionLimits, ...limits }
  const open = (perMinute: number | undefined) => (perMinute ? createRateLimit({ perMinute }, now) : undefined)
  const [addresses, hosts, identities] = [open(per_address), open(per_host), open(per_identity)]
  return {
    takeAddress: address => addresses?.take(networkOf(address)),
    guardDesk: desk => {
      if (!hosts && !identities) return desk
      return Object.assign(Object.create(desk) as Desk, {
        async admit(intake: Intake, correlationId: string): Promise<Admitted> {
          const { sender, received_via } = intake.message
          const { address, verified } = sender
          // Whoever only claims a name must not use up what its owner may send.
          const kind = `${received_via} ${verified ? 'proven' : 'claimed'}`
          hosts?.take(`${kind} ${address.slice(address.lastIndexOf('@') + 1)}`)
          identities?.take(`${kind} ${address}`)
          return desk.admit(intake, correlationId)
        },
      })
    },
  }
}
