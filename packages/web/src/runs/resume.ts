// Applies a person's decisions on the interrupts of an earlier run.

import type { ResumeEntry } from '@ag-ui/core'
import { isForOperator, isJsonObject, Rejection, randomHex, subjectOf } from '@postern/message'
import type { RequirementDecision, RequirementRecord } from '@postern/pipeline'
import { readRemember, resolutionIdOf } from '@postern/pipeline'
import type { TranscriptEntry } from '@postern/transcript'
import { partsOfContent } from '@postern/transcript'
import type { WebDeps } from '../endpoint.ts'
import { RepeatedRun } from '../endpoint.ts'
import { isRequirement } from '../history/show-history.ts'
import { isQuestionClosed } from '../requirements/closed-questions.ts'
import { isRequirementId } from '../requirements/interrupts.ts'
import type { RequestedRun } from '../resolve.ts'
import { senderOf } from '../verify.ts'
import type { WatchedTurn } from './follow-turn.ts'

export interface DecidedInterrupts {
  /** The turn that a decision caused. */
  readonly watchedTurn: WatchedTurn | undefined
  /** The answers to questions, as text. */
  readonly answers: readonly string[]
  /** The question that the person closed without an answer. */
  readonly closedQuestion: string | undefined
  readonly warnings: readonly string[]
  /** A turn after an operator's decision, which the run follows if it has no new content. */
  readonly followingTurn: WatchedTurn | undefined
  /** True if the run may succeed without a turn, because a question was closed or the client asked about an operator's decision. */
  readonly isAsking: boolean
}

interface DecisionDeps {
  readonly deps: WebDeps
  readonly recentEntries: readonly TranscriptEntry[]
}

/** Applies a person's decisions on the interrupts of an earlier run. Nobody can decide another person's requirements. */
export async function decideInterrupts(
  resume: readonly ResumeEntry[],
  request: RequestedRun,
  decisionDeps: DecisionDeps,
): Promise<DecidedInterrupts> {
  let decision = noDecisions
  for (const entry of resume) {
    const entryDecision = await decideInterrupt(
      entry,
      { ...request, hasBegun: decision.watchedTurn !== undefined },
      decisionDeps,
    )
    decision = {
      watchedTurn: entryDecision.watchedTurn ?? decision.watchedTurn,
      answers: [...decision.answers, ...entryDecision.answers],
      closedQuestion: entryDecision.closedQuestion ?? decision.closedQuestion,
      warnings: [...decision.warnings, ...entryDecision.warnings],
      followingTurn: entryDecision.followingTurn ?? decision.followingTurn,
      isAsking: decision.isAsking || entryDecision.isAsking,
    }
  }
  return decision
}

/** The task options of the first decision in a run, which creates the task, and of later ones, which belong to the same task. */
const [newTaskOptions, laterTaskOptions] = [{ isNew: true }, { reopens: true }] as const

/** The result of a run without decisions. */
export const noDecisions: DecidedInterrupts = {
  watchedTurn: undefined,
  answers: [],
  closedQuestion: undefined,
  warnings: [],
  followingTurn: undefined,
  isAsking: false,
}
const unknownInterrupt: DecidedInterrupts = {
  ...noDecisions,
  warnings: ['an interrupt that is not open was not decided'],
}

/** A run with one of its decisions. `hasBegun` is true if the run has already decided something. */
type DecidingRun = RequestedRun & { readonly hasBegun: boolean }

async function decideInterrupt(
  entry: ResumeEntry,
  request: DecidingRun,
  { deps, recentEntries }: DecisionDeps,
): Promise<DecidedInterrupts> {
  const requirement = isRequirementId(entry.interruptId)
    ? await deps.gateway.store.findRequirement({ id: entry.interruptId })
    : undefined
  if (!requirement) return answerQuestion(entry, request, { deps, recentEntries })
  if (isForOperator(requirement.policy)) return followOperatorDecision(requirement, request, { deps, recentEntries })
  const sender = senderOf(request.owner, `@${request.agent}@${deps.gateway.agents.domain}`, 0)
  const isOwn = requirement.subject === subjectOf(sender) && requirement.agent === request.agent
  // Payments and logins are proven elsewhere, so here the person can only decline them.
  const isDecidable = requirement.kind === 'consent_required' || entry.status === 'cancelled'
  if (!isOwn || !isDecidable || !wasRequested(requirement.id, recentEntries)) return unknownInterrupt
  const unknownMember = findUnknownMember(entry)
  if (unknownMember !== undefined) {
    return {
      ...noDecisions,
      warnings: [`an approval with "${unknownMember}" was not taken: only yes or no is asked for`],
    }
  }
  const rememberScope = readRememberScope(entry, requirement)
  if (typeof rememberScope === 'string') return { ...noDecisions, warnings: [rememberScope] }
  const outcome = isApproval(entry) ? 'granted' : 'declined'
  const resolver = { method: 'web', subject: request.owner.subject }
  const run = { owner: request.owner.owner, id: request.input.runId }
  const task = { ...run, context: request.input.threadId, ...(request.hasBegun ? laterTaskOptions : newTaskOptions) }
  const { digest, kind } = requirement
  const cancellation = entry.status === 'cancelled' ? ({ isCancelled: true } as const) : {}
  const decision = { digest, kind, outcome, resolver, task, ...rememberScope, ...cancellation } as const
  const resolution = await deps.gateway.decisions.resolveRequirement(decision, randomHex(deps.gateway.system, 8))
  if (resolution.outcome === 'refused' && resolution.reason === 'taken' && !request.hasBegun) throw new RepeatedRun()
  if (resolution.outcome === 'refused') return unknownInterrupt
  return { ...noDecisions, watchedTurn: { message: resolution.message, task: run } }
}

/** Returns the name of a member that an approval has and its schema has not. An approval without that member would not be the person's decision. */
function findUnknownMember(entry: ResumeEntry): string | undefined {
  const { payload } = entry
  if (!isApproval(entry) || !isJsonObject(payload)) return undefined
  return Object.keys(payload).find(name => name !== 'approved' && name !== 'remember')
}

/** Reads the scope for which the decision counts. Returns the reason as text if the value is not understood. */
function readRememberScope(
  { payload }: ResumeEntry,
  requirement: RequirementRecord,
): Pick<RequirementDecision, 'remember'> | string {
  try {
    const remember = readRemember(isJsonObject(payload) ? payload.remember : undefined, requirement)
    return remember ? { remember } : {}
  } catch (error) {
    if (error instanceof Rejection) return error.message
    throw error
  }
}

/** Reads the state of a requirement that an operator decides. The person decides nothing here, and the run shows the state. */
async function followOperatorDecision(
  requirement: RequirementRecord,
  { agent }: RequestedRun,
  { deps: { gateway }, recentEntries }: DecisionDeps,
): Promise<DecidedInterrupts> {
  if (requirement.agent !== agent || !wasRequested(requirement.id, recentEntries)) return unknownInterrupt
  if (requirement.status === 'open') return { ...noDecisions, warnings: ['an operator decides that'], isAsking: true }
  // If the deadline has passed, this request ends the requirement at once, without waiting for the worker.
  const isOverdue = requirement.status === 'expired' && requirement.resolvedAt === undefined
  if (isOverdue) await gateway.decisions.endOverdue(requirement.id, randomHex(gateway.system, 8))
  const causedMessage = await gateway.store.findMessageTo(agent, resolutionIdOf(requirement.id))
  const state = causedMessage && (await gateway.store.findMessage(`#${causedMessage.message}`))?.state
  const isAnswered = state !== 'received' && state !== 'working'
  return {
    ...noDecisions,
    isAsking: true,
    followingTurn: causedMessage && !isAnswered ? { message: causedMessage.message, task: undefined } : undefined,
  }
}

/** Returns true if this conversation contains the requirement, because its result will be a part of the conversation. */
function wasRequested(id: string, recentEntries: readonly TranscriptEntry[]): boolean {
  const parts = recentEntries.flatMap(({ content }) => partsOfContent(content))
  return parts.some(part => part.kind === 'policy' && part.policy.requirement === id)
}

/** Returns true for a plain yes, the only form of an approval. */
function isApproval({ status, payload }: ResumeEntry): boolean {
  return status === 'resolved' && (payload === true || (isJsonObject(payload) && payload.approved === true))
}

/** Answers the question in the agent's last message, or closes the question if the AG-UI interrupt ends with `cancelled`. */
async function answerQuestion(
  { interruptId, status, payload }: ResumeEntry,
  { owner }: DecidingRun,
  { deps: { records }, recentEntries }: DecisionDeps,
): Promise<DecidedInterrupts> {
  const lastAnswer = recentEntries.findLast(entry => entry.role === 'assistant' || isRequirement(entry))
  // The first message of an answer has the answer's id.
  const firstEntry =
    lastAnswer?.group_id === undefined
      ? lastAnswer
      : recentEntries.find(({ entry_id }) => entry_id === lastAnswer.group_id)
  if (!lastAnswer || (lastAnswer.wait?.id !== interruptId && firstEntry?.native_id !== interruptId))
    return unknownInterrupt
  if (status === 'cancelled') {
    const isOpen = isRequirement(lastAnswer) && !(await isQuestionClosed(records, owner.owner, interruptId))
    return isOpen ? { ...noDecisions, closedQuestion: interruptId, isAsking: true } : unknownInterrupt
  }
  if (status !== 'resolved' || (await isQuestionClosed(records, owner.owner, interruptId))) return unknownInterrupt
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload ?? '')
  return { ...noDecisions, answers: [text] }
}
