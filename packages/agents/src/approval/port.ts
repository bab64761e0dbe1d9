import type { ApprovalAction, Json, NormalizedMessage, PartialResponse, Policy } from '@postern/core'
import type { PendingAction } from '@postern/transcript'
import type { ToolRule } from '../config/approval.ts'
import type { ToolOutcome } from '../tools/result.ts'
import type { ToolContext } from '../tools/tools.ts'

/** A call that somebody has to allow before it runs. */
export interface WaitingCall {
  readonly id: string
  readonly name: string
  readonly args?: unknown
  /** What the tool says it will do with these arguments, for whom decides. */
  readonly preview?: unknown
  /** Which of several agents behind one address wants it. */
  readonly agent?: string | undefined
  /** Of `args`; an operator may change them within it. */
  readonly schema?: { readonly [keyword: string]: unknown } | undefined
  readonly rule?: CallRule | undefined
}

export type CallRule = Pick<ToolRule, 'approve' | 'remember' | 'remember_days'> &
  Partial<Pick<ToolRule, 'notify' | 'expires_after_hours'>>

/** A call that may run, or not. */
interface RuledCall {
  readonly action: PendingAction
  readonly isGranted: boolean
  readonly resolver: string
  /** What it runs with instead. */
  readonly edited?: Json | undefined
}

/** A call on which a message decides. */
export interface DecidedCall extends RuledCall {
  readonly shown: ApprovalAction
  /** Public id of the requirement. */
  readonly requirement: string
  /** Whoever is talking is not the one who decided. */
  readonly isOfOperator: boolean
}

/** A call as it stands. */
interface AskedCall {
  readonly action: PendingAction
  readonly outcome: ToolOutcome
}

/** Calls of one agent's tools that wait for a yes. They are on the record store before anybody is asked. */
export interface Approvals {
  /** The answer that asks for it; the turn ends with it. */
  ask(call: WaitingCall, context: CallPlace & Pick<ToolContext, 'requireConsent'>): Promise<PartialResponse>
  /** What was decided before for such calls of whoever is talking; undefined: somebody has to be asked. */
  findRemembered(call: WaitingCall, context: CallPlace): Promise<RuledCall | undefined>
  /** What a message decides on; undefined when it is about something else. */
  findDecided(message: Pick<NormalizedMessage, 'policy_resolution'>): Promise<DecidedCall | undefined>
  /**
   * What came of it. `run` is called for a granted call alone, and at most once, however often the turn is tried: that it was begun is on
   * record before. A turn that dies while the tool runs does not run it again.
   */
  settle(ruled: RuledCall, run: (args: Json) => Promise<ToolOutcome>): Promise<ToolOutcome>
  /** How an asked call stands, for a model that goes on without a decision. */
  describe(policy: Policy): Promise<AskedCall | undefined>
}

/** Where a call is made, and for whom. */
export type CallPlace = Pick<ToolContext, 'message' | 'flags' | 'thread' | 'messageNumber' | 'correlationId' | 'signal'>
