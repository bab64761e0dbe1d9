// Describes the lines of a conversation as the store keeps them.
import type { ChannelName, HistoricalSender, Part } from '@postern/message'

/** One line of the transcript: a message or an answer in a thread, with its author and its position. */
export interface Entry {
  readonly seq: number
  readonly entryId: string
  /** The id that the writer assigned: activity IRI, Message-ID, messageId. */
  readonly nativeId?: string | undefined
  readonly role: 'user' | 'assistant'
  /** The author, with the proof of the message if the reader asks for it. */
  readonly author: HistoricalSender
  readonly parts: readonly Part[]
  /** ISO 8601 UTC. */
  readonly at: string
  /** The channel, if the entry belongs to another conversation of the same person. */
  readonly via?: ChannelName | undefined
}

/** An entry from the time before the gateway took part in a thread. Only its author's server attests to it. */
export type BackgroundEntry = Pick<Entry, 'author' | 'parts' | 'at'> & {
  readonly nativeId: string
  /** The author's principal, who may withdraw it. */
  readonly principal?: string | undefined
  /** True if it comes from another conversation, so that replies to it do not belong to this thread. */
  readonly isQuoted?: boolean | undefined
}

/**
 * A request for the two ends of a thread: its first `head` entries and its last `tail`, without repeats, in the order of the conversation. Every
 * answer follows the message that it answers, even if the next message was already waiting at that time.
 */
export interface HistoryRequest {
  readonly thread: number
  /** The number of a message; only earlier messages and their answers are read. */
  readonly beforeMessage: number
  readonly head: number
  readonly tail: number
  /** The principals of the speaker. Chat messages in a thread of another channel are read only for the person who wrote them. */
  readonly speakers?: readonly string[] | undefined
}

/** An unfinished answer: the id that it would have had, and its parts so far. */
export interface StreamedAnswer {
  readonly id: string
  readonly parts: readonly Part[]
}
