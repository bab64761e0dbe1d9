// Computes the message authentication codes of address tokens.

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { SecretRing } from '@postern/pipeline'

/** Creates the message authentication codes with the keys of a secret. The newest key signs, and all keys verify. */
export function createAddressMac(secret: SecretRing): AddressMac {
  const signWith = (key: string, { purpose, agent, data }: MacInput, digits: number) =>
    createHmac('sha256', key).update(`${purpose} ${agent} ${data}`).digest('hex').slice(0, digits)
  return {
    sign: (input, digits) => signWith(secret.list()[0] ?? '', input, digits),
    isSigned(mac, input) {
      const left = Buffer.from(mac)
      return secret.list().some(key => {
        const right = Buffer.from(signWith(key, input, mac.length))
        return left.length > 0 && left.length === right.length && timingSafeEqual(left, right)
      })
    },
  }
}

/** The signed data of an agent. Data that is signed for one purpose is not valid for another. */
interface MacInput {
  readonly purpose: string
  readonly agent: string
  readonly data: string
}

/**
 * Short message authentication codes with a key of the gateway. They are lower-case hex, because some programs fold the
 * case of addresses.
 */
export interface AddressMac {
  /** Returns a code with this number of hexadecimal digits. */
  sign(input: MacInput, digits: number): string
  isSigned(mac: string, input: MacInput): boolean
}
