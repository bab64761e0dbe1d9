// Reads a peer's reply to a delivery for the delivery's record, and removes our credentials.

import { STATUS_CODES } from 'node:http'
import type { DeliveryReply, FetchAnswer } from '@postern/message'

/** The maximum number of bytes of a reply that are read. */
const maxReplyBytes = 1_024
const maxReplyChars = 200

/**
 * Describes a peer's reply to an attempt to deliver: the status, and the first line of its text. `secrets` are our credentials for the peer, which
 * must not get into the record even if the peer quotes the request in its reply.
 */
export function readReply(
  { status, body }: Pick<FetchAnswer, 'status' | 'body'>,
  secrets: readonly (string | undefined)[] = [],
): DeliveryReply {
  const text = Buffer.from(body.subarray(0, maxReplyBytes)).toString()
  const knownSecrets = secrets.filter(secret => secret !== undefined && secret !== '') as readonly string[]
  const [firstLine = ''] = text.trimStart().split(/[\r\n]/, 1)
  // The beginning of a secret is enough, because a secret may be cut off at the end of the bytes that are read.
  const isSafe = knownSecrets.every(secret => !firstLine.includes(secret.slice(0, 8)))
  const replyText = isSafe
    ? firstLine
        .replace(/\p{Cc}/gu, ' ')
        .slice(0, maxReplyChars)
        .toWellFormed()
        .trim()
    : '[shows a secret]'
  const reply_line = [status, STATUS_CODES[status], replyText && `· ${replyText}`].filter(Boolean).join(' ')
  return { status, reply_line }
}
