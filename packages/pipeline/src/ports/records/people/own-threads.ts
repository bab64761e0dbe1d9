// Describes queries for the conversations that belong to a person, and their results.

import type { ChannelName } from '@postern/message'
import type { HistoryRequest } from '../transcript.ts'

/** A scope of conversations that belong to one principal alone. */
export interface PrivateScope {
  readonly via: ChannelName
  readonly scope: string
}

export interface PersonHistoryRequest extends Omit<HistoryRequest, 'thread'> {
  readonly agent: string
  /** The current conversation, which is part of the history regardless of the number of newer ones. */
  readonly thread?: number | undefined
  readonly scopes: readonly PrivateScope[]
}

/** The criteria by which conversations belong to a person. */
export interface OwnThreadFilter {
  readonly agent: string
  /** The scopes of conversations of this person alone. */
  readonly scopes: readonly PrivateScope[]
  /** The person's principals. Conversations with others that they began belong to them as well. */
  readonly subjects: readonly string[]
}

export interface OwnThread {
  /** The store's number of the conversation. */
  readonly id: number
  readonly via: ChannelName
  readonly scope: string
  /** The `thread_source` with which it began. */
  readonly key: string
  /** True if others may take part. */
  readonly isShared: boolean
  /** The times of the person's first message in it and of anyone's last message, ISO 8601 UTC. */
  readonly begunAt: string
  readonly lastAt: string
  /** The beginning of the person's first message. */
  readonly beginning: string
}

export interface OwnThreadsRequest extends OwnThreadFilter {
  readonly limit: number
  /** The number below which conversations are listed, newest first. */
  readonly before?: number | undefined
}

export interface OwnThreadPage {
  /** The conversations that still have a readable message of the person; a page may have few, or none. */
  readonly threads: readonly OwnThread[]
  /** The `before` of the next page; absent on the last page. */
  readonly next?: number | undefined
}
