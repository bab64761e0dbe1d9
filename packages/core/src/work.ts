import type { PlannedDelivery, TaskKey } from './intake.ts'
import type { Json } from './json.ts'
import type { ChannelName, NormalizedMessage } from './message.ts'
import type { NormalizedResponse } from './response.ts'

export interface LeaseRequest {
  /** Who works: one name per process. */
  readonly holder: string
  readonly limit: number
  /** Milliseconds the lease lasts from now. */
  readonly leaseMs: number
  /** Agents (for turns) or destination hosts (for deliveries) that have as much running as they may: theirs is left alone. */
  readonly busy?: readonly string[] | undefined
}

/** One agent's turn, leased. `token` fences: a commit with an outlived token is refused with `LeaseLost`. */
export interface Turn {
  readonly message: number
  readonly token: number
  /** 1 for the first try. */
  readonly attempt: number
  /** How many tries in a row before this one ended without a word: the process died over them. */
  readonly crashes: number
  readonly agent: string
  readonly via: ChannelName
  /** Whole but for `history`; `raw` is rebuilt from the stored bytes when it is first read. */
  readonly content: NormalizedMessage
  readonly thread: number
  readonly target: Json
  readonly flags: readonly string[]
  readonly correlationId: string
  readonly task?: TaskKey | undefined
}

/** What became of a turn. No `response`: the agent chose to say nothing. */
export interface Answer {
  readonly response?: NormalizedResponse | undefined
  /** Ids under which the answer is known on the wire; replies that name them come back to this thread. */
  readonly aliases?: readonly string[]
  /** Everybody may read it: counted and listed among what the agent has published. */
  readonly isListed?: boolean | undefined
  readonly deliveries: readonly PlannedDelivery[]
  /** The agent's new state for this thread; left out when unchanged. */
  readonly state?: Json | undefined
  /** For the operator, when the agent failed. */
  readonly error?: string | undefined
}

/** One delivery, leased. */
export interface Delivery {
  readonly id: string
  readonly token: number
  /** 1 for the first try. */
  readonly attempt: number
  /** When it was queued, ms. */
  readonly queuedAt: number
  readonly via: ChannelName
  readonly agent: string
  readonly to: string
  readonly target: Json
  readonly correlationId: string
  /** What is answered (without `history`), and the answer; both absent for a handshake without a turn. */
  readonly message: NormalizedMessage
  readonly response?: NormalizedResponse | undefined
}

/** How a try to deliver ended. `wire` is the document that was sent, for the operator. */
export type Settlement =
  | { readonly state: 'sent'; readonly wire?: Json | undefined; readonly note?: string | undefined }
  | { readonly state: 'later'; readonly dueAt: number; readonly error: string; readonly wire?: Json | undefined }
  | { readonly state: 'dead'; readonly error: string; readonly wire?: Json | undefined }
