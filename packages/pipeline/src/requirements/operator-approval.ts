// Describes the calls and questions of agents that wait for an operator.
import type { Json, RememberScope } from '@postern/message'
import type { RequirementRecord, ResolutionResult } from '../ports/records/requirement-record.ts'

/** A complete tool call, as the operator who decides on it sees it. */
export interface ApprovalCall {
  readonly id: string
  readonly tool: string
  /** The agent that wants to make the call, if several agents share an address. */
  readonly agent?: string | undefined
  readonly summary: string
  readonly args: Json
  /** JSON Schema of `args`; absent if none is known. The decision page lets operators change arguments only if there is one. */
  readonly schema?: { readonly [keyword: string]: Json } | undefined
  /** Returns the fault of changed arguments; undefined if they are valid. */
  findFault(args: unknown): string | undefined
}

/** A requirement that an operator decides. `call` is absent if it is about something else, which `requirement.policy` describes. */
export interface OperatorApproval {
  readonly requirement: RequirementRecord
  readonly call?: ApprovalCall | undefined
}

/** An operator's decision, and the way it was made: with an operator's credentials, or by the link to the decision page. */
export interface OperatorDecision {
  readonly method: 'operator' | 'link'
  readonly isGranted: boolean
  /** The changed arguments with which the call runs; absent if they are unchanged. */
  readonly args?: Json | undefined
  /** The later calls of the same tool for which the decision counts; absent if it counts only once. */
  readonly remember?: RememberScope | undefined
  /** The operator's name, if it is known. */
  readonly subject?: string | undefined
}

/** The requirements that wait for an operator. Every surface shows the same ones, and a decision on one surface closes the requirement on all. */
export interface OperatorApprovals {
  /** Lists the open requirements, oldest first. */
  list(filter: { readonly limit: number; readonly agent?: string | undefined }): Promise<readonly OperatorApproval[]>
  /** Finds a requirement by its public id, whatever its status. Returns undefined if an operator does not decide it. */
  find(id: string): Promise<OperatorApproval | undefined>
  /** Carries out a decision. @throws Rejection `malformed` if the arguments do not fit the tool, `too_large` if they are too long */
  decide(approval: OperatorApproval, decision: OperatorDecision): Promise<ResolutionResult>
}

/** A question that an agent asks an operator while a sender waits. */
export interface WaitingQuestion {
  readonly id: string
  readonly agent: string
  /** The member of the agent that asks, if several agents share an address. */
  readonly member: string
  /** The sender who waits. */
  readonly from: string
  readonly text: string
  /** ISO 8601 UTC. */
  readonly asked_at: string
  readonly answer?: string | undefined
}

/** The questions of agents to operators that are waiting for an answer. */
export interface OperatorQuestions {
  /** Lists the questions, newest first. */
  list(): Promise<readonly WaitingQuestion[]>
  /** Answers a question. Returns false if nobody waits for the answer, or if it was answered before. */
  answer(id: string, text: string): Promise<boolean>
}
