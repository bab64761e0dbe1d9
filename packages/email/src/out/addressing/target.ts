import type { Json, NormalizedMessage } from '@postern/core'
import { plainTextOf } from '@postern/core'
import { z } from 'zod'
import { formatMailbox, parseMailbox } from '../../addresses/mailbox.ts'

/**
 * The data that an answer needs, stored with the message: all of it is proven or harmless, and nothing is looked up
 * again.
 */
const mailTargetSchema = z.object({
  /** The destination of answers: the author, or a Reply-To that may be used. */
  mailbox: z.string(),
  name: z.string().optional(),
  /** The further recipients (`reply_all`). */
  others: z.array(z.string()).optional(),
  subject: z.string(),
  /** Without brackets; absent when the message had none worth quoting. */
  message_id: z.string().optional(),
  references: z.array(z.string()),
  thread_topic: z.string().optional(),
  thread_index: z.string().optional(),
  /** The text after the `+` of the agent's address. */
  tag: z.string().optional(),
  /** Of the thread it belongs to. */
  scope: z.string().optional(),
  /** How many agents have passed it on, and how many may. */
  hop: z.number().int().optional(),
  max_hops: z.number().int().optional(),
  /** It gets no answer, whatever the agent says. */
  is_silent: z.boolean().optional(),
  /** It answers nothing. */
  is_letter: z.boolean().optional(),
  /** Set for one delivery: its one envelope recipient, and all others shown in To and in Cc. */
  recipient: z.string().optional(),
  also_to: z.array(z.string()).optional(),
  cc: z.array(z.string()).optional(),
  /** It is the gateway's own notice under this id, not an agent's answer. */
  notice: z.string().optional(),
  /** The recipient is this local agent: it gets the message, and no mail is sent. */
  localAgent: z.string().optional(),
})

export type MailTarget = z.infer<typeof mailTargetSchema>

/** The target as the store keeps it. */
export function packTarget(target: MailTarget): Json {
  return target as Json
}

/** Senders of other channels may have no mailbox (RFC 2606 §3). */
const unknownMailbox = 'sender@example.org'
const subjectLength = 60

/** The target of an answer to what came by another channel, as if its sender had written a mail. */
export function previewMailTarget({ sender, parts }: Pick<NormalizedMessage, 'sender' | 'parts'>): Json {
  const mailbox = parseMailbox(sender.address.replace(/^@/, ''))
  const [line = ''] = plainTextOf(parts).trim().split('\n')
  return packTarget({
    mailbox: mailbox ? formatMailbox(mailbox) : unknownMailbox,
    ...(sender.display_name && { name: sender.display_name }),
    subject: line.slice(0, subjectLength).toWellFormed(),
    references: [],
  })
}

/** An answer in the same thread that only its author is mailed; none to a program. */
export function retargetToAuthor(json: Json): Json | undefined {
  const { others, ...target } = readTarget(json)
  return target.is_silent ? undefined : packTarget(target)
}

/** @throws Error when the store hands back what no mail put there */
export function readTarget(target: Json): MailTarget {
  return mailTargetSchema.parse(target)
}
