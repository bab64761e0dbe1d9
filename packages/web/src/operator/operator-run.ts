// Applies an operator's decisions in a run, and lists the approvals that still wait.

import type { ResumeEntry } from '@ag-ui/core'
import type { Json } from '@postern/message'
import { isJsonObject, isoTime, Rejection } from '@postern/message'
import type {
  OperatorApproval,
  OperatorApprovals,
  OperatorDecision,
  OperatorQuestions,
  WaitingQuestion,
} from '@postern/pipeline'
import { describeObjection, readRemember } from '@postern/pipeline'
import { isRequirementId } from '../requirements/interrupts.ts'
import type { OperatorRun, WebOperator } from './verify-operator.ts'
import { answerWaitingQuestion, isQuestionId, listQuestions, requirementOfMessage } from './waiting.ts'

/** A call that this run decided, and the number of the message whose turn follows. */
export interface DecidedApproval {
  readonly approval: OperatorApproval
  readonly message: number
}

/** The calls and questions that wait for operators. */
export interface OperatorWaits {
  readonly approvals: OperatorApprovals
  readonly questions: OperatorQuestions
}

export interface StartedOperatorRun {
  readonly decidedApprovals: readonly DecidedApproval[]
  /** The number of answered questions. */
  readonly answeredCount: number
  readonly warnings: readonly string[]
  /** The approvals that the run shows: those that wait, and those that the client has shown before. */
  readonly approvals: readonly OperatorApproval[]
  readonly questions: readonly WaitingQuestion[]
}

/** The maximum number of approvals in one run. After these are decided, the next run shows others. */
const maxWaiting = 50
const approvalThreadPattern = /^approval:([0-9a-f]{32})$/

/** Lists the approvals that wait in a thread: a single one in `approval:<id>`, none in `question:<id>`, and all of them in any other thread. */
export async function listWaiting(
  { agent, input }: OperatorRun,
  approvals: OperatorApprovals,
): Promise<readonly OperatorApproval[]> {
  const [, id] = approvalThreadPattern.exec(input.threadId) ?? []
  if (input.threadId.startsWith('question:')) return []
  if (id === undefined) return approvals.list({ limit: maxWaiting, agent })
  const approval = await approvals.find(id)
  const matchesAgent = approval && (agent === undefined || approval.requirement.agent === agent)
  return matchesAgent && approval.requirement.status === 'open' ? [approval] : []
}

/** Applies the operator's decisions and ignores other messages. */
export async function startOperatorRun(run: OperatorRun, waits: OperatorWaits): Promise<StartedOperatorRun> {
  const { approvals, questions } = waits
  const { messages, resume = [] } = run.input
  const seenApprovals = await findSeenApprovals(run, approvals)
  const decidedApprovals: DecidedApproval[] = []
  const warnings: string[] = messages.some(({ role }) => role === 'user') ? [ignoredMessageWarning] : []
  let answeredCount = 0
  for (const entry of resume) {
    const isQuestion = isQuestionId(entry.interruptId)
    const outcome = isQuestion
      ? await answerWaitingQuestion(entry, run, questions)
      : await decideApproval(entry, run, approvals)
    if (typeof outcome === 'string') warnings.push(outcome)
    else if (outcome === true) answeredCount += 1
    else decidedApprovals.push(outcome)
  }
  const waitingApprovals = await listWaiting(run, approvals)
  const openIds = new Set(waitingApprovals.map(({ requirement }) => requirement.id))
  const shownApprovals = [
    ...seenApprovals.filter(({ requirement }) => !openIds.has(requirement.id)),
    ...waitingApprovals,
  ]
  return {
    decidedApprovals,
    answeredCount,
    warnings,
    approvals: shownApprovals,
    questions: await listQuestions(run, questions),
  }
}

const ignoredMessageWarning = 'messages in this chat reach nobody: send your decisions in "resume"'

/** Reads the present state of the approvals in the client's copy. */
async function findSeenApprovals(
  { agent, input: { messages } }: OperatorRun,
  approvals: OperatorApprovals,
): Promise<readonly OperatorApproval[]> {
  const ids = [...new Set(messages.flatMap(({ id }) => requirementOfMessage(id) ?? []))].slice(-maxWaiting)
  const foundApprovals = await Promise.all(ids.map(id => approvals.find(id)))
  return foundApprovals
    .filter(approval => approval !== undefined)
    .filter(({ requirement }) => agent === undefined || requirement.agent === agent)
}

/** Applies one decision. Returns the reason as text if the decision does not count. */
async function decideApproval(
  entry: ResumeEntry,
  { operator, agent }: OperatorRun,
  approvals: OperatorApprovals,
): Promise<DecidedApproval | string> {
  const approval = isRequirementId(entry.interruptId) ? await approvals.find(entry.interruptId) : undefined
  if (!approval || (agent !== undefined && approval.requirement.agent !== agent)) {
    return 'an interrupt that is not open was not decided'
  }
  try {
    const decision = readOperatorDecision(entry, operator, approval)
    if (!decision) return `${formatLabel(approval)} is left open: say approved, true or false`
    const resolution = await approvals.decide(approval, decision)
    if (resolution.outcome === 'resolved') return { approval, message: resolution.message }
    const currentApproval = resolution.requirement ? { ...approval, requirement: resolution.requirement } : approval
    return `${formatLabel(currentApproval)} is closed: ${describeClosing(currentApproval) ?? describeObjection(resolution.reason)}`
  } catch (error) {
    if (error instanceof Rejection) return error.message
    throw error
  }
}

function formatLabel({ requirement, call }: OperatorApproval): string {
  return `"${requirement.policy.title ?? call?.tool ?? requirement.agent}"`
}

function describeClosing({ requirement: { status, resolver, resolvedAt } }: OperatorApproval): string | undefined {
  if (status === 'open' || status === 'expired' || resolvedAt === undefined) return undefined
  const resolverName = [resolver?.method, resolver?.subject].filter(Boolean).join(' ')
  return `${status} by ${resolverName} at ${isoTime(resolvedAt)}`
}

/**
 * Reads an operator's decision. An answer that is neither yes nor no decides nothing, and the result is undefined.
 * @throws Rejection for an unknown `remember`
 */
function readOperatorDecision(
  { status, payload }: ResumeEntry,
  { name }: WebOperator,
  { requirement }: OperatorApproval,
): OperatorDecision | undefined {
  const resolver = { method: 'operator', subject: name } as const
  if (status === 'cancelled') return { ...resolver, isGranted: false }
  const answer: Record<string, unknown> = isJsonObject(payload) ? payload : { approved: payload }
  const { approved, editedArgs, arguments: args, remember } = answer
  if (typeof approved !== 'boolean') return undefined
  const rememberScope = readRemember(remember, requirement)
  return { ...resolver, isGranted: approved, args: (editedArgs ?? args) as Json | undefined, remember: rememberScope }
}
