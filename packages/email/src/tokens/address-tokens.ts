// Signs the tokens in addresses, links and fields by which the gateway recognizes its own mail.

import type { ChannelContext, SecretRing } from '@postern/pipeline'
import type { AddressMac } from './address-mac.ts'
import { createAddressMac } from './address-mac.ts'
import type { AddressToken } from './bounce-address.ts'
import { findBounceToken, readBounceToken } from './bounce-address.ts'
import type { HopCount } from './hop-field.ts'
import { formatHopField, isOwnHopField } from './hop-field.ts'
import type { AgentTag } from './reply-token.ts'
import { readReplyToken } from './reply-token.ts'
import type { Unsubscription } from './unsubscription.ts'
import { formatUnsubscription, readUnsubscription } from './unsubscription.ts'

/** The parsed text after the `+` of an address. */
export interface ParsedTag {
  readonly token?: AddressToken | undefined
  /** The peer's own tag, without the token. */
  readonly tag?: string | undefined
}

export type AddressTokens = ReturnType<typeof createAddressTokens>

/** A response whose replies get their own address. */
interface ReplyPlan {
  readonly response: string
  /** The tag of the address that the message came to. */
  readonly tag?: string | undefined
  /** The date of the response, ms since the epoch. */
  readonly issuedAt: number
}

/** The longest local part in octets (RFC 5321 §4.5.3.1.1). */
const maxLocalChars = 64

const dayMs = 24 * 3_600_000

/** The number of days in which a reply finds its thread by the address alone. */
const replyDays = 180

/** Returns an alias of a response that is short enough for an address. */
export function replyAlias(response: string): string {
  return `reply:${response.slice(0, 16)}`
}

/** Creates the formatter and reader of tokens with the keys of a secret. */
export function createAddressTokens(secret: SecretRing, domain: string) {
  const mac = createAddressMac(secret)
  return {
    /** Returns the envelope sender of one delivery (VERP), or the plain address if the longer one would not fit. */
    formatBounceAddress(agent: string, delivery: string): string {
      const id = delivery.toLowerCase()
      const local = `${agent}+b.${id}.${mac.sign({ purpose: 'bounce', agent, data: id }, 20)}`
      return /^[0-9a-z]{1,20}$/.test(id) && local.length <= maxLocalChars ? `${local}@${domain}` : `${agent}@${domain}`
    },
    /** Returns the address for replies to a response, or undefined if it would not fit. */
    formatReplyAddress(agent: string, { response, tag, issuedAt }: ReplyPlan): string | undefined {
      if (!/^[0-9a-f]{32}$/.test(response)) return undefined
      const expiryDay = Math.floor(issuedAt / dayMs) + replyDays
      const data = `${response.slice(0, 16)}${(expiryDay & 0xffff).toString(16).padStart(4, '0')}`
      const local = `${agent}${tag ? `+${tag}` : ''}+r.${data}${mac.sign({ purpose: 'reply', agent, data }, 12)}`
      return local.length <= maxLocalChars ? `${local}@${domain}` : undefined
    },
    /** Splits the tag of an address into the peer's tag and a token. `now` is in ms. */
    readTag(agent: string, tag: string | undefined, now: number): ParsedTag {
      if (tag === undefined) return {}
      const start = tag.lastIndexOf('+') + 1
      const lastTag = tag.slice(start)
      const token = readToken(mac, { agent, text: lastTag }, now)
      const tagWithoutToken = token ? tag.slice(0, Math.max(start - 1, 0)) : tag
      return { ...(token && { token }), ...(tagWithoutToken && { tag: tagWithoutToken }) }
    },
    /** Finds a bounce token in a text that quotes one, such as a complaint. */
    findBounce: (agent: string, text: string) => findBounceToken(mac, agent, text),
    /** Returns the value of the header field that marks mail of this gateway. */
    formatHop: (agent: string, hopCount: HopCount, response: string) =>
      formatHopField(mac, { agent, response }, hopCount),
    /** Returns true if this gateway wrote the value of a hop field. */
    isOwnHop: (value: string) => isOwnHopField(mac, value),
    /** Returns the token in the link by which a person ends unasked mail of an agent. */
    formatUnsubscription: (unsubscription: Unsubscription) => formatUnsubscription(mac, unsubscription),
    readUnsubscription: (agent: string, text: string) => readUnsubscription(mac, agent, text),
  }
}

/** Returns the token in the last tag of an address, or undefined if the tag is not a token or is too old. */
function readToken(mac: AddressMac, tag: AgentTag, now: number): AddressToken | undefined {
  const response = readReplyToken(mac, tag, now)
  if (response === undefined) return readBounceToken(mac, tag.agent, tag.text)
  return { kind: 'reply', alias: replyAlias(response) }
}

/**
 * Creates the function that opens the tokens of this gateway. Their key is created once, and stored before its first
 * use.
 */
export function createTokenOpener({
  store,
  agents,
}: Pick<ChannelContext, 'store' | 'agents'>): () => Promise<AddressTokens> {
  return async () => createAddressTokens(await store.openSecret('email-address-tokens'), agents.domain)
}
