import type { HeaderBlock } from '../mail/header-scan.ts'
import { fieldValues, findField } from '../mail/header-scan.ts'
import { readMessageIds, trimReferences } from './message-id.ts'

/** The place of a message in a conversation, by its header. All ids without brackets. */
export interface MailThread {
  /** The message's own id: its Message-ID where that is covered, else `sha256:…`. */
  readonly id: string
  /** The Message-ID, if it has exactly one usable. */
  readonly messageId?: string | undefined
  readonly threadId: string
  readonly inReplyTo?: string | undefined
  /** Earlier ids, best first, to look the thread up by. */
  readonly references: readonly string[]
  /** Another name of the message: Outlook's conversation. */
  readonly aliases: readonly string[]
}

/** A header, and what of it cannot have been added or changed. */
interface ThreadedMail {
  readonly header: HeaderBlock
  readonly covered: HeaderBlock
}

/**
 * The root is the first reference, else what is answered, else the message itself (EM-4.2). Only covered fields decide; a
 * Message-ID that is not is quoted in an answer and names nothing.
 */
export function readThread({ header, covered }: ThreadedMail, digest: string): MailThread {
  const messageId = readOwnId(header)
  const id = readOwnId(covered) ?? `sha256:${digest}`
  const chain = trimReferences(readMessageIds(fieldValues(covered, 'references').join(' ')))
  const answered = readMessageIds(findField(covered, 'in-reply-to') ?? '')[0]
  const conversation = readConversation(findField(covered, 'thread-index'))
  const references = [...chain, ...(answered ? [answered] : []), ...(conversation ? [conversation] : [])]
  return {
    id,
    messageId,
    threadId: chain[0] ?? answered ?? id,
    inReplyTo: answered ?? chain.at(-1),
    references: [...new Set(references)].filter(reference => reference !== id),
    aliases: conversation ? [conversation] : [],
  }
}

/** The Message-ID, if it has exactly one usable. */
export function readOwnId(header: HeaderBlock): string | undefined {
  const values = fieldValues(header, 'message-id')
  const ids = values.flatMap(readMessageIds)
  return values.length === 1 && ids.length === 1 ? ids[0] : undefined
}

/** Outlook's Thread-Index: 6 octets of time, the 16 of the conversation, then 5 for each answer. */
function readConversation(value: string | undefined): string | undefined {
  if (!value || value.length > 4096) return undefined
  const octets = Buffer.from(value, 'base64')
  return octets.length >= 22 ? `thread-index:${octets.subarray(6, 22).toString('hex')}` : undefined
}
