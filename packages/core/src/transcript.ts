import type { TaskKey } from './intake.ts'
import type { ChannelName, HistoricalSender } from './message.ts'
import type { Part } from './part.ts'
import type { NormalizedResponse, ResponseStatus } from './response.ts'

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

export type TaskState = 'submitted' | ResponseStatus | 'canceled'

export interface TaskRecord extends TaskKey {
  readonly agent: string
  readonly context: string
  readonly state: TaskState
  /** ms */
  readonly updatedAt: number
  /** Everything said in this task, oldest first. */
  readonly entries: readonly Entry[]
  /** The last answer, whole. */
  readonly response?: NormalizedResponse | undefined
  /** The answers before it, oldest first. */
  readonly earlier: readonly NormalizedResponse[]
  /** What was heard of answers until the task was canceled. */
  readonly heard: readonly StreamedAnswer[]
}

/** An answer that came to no end: the id it would have had, and its words. */
interface StreamedAnswer {
  readonly id: string
  readonly parts: readonly Part[]
}

export interface TaskFilter {
  readonly owner: string
  readonly agent?: string | undefined
  readonly context?: string | undefined
  readonly state?: TaskState | undefined
  /** Only tasks whose state changed at or after this time, ms. */
  readonly updatedSince?: number | undefined
  readonly limit: number
  /** Continue after this place (newest first). */
  readonly after?: { readonly updatedAt: number; readonly id: string } | undefined
}

/**
 * Which tasks go: those unchanged since before a time (ms), or of one owner all but the newest so many, or the oldest until all that was said
 * in his tasks, attachments included, is no more than so many bytes.
 */
export type TaskExpiry = (
  | { readonly before: number }
  | { readonly owner: string; readonly most: number }
  | { readonly owner: string; readonly bytes: number }
) & {
  readonly limit: number
}
