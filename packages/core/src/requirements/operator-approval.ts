import type { Json } from '../format/notations.ts'
import type { RememberScope } from '../message/choices.ts'
import type { RequirementRecord, Resolved } from '../ports/records/requirement-record.ts'

/** A call as whoever has to allow it sees it: whole. */
export interface ApprovalCall {
  readonly id: string
  readonly tool: string
  /** Which of several agents behind one address wants it. */
  readonly agent?: string | undefined
  readonly summary: string
  readonly args: Json
  /** JSON Schema of `args`; absent where none is known: then they cannot be changed. */
  readonly schema?: { readonly [keyword: string]: Json } | undefined
  /** What is wrong with other arguments; undefined when nothing is. */
  findFault(args: unknown): string | undefined
}

/** What an operator decides on. `call`: absent where an agent asks for something else, in the words of `requirement.policy`. */
export interface OperatorApproval {
  readonly requirement: RequirementRecord
  readonly call?: ApprovalCall | undefined
}

/** By which way an operator decides, and as whom. */
export interface OperatorWord {
  readonly method: 'operator' | 'link'
  readonly isGranted: boolean
  /** What the call is to run with instead. */
  readonly args?: Json | undefined
  /** How far it counts for later calls of the same tool; absent: this once. */
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

/** What an agent asks of a human while somebody waits. */
export interface WaitingQuestion {
  readonly id: string
  readonly agent: string
  /** Which of several agents behind one address asks. */
  readonly member: string
  /** Who waits. */
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
