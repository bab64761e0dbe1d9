/** What we put on everything we send (`address-tokens.ts`). */
export const hopField = 'X-Postern-Hop'

export interface HopMark {
  /** How many agents have had a hand in it, its author counted. */
  readonly hop: number
  /** How many may; older gateways do not say. */
  readonly maxHops?: number | undefined
}

const pattern = /^[^\s;]{1,64}; hop=([1-9]\d{0,2});(?: max=([1-9]\d{0,2});)? id=[0-9a-z-]{1,64}; mac=[0-9a-f]{32}$/

/** What a hop field says, whoever wrote it; undefined when it is none. */
export function parseHopField(value: string): HopMark | undefined {
  const [, hop, max] = pattern.exec(value) ?? []
  return hop === undefined ? undefined : { hop: Number(hop), ...(max !== undefined && { maxHops: Number(max) }) }
}
