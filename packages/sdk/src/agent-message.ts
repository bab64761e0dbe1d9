// Declares a message as an agent gets it, with its kind and the part that a mail has in addition to its text.
import type { ChannelPart, MessageKind, NormalizedMessage, Part } from '@postern/message'

/** The part of a mail that holds what the mail has in addition to its text and its files. Nothing in this part is proven. */
export interface MailPart extends ChannelPart {
  readonly kind: 'email'
  /** Absent if the mail has no text: the subject then takes the place of the text. */
  readonly subject?: string | undefined
  /** The mailboxes in `To`; absent if the agent was the only recipient. */
  readonly to?: readonly string[] | undefined
  readonly cc?: readonly string[] | undefined
  /** The person who forwarded the mail unchanged. */
  readonly resent_from?: string | undefined
  /** The person who gets the answer, if a list or a form wrote the mail on their behalf. */
  readonly answer_to?: string | undefined
  readonly calendar?: readonly MailEvent[] | undefined
  /** The original names of the files, keyed by their safe names. */
  readonly file_names?: Readonly<Record<string, string>> | undefined
  /** The number of invisible characters that the gateway has removed from the text. */
  readonly invisible_characters?: number | undefined
  readonly flags?: readonly string[] | undefined
}

/** An invitation, or an answer to one (iCalendar). */
interface MailEvent {
  /** `REQUEST`, `CANCEL`, `REPLY`, … */
  readonly method?: string | undefined
  readonly uid?: string | undefined
  /** The time in the form of the invitation: `20261121T100000Z`, or with a time zone `TZID=Europe/Berlin:20261121T100000`. */
  readonly start?: string | undefined
  readonly end?: string | undefined
  readonly organizer?: string | undefined
  readonly summary?: string | undefined
  readonly location?: string | undefined
}

/** A part of a message that an agent gets. */
export type ReceivedPart = Part | MailPart

/** A message in the form that an agent gets. */
export interface AgentMessage extends Omit<NormalizedMessage, 'kind' | 'parts'> {
  /** The kind of the event. An agent gets only the kinds that `receives` names; by default messages only. */
  readonly kind: MessageKind
  readonly parts: readonly ReceivedPart[]
}
