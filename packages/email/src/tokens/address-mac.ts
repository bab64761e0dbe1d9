import { createHmac, timingSafeEqual } from 'node:crypto'

/** Short signatures with a key of the gateway, in lower-case hex, because some programs fold addresses. */
export interface AddressMac {
  sign(purpose: string, agent: string, data: string, digits: number): string
  isSigned(given: string, purpose: string, agent: string, data: string): boolean
}

export function createAddressMac(key: string): AddressMac {
  const sign: AddressMac['sign'] = (purpose, agent, data, digits) =>
    createHmac('sha256', key).update(`${purpose} ${agent} ${data}`).digest('hex').slice(0, digits)
  return {
    sign,
    isSigned: (given, purpose, agent, data) => isSame(given, sign(purpose, agent, data, given.length)),
  }
}

function isSame(left: string, right: string): boolean {
  return left.length > 0 && left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right))
}
