import type { ApprovalAction, Json, NormalizedMessage, PartialResponse, Policy } from '@postern/core'
import type { PendingAction } from '@postern/transcript'
import type { ToolRule } from '../config/approval.ts'
import type { ToolOutcome } from '../tools/result.ts'
import type { ToolContext } from '../tools/tools.ts'

/** A call that needs approval. */
export interface WaitingCall {
  readonly id: string
  readonly name: string
  readonly args?: unknown
  /** The tool's description of the call, for whoever decides. */
  readonly preview?: unknown
  /** The agent that makes it, if several share the address. */
  readonly agent?: string | undefined
  /** The schema of `args`. An operator may change them within it. */
  readonly schema?: { readonly [keyword: string]: unknown } | undefined
  readonly rule?: CallRule | undefined
}

export type CallRule = Pick<ToolRule, 'approve' | 'remember' | 'remember_days'> &
  Partial<Pick<ToolRule, 'notify' | 'expires_after_hours'>>

/** The decision on a call. */
interface RuledCall {
  readonly action: PendingAction
  readonly isGranted: boolean
  readonly resolver: string
  /** The changed arguments. */
  readonly edited?: Json | undefined
}

/** A call that a message decides. */
export interface DecidedCall extends RuledCall {
  readonly shown: ApprovalAction
  /** Public id of the requirement. */
  readonly requirement: string
  /** The operator decided, not the person in the conversation. */
  readonly isOfOperator: boolean
}

/** A call as it stands. */
interface AskedCall {
  readonly action: PendingAction
  readonly outcome: ToolOutcome
}

/** Calls of one agent's tools that wait for approval. They are stored before anybody is asked. */
export interface Approvals {
  /** The answer that asks for approval. It ends the turn. */
  ask(call: WaitingCall, context: CallPlace & Pick<ToolContext, 'requireConsent'>): Promise<PartialResponse>
  /** An earlier decision of this person for such calls; undefined: somebody must decide. */
  findRemembered(call: WaitingCall, context: CallPlace): Promise<RuledCall | undefined>
  /** The call that a message decides; undefined for other messages. */
  findDecided(message: Pick<NormalizedMessage, 'policy_resolution'>): Promise<DecidedCall | undefined>
  /**
   * The result of a decided call. `run` is called only for a granted call, and at most once however often the turn is tried, because its
   * beginning is stored before. A turn that dies during the run does not repeat it.
   */
  settle(ruled: RuledCall, run: (args: Json) => Promise<ToolOutcome>): Promise<ToolOutcome>
  /** The state of a call for a model that continues without a decision. */
  describe(policy: Policy): Promise<AskedCall | undefined>
}

/** Where a call is made, and for whom. */
export type CallPlace = Pick<ToolContext, 'message' | 'flags' | 'thread' | 'messageNumber' | 'correlationId' | 'signal'>
