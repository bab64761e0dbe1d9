import { STATUS_CODES } from 'node:http'
import type { DeliveryReply, FetchAnswer } from '@postern/core'

/** As much of an answer is looked at, bytes. */
const lookedAt = 1_024
const maxChars = 200

/**
 * How a peer answered an attempt to deliver: the status, and the first line of its words. `secrets`: what was sent along to prove us; a peer
 * that shows the request in its answer must not put them into the record.
 */
export function readReply(
  { status, body }: Pick<FetchAnswer, 'status' | 'body'>,
  secrets: readonly (string | undefined)[] = [],
): DeliveryReply {
  const text = Buffer.from(body.subarray(0, lookedAt)).toString()
  const known = secrets.filter(secret => secret !== undefined && secret !== '') as readonly string[]
  const [line = ''] = text.trimStart().split(/[\r\n]/, 1)
  // One that begins where the look ends would not be found whole.
  const isShown = known.every(secret => !line.includes(secret.slice(0, 8)))
  const words = isShown
    ? line
        .replace(/\p{Cc}/gu, ' ')
        .slice(0, maxChars)
        .toWellFormed()
        .trim()
    : '[shows a secret]'
  const reply_line = [status, STATUS_CODES[status], words && `· ${words}`].filter(Boolean).join(' ')
  return { status, reply_line }
}
