// Reads the addresses for replies, which name the response that is answered.
import type { AddressMac } from './address-mac.ts'

const dayMs = 24 * 3_600_000

/**
 * Returns the start of the id of the response that a reply answers, or undefined if the token is too old or not from this gateway.
 */
export function readReplyToken(mac: AddressMac, agent: string, text: string, now: number): string | undefined {
  const [, data = '', signature = ''] =
    /^r\.([0-9a-f]{20})([0-9a-f]{12})$/i.exec(text)?.map(each => each.toLowerCase()) ?? []
  const expiresAt = Number.parseInt(data.slice(16), 16) * dayMs
  if (!data || expiresAt < now || !mac.isSigned(signature, 'reply', agent, data)) return undefined
  return data
}
