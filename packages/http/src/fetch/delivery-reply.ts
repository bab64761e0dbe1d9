// Reads a peer's reply to a delivery for the record, without our secrets.

import { STATUS_CODES } from 'node:http'
import type { DeliveryReply, FetchAnswer } from '@postern/message'

/** The number of bytes of an answer that are read. */
const replyBytes = 1_024
const maxReplyChars = 200

/**
 * Describes a peer's reply to an attempt to deliver: the status, and the first line of its text. `secrets` are our credentials for the peer. A peer
 * that quotes the request in its answer must not put them into the record.
 */
export function readReply(
  { status, body }: Pick<FetchAnswer, 'status' | 'body'>,
  secrets: readonly (string | undefined)[] = [],
): DeliveryReply {
  const text = Buffer.from(body.subarray(0, replyBytes)).toString()
  const knownSecrets = secrets.filter(secret => secret !== undefined && secret !== '') as readonly string[]
  const [line = ''] = text.trimStart().split(/[\r\n]/, 1)
  // The beginning of a secret is enough, because a secret may be cut off at the end of the bytes that are read.
  const isSafe = knownSecrets.every(secret => !line.includes(secret.slice(0, 8)))
  const replyText = isSafe
    ? line
        .replace(/\p{Cc}/gu, ' ')
        .slice(0, maxReplyChars)
        .toWellFormed()
        .trim()
    : '[shows a secret]'
  const reply_line = [status, STATUS_CODES[status], replyText && `· ${replyText}`].filter(Boolean).join(' ')
  return { status, reply_line }
}
