// Packs the data that a response needs for the store, and reads the stored data.

import type { Json, NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import { z } from 'zod'
import { formatMailbox, parseMailbox } from '../mail/mailbox.ts'

/** The data that a response needs, stored with the message. A response needs no other data of the message. */
const mailTargetSchema = z.object({
  /** The mailbox of responses: the author, or a Reply-To that may be used. */
  mailbox: z.string(),
  name: z.string().optional(),
  /** Further recipients (`reply_all`). */
  others: z.array(z.string()).optional(),
  subject: z.string(),
  /** The Message-ID without brackets. It is absent if the message had none that can be quoted. */
  message_id: z.string().optional(),
  references: z.array(z.string()),
  thread_topic: z.string().optional(),
  thread_index: z.string().optional(),
  /** The text after the `+` of the agent's address. */
  tag: z.string().optional(),
  /** The scope of the thread. */
  scope: z.string().optional(),
  /** The number of agents that have passed the message on. `max_hops` is its limit. */
  hop: z.number().int().optional(),
  max_hops: z.number().int().optional(),
  /** True if the message gets no response, regardless of what the agent says. */
  is_silent: z.boolean().optional(),
  /** True if the mail answers no message. */
  is_letter: z.boolean().optional(),
  /** The one envelope recipient of a delivery. `also_to` and `cc` are shown in To and Cc. */
  recipient: z.string().optional(),
  also_to: z.array(z.string()).optional(),
  cc: z.array(z.string()).optional(),
  /** The id of a notice of the gateway itself, which no agent wrote. */
  notice: z.string().optional(),
  /** The local agent that is the recipient. It gets the message, and no mail is sent. */
  localAgent: z.string().optional(),
})

export type MailTarget = z.infer<typeof mailTargetSchema>

/** Returns the target in the form that is stored. */
export function packTarget(target: MailTarget): Json {
  return target as Json
}

/** The example mailbox (RFC 2606 §3) for a sender of another channel who has no mailbox. */
const unknownMailbox = 'sender@example.org'

const maxPreviewSubjectChars = 60

/** Returns the target of a response to a message of another channel, as if its sender had written a mail. */
export function previewMailTarget({ sender, parts }: Pick<NormalizedMessage, 'sender' | 'parts'>): Json {
  const mailbox = parseMailbox(sender.address.replace(/^@/, ''))
  const [line = ''] = plainTextOf(parts).trim().split('\n')
  return packTarget({
    mailbox: mailbox ? formatMailbox(mailbox) : unknownMailbox,
    ...(sender.display_name && { name: sender.display_name }),
    subject: line.slice(0, maxPreviewSubjectChars).toWellFormed(),
    references: [],
  })
}

/**
 * Returns the target of a response in the same thread that goes to the author alone. It returns undefined for an
 * automatic reply.
 */
export function retargetToAuthor(json: Json): Json | undefined {
  const { others, ...target } = readTarget(json)
  return target.is_silent ? undefined : packTarget(target)
}

/** Reads a stored target. @throws Error if the stored value is not a mail's target */
export function readTarget(target: Json): MailTarget {
  return mailTargetSchema.parse(target)
}

/** Returns a target without the fields that only one delivery has. */
export function removeDeliveryFields({ recipient, also_to, cc, localAgent, ...target }: MailTarget): MailTarget {
  return target
}
