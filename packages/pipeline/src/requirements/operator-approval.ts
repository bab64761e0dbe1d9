// Describes the calls and questions of agents that wait for an operator.
import type { Json, RememberScope } from '@postern/message'
import type { RequirementRecord, Resolved } from '../ports/records/requirement-record.ts'

/** A call in full, for the person who has to allow it. */
export interface ApprovalCall {
  readonly id: string
  readonly tool: string
  /** The agent that wants the call, where several agents stand behind one address. */
  readonly agent?: string | undefined
  readonly summary: string
  readonly args: Json
  /** JSON Schema of `args`; absent where none is known: then they cannot be changed. */
  readonly schema?: { readonly [keyword: string]: Json } | undefined
  /** Returns the fault of other arguments; undefined when they have none. */
  findFault(args: unknown): string | undefined
}

/** A requirement that an operator decides. Without `call`, the agent asks for something else, in the words of `requirement.policy`. */
export interface OperatorApproval {
  readonly requirement: RequirementRecord
  readonly call?: ApprovalCall | undefined
}

/** The decision of an operator, and the way by which it came. */
export interface OperatorWord {
  readonly method: 'operator' | 'link'
  readonly isGranted: boolean
  /** The arguments with which the call runs instead. */
  readonly args?: Json | undefined
  /** The later calls of the same tool for which the decision counts; absent: none. */
  readonly remember?: RememberScope | undefined
  /** The operator's name, where it is known. */
  readonly subject?: string | undefined
}

/** Requirements that wait for an operator, the same on every surface: a decision on one of them ends it on all. */
export interface OperatorApprovals {
  /** Open ones, oldest first. */
  list(filter: { readonly limit: number; readonly agent?: string | undefined }): Promise<readonly OperatorApproval[]>
  /** By the public id; whatever became of it. Undefined for a requirement that is somebody else's to decide. */
  find(id: string): Promise<OperatorApproval | undefined>
  /** @throws Rejection `malformed` when the arguments are not the tool's, `too_large` */
  decide(approval: OperatorApproval, word: OperatorWord): Promise<Resolved>
}

/** A question of an agent to an operator, while its sender waits for the answer. */
export interface WaitingQuestion {
  readonly id: string
  readonly agent: string
  /** The agent that asks, where several agents stand behind one address. */
  readonly member: string
  /** The sender who waits. */
  readonly from: string
  readonly text: string
  /** ISO 8601 UTC. */
  readonly asked_at: string
  readonly answer?: string | undefined
}

export interface OperatorQuestions {
  /** Newest first. */
  list(): Promise<readonly WaitingQuestion[]>
  /** False when nobody waits for it (any more). */
  answer(id: string, text: string): Promise<boolean>
}
