// Declares calls from one agent to another, with the credentials and the limits of each call.
import type { AgentChain, NormalizedMessage, Part, ResponseStatus } from '@postern/message'

/** An OAuth client that is registered at the token endpoint of the peer (RFC 6749 §4.4). */
export interface OAuthClient {
  readonly client_id: string
  readonly client_secret: string
  readonly scopes?: readonly string[] | undefined
}

/** The credentials by which a peer recognizes the caller. Without credentials, a call carries a token of this gateway if the peer's card asks for one. */
export interface PeerCredentials {
  /** A bearer token that the peer issued. */
  readonly token?: string | undefined
  /** A key that the peer issued, and the header that carries it. */
  readonly api_key?: { readonly header: string; readonly key: string } | undefined
  /** A client for the token endpoint that the peer's card names. */
  readonly oauth2?: OAuthClient | undefined
}

export const credentialUses = ['asked', 'always'] as const
/** With `asked`, a call has a credential if the peer's card asks for it, or if the peer refuses a call without it. With `always`, every call has a credential. */
export type CredentialUse = (typeof credentialUses)[number]

/** The options of an agent that represents one peer. */
export interface PeerOptions extends PeerCredentials {
  /** False if the caller fetches the answer as a whole instead of as a stream. */
  readonly streams?: boolean | undefined
  /** The longest time for the call, in ms. The caller retries an unreachable peer until this time is over; then the call fails for good, and the peer's task is canceled. */
  readonly withinMs: number
}

/** The options of a call to another agent, of this gateway or elsewhere. */
export interface AgentCallOptions {
  /** The name of the calling agent, which belongs to this gateway. */
  readonly callerName: string
  readonly signal?: AbortSignal | undefined
  /** The chain of the message that is being answered; the call is one hop further. */
  readonly chain?: AgentChain | undefined
  /** The context that the answer to an earlier call named, to continue that call. */
  readonly contextId?: string | undefined
  readonly taskId?: string | undefined
  /** A key that stays the same when a retried turn repeats the call, so that the peer can recognize the repetition. */
  readonly retryKey?: string | undefined
  /** The `traceparent` of the calling turn, which is sent to the peer (W3C Trace Context). */
  readonly traceparent?: string | undefined
  /** The phase of a plan to which the call belongs. `previousPhaseId` is needed only if the previous phase is not `phaseId - 1`. */
  readonly phaseId?: number | undefined
  readonly previousPhaseId?: number | undefined
  readonly peer?: PeerOptions | undefined
  /** The calling turn, if the called agent belongs to the same gateway. With `isOnBehalf`, the call carries the evidence about the sender of the turn's message. */
  readonly callingTurn?: { readonly message: number; readonly isOnBehalf: boolean } | undefined
  /** Default: `asked`. */
  readonly credentials?: CredentialUse | undefined
  /** Receives the parts of the answer as they arrive. */
  onPiece?(parts: readonly Part[]): void
}

/** The options with which an agent calls another one. */
export interface AgentAskOptions
  extends Pick<AgentCallOptions, 'contextId' | 'taskId' | 'phaseId' | 'previousPhaseId' | 'peer' | 'onPiece'> {
  /** The message of the turn. An agent of the same gateway gets its sender as `on_behalf_of`, with everything that was proven about them. */
  readonly onBehalfOf?: Pick<NormalizedMessage, 'id'> | undefined
  /** True if the outcome is recorded for every agent of the conversation (`global_observation`). */
  readonly broadcast?: boolean | undefined
  /** The caller's name in the transcript, if several agents share an address. Default: the agent. */
  readonly agentKey?: string | undefined
}

/** The answer of a called agent, with its source. A stranger may have written it, so it is data and never instructions. */
export interface AgentCallAnswer {
  readonly parts: readonly Part[]
  /** The parts that were not passed to `onPiece`. */
  readonly rest?: readonly Part[] | undefined
  /** The status of the answer. After `input_required` or `auth_required`, call again with the same `contextId` and `taskId`. */
  readonly status: ResponseStatus
  readonly contextId?: string | undefined
  readonly taskId?: string | undefined
  readonly source: {
    /** The called agent: an address, or the URL of a card. */
    readonly address: string
    readonly card: string
    /** The id of the key that signed the card; undefined if the card is unsigned. */
    readonly signedBy?: string | undefined
  }
}

/**
 * Calls the agent `@name@domain`, or the one whose card is at an https URL.
 * @throws Rejection `malformed` for an invalid address, `forbidden` if the chain has become too long
 * @throws Unavailable if a retry may succeed, Undeliverable if the peer or its card is invalid
 */
export type CallAgent = (address: string, parts: readonly Part[], options: AgentCallOptions) => Promise<AgentCallAnswer>
