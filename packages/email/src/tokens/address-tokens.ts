import { createHmac, timingSafeEqual } from 'node:crypto'
import type { ChannelContext } from '@postern/core'
import { randomHex } from '@postern/core'

/** The meaning of an own address that mail comes to. It names the conversation, never the author. */
export type AddressToken =
  /** A bounce of this delivery. */
  | { readonly kind: 'bounce'; readonly delivery: string }
  /** An answer to what is known by this alias. */
  | { readonly kind: 'reply'; readonly alias: string }

/** The parsed text after the `+` of an address. */
export interface ReadTag {
  readonly token?: AddressToken | undefined
  /** The peer's own tag, without the token. */
  readonly tag?: string | undefined
}

export interface AddressTokens {
  /** Envelope sender of one delivery (VERP); the plain address when a longer one would not fit. */
  bounceAddress(agent: string, delivery: string): string
  /** The address for answers to a response; undefined when it would not fit. `now` in ms. */
  replyAddress(agent: string, reply: ReplyPlan): string | undefined
  readTag(agent: string, tag: string | undefined, now: number): ReadTag
  /** A token for a bounce somewhere in a text, as complaints quote it. */
  findBounce(agent: string, text: string): Extract<AddressToken, { kind: 'bounce' }> | undefined
  /** The header field that marks what this gateway sends. */
  formatHop(agent: string, mark: HopMark, response: string): string
  /** Whether this gateway wrote a header field of that name. */
  isOwnHop(value: string): boolean
  /** The text in the link by which a person ends unasked mail of an agent. */
  formatUnsubscription(unsubscription: Unsubscription): string
  readUnsubscription(agent: string, text: string): Unsubscription | undefined
}

interface ReplyPlan {
  readonly response: string
  /** The tag the message came with. */
  readonly tag?: string | undefined
  /** ms since the epoch. */
  readonly at: number
}

/** RFC 5321 §4.5.3.1.1 */
const maxLocal = 64
const dayMs = 24 * 3_600_000
/** A complaint quotes one mail, and that one address a few times. */
const maxCandidates = 50
/** How long an answer finds its thread by the address alone. */
const replyDays = 180

/** Another name for a response, short enough for an address. */
export function replyAlias(response: string): string {
  return `reply:${response.slice(0, 16)}`
}

export function createAddressTokens(key: string, domain: string): AddressTokens {
  const mac = createAddressMac(key)
  return {
    bounceAddress(agent, delivery) {
      const id = delivery.toLowerCase()
      const local = `${agent}+b.${id}.${mac.sign('bounce', agent, id, 20)}`
      return /^[0-9a-z]{1,20}$/.test(id) && local.length <= maxLocal ? `${local}@${domain}` : `${agent}@${domain}`
    },
    replyAddress(agent, { response, tag, at }) {
      if (!/^[0-9a-f]{32}$/.test(response)) return undefined
      const until = Math.floor(at / dayMs) + replyDays
      const data = `${response.slice(0, 16)}${(until & 0xffff).toString(16).padStart(4, '0')}`
      const local = `${agent}${tag ? `+${tag}` : ''}+r.${data}${mac.sign('reply', agent, data, 12)}`
      return local.length <= maxLocal ? `${local}@${domain}` : undefined
    },
    readTag(agent, tag, now) {
      if (tag === undefined) return {}
      const at = tag.lastIndexOf('+') + 1
      const last = tag.slice(at)
      const token = readBounce(mac, agent, last) ?? readReply(mac, agent, last, now)
      const rest = token ? tag.slice(0, Math.max(at - 1, 0)) : tag
      return { ...(token && { token }), ...(rest && { tag: rest }) }
    },
    findBounce(agent, text) {
      for (const last of listCandidates(text)) {
        const token = readBounce(mac, agent, last)
        if (token?.kind === 'bounce') return token
      }
      return undefined
    },
    formatHop: (agent, mark, response) => formatHopField(mac, agent, mark, response),
    formatUnsubscription: unsubscription => formatUnsubscription(mac, unsubscription),
    readUnsubscription: (agent, text) => readUnsubscription(mac, agent, text),
    isOwnHop: value => isOwnHopField(mac, value),
  }
}

function readBounce(mac: AddressMac, agent: string, text: string): AddressToken | undefined {
  const [, delivery = '', signature = ''] = /^b\.([0-9a-z]{1,20})\.([0-9a-f]{20})$/i.exec(text) ?? []
  const id = delivery.toLowerCase()
  return mac.isSigned(signature.toLowerCase(), 'bounce', agent, id) && id ? { kind: 'bounce', delivery: id } : undefined
}

function readReply(mac: AddressMac, agent: string, text: string, now: number): AddressToken | undefined {
  const [, data = '', signature = ''] =
    /^r\.([0-9a-f]{20})([0-9a-f]{12})$/i.exec(text)?.map(each => each.toLowerCase()) ?? []
  const until = Number.parseInt(data.slice(16), 16) * dayMs
  if (!data || until < now || !mac.isSigned(signature, 'reply', agent, data)) return undefined
  return { kind: 'reply', alias: replyAlias(data) }
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

/** The header field on every mail that this gateway sends. */
export const hopField = 'X-Postern-Hop'

interface HopMark {
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

/** The field on a response of this agent, signed. */
function formatHopField(mac: AddressMac, agent: string, { hop, maxHops }: HopMark, response: string): string {
  const max = maxHops === undefined ? '' : ` max=${maxHops};`
  const signed = maxHops === undefined ? `${hop} ${response}` : `${hop}/${maxHops} ${response}`
  return `${agent}; hop=${hop};${max} id=${response}; mac=${mac.sign('hop', agent, signed, 32)}`
}

/** Whether this gateway wrote the field. */
function isOwnHopField(mac: AddressMac, value: string): boolean {
  const [, agent = '', hop = '', max, id = '', signature = ''] =
    /^([^\s;]{1,64}); hop=(\d{1,3});(?: max=(\d{1,3});)? id=([0-9a-z-]{1,64}); mac=([0-9a-f]{32})$/.exec(value) ?? []
  return agent !== '' && mac.isSigned(signature, 'hop', agent, `${max === undefined ? hop : `${hop}/${max}`} ${id}`)
}

/** Short signatures with a key of the gateway, in lower-case hex, because some programs fold addresses. */
interface AddressMac {
  sign(purpose: string, agent: string, data: string, digits: number): string
  isSigned(given: string, purpose: string, agent: string, data: string): boolean
}

function createAddressMac(key: string): AddressMac {
  const sign: AddressMac['sign'] = (purpose, agent, data, digits) =>
    createHmac('sha256', key).update(`${purpose} ${agent} ${data}`).digest('hex').slice(0, digits)
  return {
    sign,
    isSigned(given, purpose, agent, data) {
      const [left, right] = [Buffer.from(given), Buffer.from(sign(purpose, agent, data, given.length))]
      return left.length > 0 && left.length === right.length && timingSafeEqual(left, right)
    },
  }
}

/** Opens the tokens of this gateway once; their key is made once and durable before the first use. */
export function createTokenKey({
  store,
  platform,
  agents,
}: Pick<ChannelContext, 'store' | 'platform' | 'agents'>): () => Promise<AddressTokens> {
  let opened: Promise<AddressTokens> | undefined
  const open = async () => {
    const key = await store.secret('email-address-tokens', async () => randomHex(platform, 32))
    return createAddressTokens(key, agents.domain)
  }
  return () => {
    opened ??= open()
    opened.catch(() => {
      opened = undefined
    })
    return opened
  }
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
function formatUnsubscription(mac: AddressMac, { agent, mailbox }: Unsubscription): string {
  return `${Buffer.from(mailbox).toString('base64url')}.${mac.sign('unsubscribe', agent, mailbox, 40)}`
}

/** Undefined for one that was not written here. */
function readUnsubscription(mac: AddressMac, agent: string, text: string): Unsubscription | undefined {
  const [, data = '', signature = ''] = unsubscriptionPattern.exec(text) ?? []
  const mailbox = Buffer.from(data, 'base64url').toString()
  return data && mac.isSigned(signature, 'unsubscribe', agent, mailbox) ? { agent, mailbox } : undefined
}
