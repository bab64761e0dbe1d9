import type { ResumeEntry } from '@ag-ui/core'
import type {
  Json,
  OperatorApproval,
  OperatorApprovals,
  OperatorQuestions,
  OperatorWord,
  WaitingQuestion,
} from '@postern/core'
import { describeObjection, isJsonObject, isoTime, Rejection, readRemember } from '@postern/core'
import type { OperatorRun, WebOperator } from './verify-operator.ts'
import { answerWaitingQuestion, isQuestionId, listQuestions, requirementOfMessage } from './waiting.ts'

/** A call that this run decided, and the turn that follows. */
export interface DecidedApproval {
  readonly approval: OperatorApproval
  readonly message: number
}

/** What waits for operators. */
export interface OperatorWaits {
  readonly approvals: OperatorApprovals
  readonly questions: OperatorQuestions
}

export interface StartedOperatorRun {
  readonly decided: readonly DecidedApproval[]
  /** How many questions were answered. */
  readonly answered: number
  readonly warnings: readonly string[]
  /** What the run shows: what waits, and what the client has seen before. */
  readonly shown: readonly OperatorApproval[]
  readonly questions: readonly WaitingQuestion[]
}

/** Approvals in one run. After these are decided, the next run shows others. */
const mostWaiting = 50
const threadOfOne = /^approval:([0-9a-f]{32})$/

/** What waits in a thread: one approval in `approval:<id>`, all of them in any other thread. */
export async function listWaiting(
  { agent, input }: OperatorRun,
  approvals: OperatorApprovals,
): Promise<readonly OperatorApproval[]> {
  const [, id] = threadOfOne.exec(input.threadId) ?? []
  if (input.threadId.startsWith('question:')) return []
  if (id === undefined) return approvals.list({ limit: mostWaiting, agent })
  const approval = await approvals.find(id)
  const isMeant = approval && (agent === undefined || approval.requirement.agent === agent)
  return isMeant && approval.requirement.status === 'open' ? [approval] : []
}

/** Applies the operator's decisions and ignores other messages. */
export async function startOperatorRun(run: OperatorRun, waits: OperatorWaits): Promise<StartedOperatorRun> {
  const { approvals, questions } = waits
  const { messages, resume = [] } = run.input
  const seen = await findSeen(run, approvals)
  const decided: DecidedApproval[] = []
  const warnings: string[] = messages.some(({ role }) => role === 'user') ? [nobodyListens] : []
  let answered = 0
  for (const entry of resume) {
    const isQuestion = isQuestionId(entry.interruptId)
    const outcome = isQuestion
      ? await answerWaitingQuestion(entry, run, questions)
      : await decideOne(entry, run, approvals)
    if (typeof outcome === 'string') warnings.push(outcome)
    else if (outcome === true) answered += 1
    else decided.push(outcome)
  }
  const waiting = await listWaiting(run, approvals)
  const open = new Set(waiting.map(({ requirement }) => requirement.id))
  const shown = [...seen.filter(({ requirement }) => !open.has(requirement.id)), ...waiting]
  return { decided, answered, warnings, shown, questions: await listQuestions(run, questions) }
}

const nobodyListens = 'what is said here nobody hears: decide by resume'

/** The present state of what the client's copy shows. */
async function findSeen(
  { agent, input: { messages } }: OperatorRun,
  approvals: OperatorApprovals,
): Promise<readonly OperatorApproval[]> {
  const ids = [...new Set(messages.flatMap(({ id }) => requirementOfMessage(id) ?? []))].slice(-mostWaiting)
  const found = await Promise.all(ids.map(id => approvals.find(id)))
  return found
    .filter(each => each !== undefined)
    .filter(({ requirement }) => agent === undefined || requirement.agent === agent)
}

/** Why a decision does not count. */
async function decideOne(
  entry: ResumeEntry,
  { operator, agent }: OperatorRun,
  approvals: OperatorApprovals,
): Promise<DecidedApproval | string> {
  const approval = /^[0-9a-f]{32}$/.test(entry.interruptId) ? await approvals.find(entry.interruptId) : undefined
  if (!approval || (agent !== undefined && approval.requirement.agent !== agent)) {
    return 'an interrupt that is not open was not decided'
  }
  try {
    const word = readWord(entry, operator, approval)
    if (!word) return `${nameApproval(approval)} is left open: say approved, true or false`
    const resolved = await approvals.decide(approval, word)
    if (resolved.outcome === 'resolved') return { approval, message: resolved.message }
    const current = resolved.requirement ? { ...approval, requirement: resolved.requirement } : approval
    return `${nameApproval(current)} is closed: ${describeClosing(current) ?? describeObjection(resolved.reason)}`
  } catch (error) {
    if (error instanceof Rejection) return error.message
    throw error
  }
}

function nameApproval({ requirement, call }: OperatorApproval): string {
  return `"${requirement.policy.title ?? call?.tool ?? requirement.agent}"`
}

function describeClosing({ requirement: { status, resolver, resolvedAt } }: OperatorApproval): string | undefined {
  if (status === 'open' || status === 'expired' || resolvedAt === undefined) return undefined
  const who = [resolver?.method, resolver?.subject].filter(Boolean).join(' ')
  return `${status} by ${who} at ${isoTime(resolvedAt)}`
}

/** An answer that is neither yes nor no is missing and decides nothing. @throws Rejection for an unknown reach */
function readWord(
  { status, payload }: ResumeEntry,
  { name }: WebOperator,
  { requirement }: OperatorApproval,
): OperatorWord | undefined {
  const by = { method: 'operator', subject: name } as const
  if (status === 'cancelled') return { ...by, isGranted: false }
  const said: Record<string, unknown> = isJsonObject(payload) ? payload : { approved: payload }
  const { approved, editedArgs, arguments: args, remember } = said
  if (typeof approved !== 'boolean') return undefined
  const reach = readRemember(remember, requirement)
  return { ...by, isGranted: approved, args: (editedArgs ?? args) as Json | undefined, remember: reach }
}
