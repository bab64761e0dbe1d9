// Describes a person whom an agent with a memory of its own has to forget.

import type { ChannelName, Log } from '@postern/message'

/** A person whom an agent with a memory of its own has to forget. */
export interface ForgottenPerson {
  /** The key of the person, equal to `context.person.id`; absent for senders who have proven nothing. */
  readonly person?: string | undefined
  /** The addresses from which the person wrote, and the addresses that are linked with them. */
  readonly addresses: readonly { readonly via: ChannelName; readonly address: string }[]
  /** The `thread_id` of each conversation in which nobody else spoke. */
  readonly threads: readonly string[]
}

export interface ForgettingContext {
  /** The id of the deletion, the same for all calls that repeat it. */
  readonly id: string
  /** Aborts at the deadline and on shutdown. */
  readonly signal: AbortSignal
  readonly log: Log
}
