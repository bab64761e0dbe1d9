import type { ResumeEntry } from '@ag-ui/core'
import type { RequirementDecision, RequirementRecord } from '@postern/core'
import {
  isForOperator,
  isJsonObject,
  Rejection,
  randomHex,
  readRemember,
  resolutionIdOf,
  subjectOf,
} from '@postern/core'
import type { TranscriptEntry } from '@postern/transcript'
import type { WebDeps } from '../endpoint.ts'
import { RunRepeated } from '../endpoint.ts'
import { isAsked } from '../history/show-history.ts'
import type { AskedRun } from '../resolve.ts'
import { senderOf } from '../verify.ts'
import type { Watched } from './stream-run.ts'

interface DecidedInterrupts {
  /** The turn that a decision caused. */
  readonly watched: Watched | undefined
  /** Answers to questions, as text. */
  readonly answers: readonly string[]
  readonly warnings: readonly string[]
  /** A turn after an operator's decision. The run follows it when it says nothingDecided new. */
  readonly following: Watched | undefined
  /** The client only asked about something that an operator decides. */
  readonly isAsking: boolean
}

interface Deciding {
  readonly deps: WebDeps
  readonly recent: readonly TranscriptEntry[]
}

/** Applies a person's decisions on what stopped an earlier run. Nobody decides another person's requirements. */
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
      warnings: [...decided.warnings, ...next.warnings],
      following: next.following ?? decided.following,
      isAsking: decided.isAsking || next.isAsking,
    }
  }
  return decided
}

/** The first decision of a run creates its task; later ones belong to the same task. */
const [isNew, reopens] = [{ isNew: true }, { reopens: true }] as const

/** Of a run without decisions. */
export const nothingDecided: DecidedInterrupts = {
  watched: undefined,
  answers: [],
  warnings: [],
  following: undefined,
  isAsking: false,
}
const unknown: DecidedInterrupts = { ...nothingDecided, warnings: ['an interrupt that is not open was not decided'] }

/** `isBegun`: the run has already decided something. */
type DecidingRun = AskedRun & { readonly isBegun: boolean }

async function decideInterrupt(
  entry: ResumeEntry,
  asked: DecidingRun,
  { deps, recent }: Deciding,
): Promise<DecidedInterrupts> {
  const requirement = /^[0-9a-f]{32}$/.test(entry.interruptId)
    ? await deps.gateway.store.findRequirement({ id: entry.interruptId })
    : undefined
  if (!requirement) return answerQuestion(entry, recent)
  if (isForOperator(requirement.policy)) return lookAfterOperator(requirement, asked, { deps, recent })
  const sender = senderOf(asked.owner, `@${asked.agent}@${deps.gateway.agents.domain}`, 0)
  const isOwn = requirement.subject === subjectOf(sender) && requirement.agent === asked.agent
  // A payment or login is proven elsewhere; here the person can only decline it.
  const isLeft = requirement.kind === 'consent_required' || entry.status === 'cancelled'
  if (!isOwn || !isLeft || !wasRequested(requirement.id, recent)) return unknown
  const reach = readReach(entry, requirement)
  if (typeof reach === 'string') return { ...nothingDecided, warnings: [reach] }
  const outcome = isApproval(entry) ? 'granted' : 'declined'
  const resolver = { method: 'web', subject: asked.owner.subject }
  const run = { owner: asked.owner.owner, id: asked.input.runId }
  const task = { ...run, context: asked.input.threadId, ...(asked.isBegun ? reopens : isNew) }
  const decision = { digest: requirement.digest, kind: requirement.kind, outcome, resolver, task, ...reach } as const
  const resolved = await deps.gateway.decisions.resolveRequirement(decision, randomHex(deps.gateway.platform, 8))
  if (resolved.outcome === 'refused' && resolved.reason === 'taken' && !asked.isBegun) throw new RunRepeated()
  if (resolved.outcome === 'refused') return unknown
  return { ...nothingDecided, watched: { message: resolved.message, task: run } }
}

/** How long the decision counts, or why the value is not understood. */
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

/** The person decides nothingDecided here; the run tells them the state. */
async function lookAfterOperator(
  requirement: RequirementRecord,
  { agent }: AskedRun,
  { deps: { gateway }, recent }: Deciding,
): Promise<DecidedInterrupts> {
  if (requirement.agent !== agent || !wasRequested(requirement.id, recent)) return unknown
  if (requirement.status === 'open')
    return { ...nothingDecided, warnings: ['an operator decides that'], isAsking: true }
  // If the time is over, the request ends it at once and need not wait for the worker.
  const isOverdue = requirement.status === 'expired' && requirement.resolvedAt === undefined
  if (isOverdue) await gateway.decisions.endOverdue(requirement.id, randomHex(gateway.platform, 8))
  const caused = await gateway.store.findMessageTo(agent, resolutionIdOf(requirement.id))
  const state = caused && (await gateway.store.findMessage(`#${caused.message}`))?.state
  const isAnswered = state !== 'received' && state !== 'working'
  return {
    ...nothingDecided,
    isAsking: true,
    ...(caused && !isAnswered && { following: { message: caused.message, task: undefined } }),
  }
}

/** The request must stand in this conversation, because the result comes in it. */
function wasRequested(id: string, recent: readonly TranscriptEntry[]): boolean {
  const parts = recent.flatMap(({ content }) => ('parts' in content ? content.parts : []))
  return parts.some(part => part.kind === 'policy' && part.policy.requirement === id)
}

/** Only a plain yes approves. */
function isApproval({ status, payload }: ResumeEntry): boolean {
  return status === 'resolved' && (payload === true || (isJsonObject(payload) && payload.approved === true))
}

/** Answers the question that was the agent's last message. */
function answerQuestion(
  { interruptId, status, payload }: ResumeEntry,
  recent: readonly TranscriptEntry[],
): DecidedInterrupts {
  const last = recent.findLast(entry => (entry.role === 'assistant' || isAsked(entry)) && entry.native_id !== undefined)
  if (last?.native_id !== interruptId || status !== 'resolved') return unknown
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload ?? '')
  return { ...nothingDecided, answers: [text] }
}
