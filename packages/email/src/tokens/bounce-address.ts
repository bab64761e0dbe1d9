// Reads the bounce addresses of deliveries (VERP), and finds such addresses in text.
import type { AddressMac } from './address-mac.ts'

type BounceToken = Extract<AddressToken, { kind: 'bounce' }>

/** The meaning of a token in an address of this gateway. It names the conversation, never the author. */
export type AddressToken =
  /** A bounce of a delivery. */
  | { readonly kind: 'bounce'; readonly delivery: string }
  /** A reply to the response with this alias. */
  | { readonly kind: 'reply'; readonly alias: string }

/**
 * The maximum number of tokens that are checked in one text. A complaint quotes one mail, which has the address a few
 * times.
 */
const maxCandidates = 50

/** Finds the first bounce token of an agent in a text. */
export function findBounceToken(mac: AddressMac, agent: string, text: string): BounceToken | undefined {
  for (const candidate of listCandidates(text)) {
    const token = readBounceToken(mac, agent, candidate)
    if (token) return token
  }
  return undefined
}

/** Reads a bounce token. It returns undefined if this gateway did not write it. */
export function readBounceToken(mac: AddressMac, agent: string, text: string): BounceToken | undefined {
  const [, delivery = '', signature = ''] = /^b\.([0-9a-z]{1,20})\.([0-9a-f]{20})$/i.exec(text) ?? []
  const id = delivery.toLowerCase()
  return mac.isSigned(signature.toLowerCase(), { purpose: 'bounce', agent, data: id }) && id
    ? { kind: 'bounce', delivery: id }
    : undefined
}

/** Returns only the parts of a text that look like bounce addresses. The result is short enough to be checked for every agent. */
export function quoteBounceAddresses(text: string): string {
  return listCandidates(text)
    .map(token => `+${token}@`)
    .join(' ')
}

function listCandidates(text: string): readonly string[] {
  const addresses: string[] = []
  for (const [, token = ''] of text.matchAll(/\+(b\.[0-9a-z]{1,20}\.[0-9a-f]{20})@/gi)) {
    if (addresses.push(token) >= maxCandidates) break
  }
  return addresses
}
