// Computes the message authentication codes of address tokens.

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { SecretRing } from '@postern/pipeline'

export function createAddressMac(secret: SecretRing): AddressMac {
  const signWith = (key: string, [purpose, agent, data]: readonly [string, string, string], digits: number) =>
    createHmac('sha256', key).update(`${purpose} ${agent} ${data}`).digest('hex').slice(0, digits)
  return {
    sign: (purpose, agent, data, digits) => signWith(secret.list()[0] ?? '', [purpose, agent, data], digits),
    isSigned(mac, purpose, agent, data) {
      const left = Buffer.from(mac)
      return secret.list().some(key => {
        const right = Buffer.from(signWith(key, [purpose, agent, data], mac.length))
        return left.length > 0 && left.length === right.length && timingSafeEqual(left, right)
      })
    },
  }
}

/**
 * Short message authentication codes with a key of the gateway. They are lower-case hex, because some programs fold the
 * case of addresses.
 */
export interface AddressMac {
  sign(purpose: string, agent: string, data: string, digits: number): string
  isSigned(mac: string, purpose: string, agent: string, data: string): boolean
}
