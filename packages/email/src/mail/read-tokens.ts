const dayMs = 24 * 3_600_000

type BounceToken = Extract<AddressToken, { kind: 'bounce' }>

/** The meaning of an own address that mail comes to. It names the conversation, never the author. */
export type AddressToken =
  /** A bounce of this delivery. */
  | { readonly kind: 'bounce'; readonly delivery: string }
  /** An answer to what is known by this alias. */
  | { readonly kind: 'reply'; readonly alias: string }

/** A complaint quotes one mail, and that one address a few times. */
const maxCandidates = 50

/** A token for a bounce somewhere in a text. */
export function findBounce(mac: AddressMac, agent: string, text: string): BounceToken | undefined {
  for (const last of listCandidates(text)) {
    const token = readBounce(mac, agent, last)
    if (token) return token
  }
  return undefined
}

export function readBounce(mac: AddressMac, agent: string, text: string): BounceToken | undefined {
  const [, delivery = '', signature = ''] = /^b\.([0-9a-z]{1,20})\.([0-9a-f]{20})$/i.exec(text) ?? []
  const id = delivery.toLowerCase()
  return mac.isSigned(signature.toLowerCase(), 'bounce', agent, id) && id ? { kind: 'bounce', delivery: id } : undefined
}

/** Of the response that an answer comes to. */
export function readReplyToken(mac: AddressMac, agent: string, text: string, now: number): string | undefined {
  const [, data = '', signature = ''] =
    /^r\.([0-9a-f]{20})([0-9a-f]{12})$/i.exec(text)?.map(each => each.toLowerCase()) ?? []
  const until = Number.parseInt(data.slice(16), 16) * dayMs
  if (!data || until < now || !mac.isSigned(signature, 'reply', agent, data)) return undefined
  return data
}

/** What in a text may be addresses for bounces, and nothing of the rest: short enough to be looked at by every agent. */
export function quoteBounceAddresses(text: string): string {
  return listCandidates(text)
    .map(last => `+${last}@`)
    .join(' ')
}

function listCandidates(text: string): readonly string[] {
  const found: string[] = []
  for (const [, last = ''] of text.matchAll(/\+(b\.[0-9a-z]{1,20}\.[0-9a-f]{20})@/gi)) {
    if (found.push(last) >= maxCandidates) break
  }
  return found
}

export interface HopMark {
  /** The number of agents that took part in it, with its author. */
  readonly hop: number
  /** The maximum of that number; older gateways leave it out. */
  readonly maxHops?: number | undefined
}

const hopPattern = /^[^\s;]{1,64}; hop=([1-9]\d{0,2});(?: max=([1-9]\d{0,2});)? id=[0-9a-z-]{1,64}; mac=[0-9a-f]{32}$/

/** The content of a hop field, whoever wrote it; undefined when it is malformed. */
export function parseHopField(value: string): HopMark | undefined {
  const [, hop, max] = hopPattern.exec(value) ?? []
  return hop === undefined ? undefined : { hop: Number(hop), ...(max !== undefined && { maxHops: Number(max) }) }
}

/** Whether this gateway wrote the field. */
export function isOwnHopField(mac: AddressMac, value: string): boolean {
  const [, agent = '', hop = '', max, id = '', signature = ''] =
    /^([^\s;]{1,64}); hop=(\d{1,3});(?: max=(\d{1,3});)? id=([0-9a-z-]{1,64}); mac=([0-9a-f]{32})$/.exec(value) ?? []
  return agent !== '' && mac.isSigned(signature, 'hop', agent, `${max === undefined ? hop : `${hop}/${max}`} ${id}`)
}

/** Short signatures with a key of the gateway, in lower-case hex, because some programs fold addresses. */
export interface AddressMac {
  sign(purpose: string, agent: string, data: string, digits: number): string
  isSigned(given: string, purpose: string, agent: string, data: string): boolean
}

/** The mailbox that wants no more mail, and the agent. */
export interface Unsubscription {
  readonly agent: string
  readonly mailbox: string
}

const unsubscriptionPattern = /^([\w-]{1,700})\.([0-9a-f]{40})$/

/**
 * Names a mailbox to this gateway alone: anyone with the mail can use it, and nobody can make one for another mailbox.
 * It does not expire (RFC 8058 §3.1).
 */
export function formatUnsubscription(mac: AddressMac, { agent, mailbox }: Unsubscription): string {
  return `${Buffer.from(mailbox).toString('base64url')}.${mac.sign('unsubscribe', agent, mailbox, 40)}`
}

/** Undefined for one that was not written here. */
export function readUnsubscription(mac: AddressMac, agent: string, text: string): Unsubscription | undefined {
  const [, data = '', signature = ''] = unsubscriptionPattern.exec(text) ?? []
  const mailbox = Buffer.from(data, 'base64url').toString()
  return data && mac.isSigned(signature, 'unsubscribe', agent, mailbox) ? { agent, mailbox } : undefined
}
