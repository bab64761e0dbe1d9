import type { AddressMac } from './address-mac.ts'

/** The header field on every mail that this gateway sends. */
export const hopField = 'X-Postern-Hop'

export interface HopMark {
  /** The number of agents that took part in it, with its author. */
  readonly hop: number
  /** The maximum of that number; older gateways leave it out. */
  readonly maxHops?: number | undefined
}

const pattern = /^[^\s;]{1,64}; hop=([1-9]\d{0,2});(?: max=([1-9]\d{0,2});)? id=[0-9a-z-]{1,64}; mac=[0-9a-f]{32}$/

/** The content of a hop field, whoever wrote it; undefined when it is malformed. */
export function parseHopField(value: string): HopMark | undefined {
  const [, hop, max] = pattern.exec(value) ?? []
  return hop === undefined ? undefined : { hop: Number(hop), ...(max !== undefined && { maxHops: Number(max) }) }
}

/** The field on a response of this agent, signed. */
export function formatHopField(mac: AddressMac, agent: string, { hop, maxHops }: HopMark, response: string): string {
  const max = maxHops === undefined ? '' : ` max=${maxHops};`
  const signed = maxHops === undefined ? `${hop} ${response}` : `${hop}/${maxHops} ${response}`
  return `${agent}; hop=${hop};${max} id=${response}; mac=${mac.sign('hop', agent, signed, 32)}`
}

/** Whether this gateway wrote the field. */
export function isOwnHopField(mac: AddressMac, value: string): boolean {
  const [, agent = '', hop = '', max, id = '', signature = ''] =
    /^([^\s;]{1,64}); hop=(\d{1,3});(?: max=(\d{1,3});)? id=([0-9a-z-]{1,64}); mac=([0-9a-f]{32})$/.exec(value) ?? []
  return agent !== '' && mac.isSigned(signature, 'hop', agent, `${max === undefined ? hop : `${hop}/${max}`} ${id}`)
}
