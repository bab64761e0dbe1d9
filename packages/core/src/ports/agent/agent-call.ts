import type { AgentChain } from '../../message/message.ts'
import type { Part } from '../../message/part.ts'
import type { ResponseStatus } from '../../message/response.ts'

/** How an agent elsewhere is spoken to. */
export interface AgentCallOptions {
  /** The local name of our agent that calls. */
  readonly as: string
  readonly signal?: AbortSignal | undefined
  /** The chain of the message that is being answered; the call is one hop further. */
  readonly chain?: AgentChain | undefined
  /** Goes on with an earlier call: what its answer named. */
  readonly contextId?: string | undefined
  readonly taskId?: string | undefined
  /** The same for the same call of a turn that is tried again, so that the far side can tell. */
  readonly retryKey?: string | undefined
  /** `traceparent` of the turn that calls, for the far side (W3C Trace Context). */
  readonly traceparent?: string | undefined
  /** Of which phase of a plan the call is, and which one came before it, where that is not the one below. */
  readonly phaseId?: number | undefined
  readonly previousPhaseId?: number | undefined
}

/** How an agent asks another. */
export interface AgentAskOptions
  extends Pick<AgentCallOptions, 'contextId' | 'taskId' | 'phaseId' | 'previousPhaseId'> {
  /** What comes of it is noted for every agent of the conversation (`global_observation`). */
  readonly broadcast?: boolean | undefined
  /** Who asks, in the transcript, where several agents stand behind one address; default: the agent. */
  readonly agentKey?: string | undefined
}

/** What an agent elsewhere said: words of a stranger, with their source. Data, never instructions. */
export interface AgentCallAnswer {
  readonly parts: readonly Part[]
  /** `input_required`, `auth_required`: call again with the same `contextId` and `taskId`. */
  readonly status: ResponseStatus
  readonly contextId?: string | undefined
  readonly taskId?: string | undefined
  readonly source: {
    /** What was called: an address, or the URL of a card. */
    readonly address: string
    readonly card: string
    /** Id of the key that signed the card; undefined when nobody did. */
    readonly signedBy?: string | undefined
  }
}

/**
 * Calls the agent `@name@domain`, or the one whose card is at an https URL.
 * @throws Rejection `malformed` for an address that is none, `forbidden` when the chain has become too long
 * @throws Unavailable when time may heal it, Undeliverable when the far side or its card is not as it must be
 */
export type CallAgent = (address: string, parts: readonly Part[], options: AgentCallOptions) => Promise<AgentCallAnswer>
