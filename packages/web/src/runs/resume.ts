// Applies a person's decisions on the interrupts of an earlier run.
import type { ResumeEntry } from '@ag-ui/core'
import { isForOperator, isJsonObject, Rejection, randomHex, subjectOf } from '@postern/message'
import type { RequirementDecision, RequirementRecord } from '@postern/pipeline'
import { readRemember, resolutionIdOf } from '@postern/pipeline'
import type { TranscriptEntry } from '@postern/transcript'
import type { WebDeps } from '../endpoint.ts'
import { RunRepeated } from '../endpoint.ts'
import { isAsked } from '../history/show-history.ts'
import { isClosed } from '../requirements/closed-questions.ts'
import type { AskedRun } from '../resolve.ts'
import { senderOf } from '../verify.ts'
import type { Watched } from './follow-turn.ts'

interface DecidedInterrupts {
  /** The turn that a decision caused. */
  readonly watched: Watched | undefined
  /** The answers to questions, as text. */
  readonly answers: readonly string[]
  /** The question that the person closed without an answer. */
  readonly closed: string | undefined
  readonly warnings: readonly string[]
  /** A turn after an operator's decision, which the run follows if it has no new content. */
  readonly following: Watched | undefined
  /** True if the run may succeed without a turn, because a question was closed or the client asked about an operator's decision. */
  readonly isAsking: boolean
}

interface Deciding {
  readonly deps: WebDeps
  readonly recent: readonly TranscriptEntry[]
}

/** Applies a person's decisions on the interrupts of an earlier run. Nobody can decide another person's requirements. */
export async function decideInterrupts(
  resume: readonly ResumeEntry[],
  asked: AskedRun,
  deciding: Deciding,
): Promise<DecidedInterrupts> {
  let decided = nothingDecided
  for (const entry of resume) {
    const next = await decideInterrupt(entry, { ...asked, isBegun: decided.watched !== undefined }, deciding)
    decided = {
      watched: next.watched ?? decided.watched,
      answers: [...decided.answers, ...next.answers],
      closed: next.closed ?? decided.closed,
      warnings: [...decided.warnings, ...next.warnings],
      following: next.following ?? decided.following,
      isAsking: decided.isAsking || next.isAsking,
    }
  }
  return decided
}

/** The task options of the first decision in a run, which creates the task, and of later ones, which belong to the same task. */
const [isNew, reopens] = [{ isNew: true }, { reopens: true }] as const

/** The result of a run without decisions. */
export const nothingDecided: DecidedInterrupts = {
  watched: undefined,
  answers: [],
  closed: undefined,
  warnings: [],
  following: undefined,
  isAsking: false,
}
const unknown: DecidedInterrupts = { ...nothingDecided, warnings: ['an interrupt that is not open was not decided'] }

/** A run with one of its decisions. `isBegun` is true if the run has already decided something. */
type DecidingRun = AskedRun & { readonly isBegun: boolean }

async function decideInterrupt(
  entry: ResumeEntry,
  asked: DecidingRun,
  { deps, recent }: Deciding,
): Promise<DecidedInterrupts> {
  const requirement = /^[0-9a-f]{32}$/.test(entry.interruptId)
    ? await deps.gateway.store.findRequirement({ id: entry.interruptId })
    : undefined
  if (!requirement) return answerQuestion(entry, asked, { deps, recent })
  if (isForOperator(requirement.policy)) return lookAfterOperator(requirement, asked, { deps, recent })
  const sender = senderOf(asked.owner, `@${asked.agent}@${deps.gateway.agents.domain}`, 0)
  const isOwn = requirement.subject === subjectOf(sender) && requirement.agent === asked.agent
  // Payments and logins are proven elsewhere, so here the person can only decline them.
  const isLeft = requirement.kind === 'consent_required' || entry.status === 'cancelled'
  if (!isOwn || !isLeft || !wasRequested(requirement.id, recent)) return unknown
  const foreign = findForeign(entry)
  if (foreign !== undefined) {
    return { ...nothingDecided, warnings: [`an approval with "${foreign}" was not taken: only yes or no is asked for`] }
  }
  const reach = readReach(entry, requirement)
  if (typeof reach === 'string') return { ...nothingDecided, warnings: [reach] }
  const outcome = isApproval(entry) ? 'granted' : 'declined'
  const resolver = { method: 'web', subject: asked.owner.subject }
  const run = { owner: asked.owner.owner, id: asked.input.runId }
  const task = { ...run, context: asked.input.threadId, ...(asked.isBegun ? reopens : isNew) }
  const { digest, kind } = requirement
  const cancelled = entry.status === 'cancelled' ? ({ isCancelled: true } as const) : {}
  const decision = { digest, kind, outcome, resolver, task, ...reach, ...cancelled } as const
  const resolved = await deps.gateway.decisions.resolveRequirement(decision, randomHex(deps.gateway.system, 8))
  if (resolved.outcome === 'refused' && resolved.reason === 'taken' && !asked.isBegun) throw new RunRepeated()
  if (resolved.outcome === 'refused') return unknown
  return { ...nothingDecided, watched: { message: resolved.message, task: run } }
}

/** Returns the name of a member that accompanies a yes and is not in its schema. Ignoring it would not be the person's decision. */
function findForeign(entry: ResumeEntry): string | undefined {
  const { payload } = entry
  if (!isApproval(entry) || !isJsonObject(payload)) return undefined
  return Object.keys(payload).find(name => name !== 'approved' && name !== 'remember')
}

/** Reads the scope for which the decision counts. It returns the reason if the value is not understood. */
function readReach(
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
async function lookAfterOperator(
  requirement: RequirementRecord,
  { agent }: AskedRun,
  { deps: { gateway }, recent }: Deciding,
): Promise<DecidedInterrupts> {
  if (requirement.agent !== agent || !wasRequested(requirement.id, recent)) return unknown
  if (requirement.status === 'open')
    return { ...nothingDecided, warnings: ['an operator decides that'], isAsking: true }
  // If the deadline has passed, this request ends the requirement at once, without waiting for the worker.
  const isOverdue = requirement.status === 'expired' && requirement.resolvedAt === undefined
  if (isOverdue) await gateway.decisions.endOverdue(requirement.id, randomHex(gateway.system, 8))
  const caused = await gateway.store.findMessageTo(agent, resolutionIdOf(requirement.id))
  const state = caused && (await gateway.store.findMessage(`#${caused.message}`))?.state
  const isAnswered = state !== 'received' && state !== 'working'
  return {
    ...nothingDecided,
    isAsking: true,
    ...(caused && !isAnswered && { following: { message: caused.message, task: undefined } }),
  }
}

/** Returns true if this conversation contains the requirement, because its result will be a part of the conversation. */
function wasRequested(id: string, recent: readonly TranscriptEntry[]): boolean {
  const parts = recent.flatMap(({ content }) => ('parts' in content ? content.parts : []))
  return parts.some(part => part.kind === 'policy' && part.policy.requirement === id)
}

/** Returns true for a plain yes, the only form of an approval. */
function isApproval({ status, payload }: ResumeEntry): boolean {
  return status === 'resolved' && (payload === true || (isJsonObject(payload) && payload.approved === true))
}

/** Answers the question in the agent's last message, or closes it (an AG-UI interrupt ends with `cancelled`). */
async function answerQuestion(
  { interruptId, status, payload }: ResumeEntry,
  { owner }: DecidingRun,
  { deps: { records }, recent }: Deciding,
): Promise<DecidedInterrupts> {
  const last = recent.findLast(entry => entry.role === 'assistant' || isAsked(entry))
  // The first message of an answer has the answer's id.
  const head = last?.group_id === undefined ? last : recent.find(({ entry_id }) => entry_id === last.group_id)
  if (!last || (last.wait?.id !== interruptId && head?.native_id !== interruptId)) return unknown
  if (status === 'cancelled') {
    const isOpen = isAsked(last) && !(await isClosed(records, owner.owner, interruptId))
    return isOpen ? { ...nothingDecided, closed: interruptId, isAsking: true } : unknown
  }
  if (status !== 'resolved' || (await isClosed(records, owner.owner, interruptId))) return unknown
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload ?? '')
  return { ...nothingDecided, answers: [text] }
}
