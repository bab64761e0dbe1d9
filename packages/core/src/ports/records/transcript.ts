import type { ChannelName, HistoricalSender } from '../../message/message.ts'
import type { Part } from '../../message/part.ts'

/** One line of the transcript: what was said in a thread, by whom, in order. */
export interface Entry {
  readonly seq: number
  readonly entryId: string
  /** The id the writer gave: activity IRI, Message-ID, messageId. */
  readonly nativeId?: string | undefined
  readonly role: 'user' | 'assistant'
  /** With the proof that the message came with, where the reader asks for it. */
  readonly author: HistoricalSender
  readonly parts: readonly Part[]
  /** ISO 8601 UTC. */
  readonly at: string
  /** By which channel, where it was said in another conversation of the same person. */
  readonly via?: ChannelName | undefined
}

/** Something said in a thread before we were told of it, by somebody whose server vouches for it. */
export type BackgroundEntry = Pick<Entry, 'author' | 'parts' | 'at'> & {
  readonly nativeId: string
  /** Who may take it back: its author's principal. */
  readonly principal?: string | undefined
  /** Brought in from another conversation: replies to it do not belong to this thread. */
  readonly isQuoted?: boolean | undefined
}

/**
 * Which ends of a thread to read: its first `head` entries and its last `tail`, without repeats, in the order of the
 * conversation: every answer follows the message it answers, even if the next message was already waiting when it was given.
 */
export interface HistoryRequest {
  readonly thread: number
  /** Only messages that came before this one, and their answers. */
  readonly before: number
  readonly head: number
  readonly tail: number
  /** Principals of who speaks. What was said in a chat, in a thread of another channel, is recalled for who said it alone. */
  readonly speakers?: readonly string[] | undefined
}

/** An answer that came to no end: the id it would have had, and its words. */
export interface StreamedAnswer {
  readonly id: string
  readonly parts: readonly Part[]
}
