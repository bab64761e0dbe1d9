// Finds the thread that a mail belongs to, by its header.
import type { HeaderBlock } from '../mail/header.ts'
import { fieldValues, findField } from '../mail/header.ts'

/** The thread of a message by its header. All ids are without brackets. */
export interface MailThread {
  /** The id of the message: its Message-ID if the proof covers it, or else `sha256:…`. */
  readonly id: string
  /** The Message-ID, if the message has exactly one usable Message-ID. */
  readonly messageId?: string | undefined
  /** The id of the first message of the thread, as far as the header shows it. */
  readonly rootId: string
  readonly inReplyTo?: string | undefined
  /** Earlier ids by which the thread is found, best first. */
  readonly references: readonly string[]
  /** Other ids of the message, such as the id of Outlook's conversation. */
  readonly aliases: readonly string[]
}

/**
 * Returns the thread of a message. Its root is the first reference, or else the answered message, or else the message
 * itself (EM-4.2). Only fields that the proof covers decide. A reply quotes an uncovered Message-ID, but the gateway
 * does not use it as an id.
 */
export function readThread(
  { header, signedHeader }: { readonly header: HeaderBlock; readonly signedHeader: HeaderBlock },
  contentDigest: string,
): MailThread {
  const messageId = readMessageId(header)
  const id = readMessageId(signedHeader) ?? `sha256:${contentDigest}`
  const chain = trimReferences(readMessageIds(fieldValues(signedHeader, 'references').join(' ')))
  const answeredId = readMessageIds(findField(signedHeader, 'in-reply-to') ?? '')[0]
  const conversationId = readConversationId(findField(signedHeader, 'thread-index'))
  const references = [...chain, ...(answeredId ? [answeredId] : []), ...(conversationId ? [conversationId] : [])]
  return {
    id,
    messageId,
    rootId: chain[0] ?? answeredId ?? id,
    inReplyTo: answeredId ?? chain.at(-1),
    references: [...new Set(references)].filter(reference => reference !== id),
    aliases: conversationId ? [conversationId] : [],
  }
}

/** Returns the Message-ID, if the message has exactly one usable Message-ID. */
export function readMessageId(header: HeaderBlock): string | undefined {
  const values = fieldValues(header, 'message-id')
  const ids = values.flatMap(readMessageIds)
  return values.length === 1 && ids.length === 1 ? ids[0] : undefined
}

/**
 * Returns the id of the conversation in Outlook's Thread-Index, which has 6 octets of time, 16 octets of the
 * conversation, and 5 octets for each reply.
 */
function readConversationId(value: string | undefined): string | undefined {
  if (!value || value.length > 4096) return undefined
  const octets = Buffer.from(value, 'base64')
  return octets.length >= 22 ? `thread-index:${octets.subarray(6, 22).toString('hex')}` : undefined
}

/**
 * Returns ids without brackets, in order. Commas and junk between them are ignored (RFC 5322 §3.6.4 in practice). An id
 * that does not fit a line together with the name of its field (RFC 5322 §2.1.1) is ignored too, because a reply could
 * not quote it.
 */
function readMessageIds(value: string): string[] {
  return Array.from(value.matchAll(/<([^<>\s\p{Cc}]{1,900})>/gu), match => match[1] ?? '')
}

const [maxFirstReferences, maxLastReferences] = [5, 45]

/** Returns the beginning and the end of a long chain of ids, so that the root and the latest messages remain. */
export function trimReferences(
  ids: readonly string[],
  firstCount = maxFirstReferences,
  lastCount = maxLastReferences,
): string[] {
  return ids.length <= firstCount + lastCount ? [...ids] : [...ids.slice(0, firstCount), ...ids.slice(-lastCount)]
}
