// Reads the tokens in addresses for replies, which name the answered response.
import type { AddressMac } from './address-mac.ts'

const dayMs = 24 * 3_600_000

/** The last tag of an address of an agent. */
export interface AgentTag {
  readonly agent: string
  readonly text: string
}

/**
 * Returns text that begins with the start of the id of the answered response. It returns undefined if the token has
 * expired or is not from this gateway.
 */
export function readReplyToken(mac: AddressMac, { agent, text }: AgentTag, now: number): string | undefined {
  const [, data = '', signature = ''] =
    /^r\.([0-9a-f]{20})([0-9a-f]{12})$/i.exec(text)?.map(group => group.toLowerCase()) ?? []
  const expiresAt = Number.parseInt(data.slice(16), 16) * dayMs
  if (!data || expiresAt < now || !mac.isSigned(signature, { purpose: 'reply', agent, data })) return undefined
  return data
}
