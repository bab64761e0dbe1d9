// Finds the thread that a mail belongs to, by its header.
import type { HeaderBlock } from '../mail/header.ts'
import { fieldValues, findField } from '../mail/header.ts'

/** The thread of a message by its header. All ids are without brackets. */
export interface MailThread {
  /** The id of the message: its Message-ID if that is signedHeader, else `sha256:…`. */
  readonly id: string
  /** The Message-ID, if the message has exactly one that is usable. */
  readonly messageId?: string | undefined
  readonly source: string
  readonly inReplyTo?: string | undefined
  /** Earlier ids by which the thread is found, best first. */
  readonly references: readonly string[]
  /** An alias of the message: Outlook's conversation. */
  readonly aliases: readonly string[]
}

/**
 * Returns the thread of a message. Its root is the first reference, else the answered message, else the message itself
 * (EM-4.2). Only covered fields decide. A Message-ID that is not covered is quoted in a reply and names nothing.
 */
export function readThread(
  { header, signedHeader }: Readonly<Record<'header' | 'signedHeader', HeaderBlock>>,
  digest: string,
): MailThread {
  const messageId = readMessageId(header)
  const id = readMessageId(signedHeader) ?? `sha256:${digest}`
  const chain = trimReferences(readMessageIds(fieldValues(signedHeader, 'references').join(' ')))
  const answeredId = readMessageIds(findField(signedHeader, 'in-reply-to') ?? '')[0]
  const conversation = readConversation(findField(signedHeader, 'thread-index'))
  const references = [...chain, ...(answeredId ? [answeredId] : []), ...(conversation ? [conversation] : [])]
  return {
    id,
    messageId,
    source: chain[0] ?? answeredId ?? id,
    inReplyTo: answeredId ?? chain.at(-1),
    references: [...new Set(references)].filter(reference => reference !== id),
    aliases: conversation ? [conversation] : [],
  }
}

/** Returns the Message-ID, if the message has exactly one that is usable. */
export function readMessageId(header: HeaderBlock): string | undefined {
  const values = fieldValues(header, 'message-id')
  const ids = values.flatMap(readMessageIds)
  return values.length === 1 && ids.length === 1 ? ids[0] : undefined
}

/**
 * Returns the conversation of Outlook's Thread-Index, which has 6 octets of time, 16 of the conversation, and then 5
 * for each reply.
 */
function readConversation(value: string | undefined): string | undefined {
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

/** Returns the beginning and the end of a long chain of ids, which have the root and the latest messages. */
export function trimReferences(ids: readonly string[], first = maxFirstReferences, last = maxLastReferences): string[] {
  return ids.length <= first + last ? [...ids] : [...ids.slice(0, first), ...ids.slice(-last)]
}
