// Describes a conversation in the lists of the operator.

import type { ChannelName } from '@postern/message'

/** A conversation of one agent by one channel. */
export interface ConversationSummary {
  readonly thread: number
  readonly agent: string
  readonly via: ChannelName
  /** The address of the sender of its first message. */
  readonly sender: string
  /** Our numbers of its first and its newest message. */
  readonly first_message: number
  readonly last_message: number
  /** Their times, ISO 8601 UTC. */
  readonly began_at: string
  readonly last_at: string
}
