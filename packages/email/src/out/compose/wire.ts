import type { MailAttachment } from './readable-body.ts'

/** An answer as mail, before it is encoded and signed. Ids without brackets. */
export interface MailWire {
  readonly envelope: { readonly from: string; readonly to: readonly string[] }
  readonly from: { readonly name: string; readonly address: string }
  readonly to: { readonly name: string; readonly address: string }
  /** Further people who are spoken to. */
  readonly alsoTo: readonly string[]
  readonly cc: readonly string[]
  /** With the tag the message came with, so that the next one brings it back. */
  readonly replyTo: string | undefined
  readonly subject: string
  /** It answers nothing. */
  readonly isLetter: boolean
  readonly messageId: string
  readonly inReplyTo: string | undefined
  readonly references: readonly string[]
  readonly threadTopic: string | undefined
  readonly threadIndex: string | undefined
  /** How many agents have had a hand in it, this one counted, and how many may. */
  readonly hop: number
  readonly maxHops: number
  /** ISO 8601 UTC. */
  readonly date: string
  readonly text: string
  readonly html: string
  readonly attachments: readonly MailAttachment[]
  /** The local agent that it is for: no mail is sent. */
  readonly localAgent: string | undefined
}
