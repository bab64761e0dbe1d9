// Describes the attempts at a turn.

import type { RefusedAct } from '../message/actions/act-refusal.ts'
import type { TokenUsage } from '../message/token-usage.ts'

/**
 * The outcome of one attempt at a turn. `empty_answer`: the agent's answer had no content. `lost`: its lease expired and another worker leased the
 * turn, or its process crashed.
 */
export type TurnOutcome =
  | 'answered'
  | 'silent'
  | 'empty_answer'
  | 'failed'
  | 'unavailable'
  | 'timed_out'
  | 'canceled'
  | 'deleted'
  | 'interrupted'
  | 'edited'
  | 'shut_down'
  | 'lost'

/**
 * The reason why an attempt failed or had no answer, if its outcome does not show it. `not_received`: the agent does not get messages of this kind.
 * `said_nothing`: it got the message and gave no answer.
 */
export type TurnReason =
  | 'agent_crashes'
  | 'agent_removed'
  | 'answer_invalid'
  | 'answer_unstorable'
  | 'not_received'
  | 'said_nothing'

/** The facts from which the message that an agent got can be rebuilt (`rebuildAgentInput`). */
export interface GivenMessage {
  /** The `seq` of each entry in its history, oldest first. */
  readonly history: readonly number[]
  /** The SHA-256 of the exact message without its raw bytes, as JSON, in base64url. */
  readonly digest: string
}

/** A later change of an entry that an agent got. */
export interface EntryChange {
  readonly seq: number
  readonly how: 'edited' | 'retracted' | 'forgotten'
  /** The time of the change; absent if nothing is left of the entry. */
  readonly at?: number | undefined
}

/** One call of a tool. */
export interface ToolRun {
  readonly name: string
  /** Its beginning, ms since 1970 UTC; absent in records of older versions. */
  readonly at?: number | undefined
  /** The duration; absent if the agent reported the call only after its end. */
  readonly ms?: number | undefined
  readonly ok: boolean
}

/** One request to a model. */
export interface ModelRun {
  /** The operator's name for the model. */
  readonly name: string
  /** Its beginning, ms since 1970 UTC. */
  readonly at: number
  readonly ms: number
  readonly ok: boolean
  readonly input_tokens?: number | undefined
  readonly output_tokens?: number | undefined
}

/** The reason that an agent failed, bounded in length. */
export interface AgentFault {
  readonly name: string
  readonly message: string
  readonly stack?: string | undefined
  /** The first line of the stack that is the agent's own. */
  readonly file?: string | undefined
  readonly line?: number | undefined
}

/** One attempt at a turn. */
export interface TurnAttempt {
  /** The number of the attempt, 1 for the first. */
  readonly attempt: number
  readonly leased_at: number
  /** The time at which the gateway called the agent; absent if it did not. */
  readonly called_at?: number | undefined
  /** The time at which the first piece of its answer arrived. */
  readonly first_output_at?: number | undefined
  readonly ended_at: number
  readonly outcome: TurnOutcome
  readonly reason?: TurnReason | undefined
  /** The deadline of the agent, in ms, for an attempt that `timed_out`. */
  readonly deadline_ms?: number | undefined
  readonly given?: GivenMessage | undefined
  /** The first 50 calls of tools, including those that people do not see. */
  readonly tools?: readonly ToolRun[] | undefined
  /** The first 50 requests to models. */
  readonly models?: readonly ModelRun[] | undefined
  /** The tokens of each requested model. */
  readonly usage?: readonly TokenUsage[] | undefined
  /** The text of a model that people did not get, up to a limit. */
  readonly withheld?: readonly { readonly kind: string; readonly text: string }[] | undefined
  /** The refused actions of the agent besides its answer. */
  readonly refused_acts?: readonly RefusedAct[] | undefined
  readonly error?: AgentFault | undefined
  /** Time of the next attempt. */
  readonly next_at?: number | undefined
}

/** The turn of a message. */
export interface TurnRecord {
  /** The attempts, oldest first; only the first and the last if there are very many. */
  readonly attempts: readonly TurnAttempt[]
  /** The time at which it is due; absent while it waits for another turn, and once it has ended. */
  readonly due_at?: number | undefined
  /** True if a worker has leased it now. */
  readonly is_leased: boolean
  /** The time at which its answer was committed, or it ended without one. */
  readonly ended_at?: number | undefined
}

/** One step of an agent in a turn, as the agent recorded it. */
export interface TurnStep {
  readonly kind: 'stage' | 'call' | 'note'
  /** The name of the stage, the address of the called agent, or the kind of the note. */
  readonly name: string
  /** Its beginning, ms since 1970 UTC. */
  readonly at: number
  /** The duration; absent while the step continues, and for a note. */
  readonly ms?: number | undefined
  /** The number of the message that a call became, if the called agent belongs to this gateway. */
  readonly message?: number | undefined
  /** The reason why a call has failed. */
  readonly error?: string | undefined
}
