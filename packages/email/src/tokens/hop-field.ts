// Formats and parses the header field that counts the agents in a chain.
import type { AddressMac } from './address-mac.ts'

/** The name of the header field on every mail that this gateway sends. */
export const hopField = 'X-Postern-Hop'

/** Returns the signed value of the field on a response of an agent. */
export function formatHopField(
  mac: AddressMac,
  { agent, response }: { readonly agent: string; readonly response: string },
  { hop, maxHops }: HopCount,
): string {
  const max = maxHops === undefined ? '' : ` max=${maxHops};`
  const signedText = maxHops === undefined ? `${hop} ${response}` : `${hop}/${maxHops} ${response}`
  return `${agent}; hop=${hop};${max} id=${response}; mac=${mac.sign({ purpose: 'hop', agent, data: signedText }, 32)}`
}

/** The position of a mail in a chain of agents. */
export interface HopCount {
  /** The number of agents in the chain so far, including the author of the mail. */
  readonly hop: number
  /** The maximum of that number. Older gateways leave it out. */
  readonly maxHops?: number | undefined
}

const hopPattern = /^[^\s;]{1,64}; hop=([1-9]\d{0,2});(?: max=([1-9]\d{0,2});)? id=[0-9a-z-]{1,64}; mac=[0-9a-f]{32}$/

/** Parses a hop field of any gateway, without checking its code. It returns undefined if the field is malformed. */
export function parseHopField(value: string): HopCount | undefined {
  const [, hop, max] = hopPattern.exec(value) ?? []
  return hop === undefined ? undefined : { hop: Number(hop), ...(max !== undefined && { maxHops: Number(max) }) }
}

/** Returns true if this gateway wrote a hop field. */
export function isOwnHopField(mac: AddressMac, value: string): boolean {
  const [, agent = '', hop = '', max, id = '', signature = ''] =
    /^([^\s;]{1,64}); hop=(\d{1,3});(?: max=(\d{1,3});)? id=([0-9a-z-]{1,64}); mac=([0-9a-f]{32})$/.exec(value) ?? []
  const data = `${max === undefined ? hop : `${hop}/${max}`} ${id}`
  return agent !== '' && mac.isSigned(signature, { purpose: 'hop', agent, data })
}
