// Shows waiting approvals and questions as chat messages and interrupts.

import type { Interrupt, ResumeEntry } from '@ag-ui/core'
import { isJsonObject, isoTime, readApproval, writeVisibleJson } from '@postern/message'
import type { ApprovalCall, OperatorApproval, OperatorQuestions, WaitingQuestion } from '@postern/pipeline'
import { describeDecisionSchema } from '../requirements/interrupts.ts'
import type { OperatorRun } from './verify-operator.ts'

const messageIdPrefix = 'approval-'

/** Returns the id of the requirement that a message of an operator's chat shows, or undefined for other messages. */
export function requirementOfMessage(id: string): string | undefined {
  return new RegExp(`^${messageIdPrefix}([0-9a-f]{32})$`).exec(id)?.[1]
}

/** Returns the id of the message with the outcome of an approval. */
export function outcomeMessageIdOf(requirement: string): string {
  return `${messageIdPrefix}${requirement}-end`
}

/** Returns the messages of an approval: who asks for what, the call with all its arguments, and the outcome. */
export function showApproval(
  { requirement, call }: OperatorApproval,
  { showsOutcome }: { readonly showsOutcome: boolean },
): readonly object[] {
  const { id, agent, address, via, policy, status } = requirement
  const content = `${agent}, talking to ${address} (${via}): ${call?.summary ?? policy.message}`
  const toolCalls = call && [
    { id: call.id, type: 'function', function: { name: call.tool, arguments: writeVisibleJson(call.args) } },
  ]
  const message = { id: messageIdPrefix + id, role: 'assistant', name: agent, content, ...(toolCalls && { toolCalls }) }
  if (!call || !showsOutcome) return [message]
  // Calls of several conversations may share an id, because models count from one, so the id contains the requirement.
  return [
    message,
    { id: outcomeMessageIdOf(id), role: 'tool', toolCallId: call.id, content: `It was decided: ${status}.` },
  ]
}

/** Summarizes waiting approvals by names and counts, never by the values of arguments. */
export function summarizeWaiting(approvals: readonly OperatorApproval[]): object {
  return {
    waiting: approvals.map(({ requirement: { id, agent, expiresAt }, call }) => ({
      id,
      agent,
      ...(call && { tool: call.tool, arguments: argumentNamesOf(call) }),
      expires_at: isoTime(expiresAt),
    })),
  }
}

/** Returns the interrupt of an approval with everything that the operator needs for a decision. */
export function writeApprovalInterrupt({ requirement, call }: OperatorApproval): Interrupt {
  const { id, agent, address, via, message, policy, expiresAt } = requirement
  return {
    id,
    reason: call ? 'tool_call' : 'confirmation',
    ...(call && { toolCallId: call.id }),
    message: call?.summary ?? policy.message,
    expiresAt: isoTime(expiresAt),
    responseSchema: describeDecisionSchema(readApproval(policy), call?.schema && { editedArgs: call.schema }),
    metadata: {
      agent,
      address,
      via,
      message,
      ...(policy.title !== undefined && { title: policy.title }),
      ...(call && { tool: call.tool, arguments: call.args, ...(call.agent !== undefined && { member: call.agent }) }),
    },
  }
}

function argumentNamesOf({ args }: ApprovalCall): readonly string[] {
  return Object.keys(Object(args))
}

const questionThreadPattern = /^question:([0-9a-f]{16})$/
const approvalThreadPrefix = 'approval:'
const maxAnswerChars = 50_000
const maxQuestions = 50

/** Lists the unanswered questions for which a caller waits, oldest first. The thread `question:<id>` shows a single one. */
export async function listQuestions(
  { agent, input: { threadId } }: OperatorRun,
  questions: OperatorQuestions,
): Promise<readonly WaitingQuestion[]> {
  const [, questionId] = questionThreadPattern.exec(threadId) ?? []
  if (threadId.startsWith(approvalThreadPrefix)) return []
  const openQuestions = (await questions.list()).filter(({ answer }) => answer === undefined).toReversed()
  return openQuestions
    .filter(question => (questionId ?? question.id) === question.id && (agent ?? question.agent) === question.agent)
    .slice(0, maxQuestions)
}

export function isQuestionId(id: string): boolean {
  return /^[0-9a-f]{16}$/.test(id)
}

/** Answers a question. Returns true, or the reason why the question was not answered. */
export async function answerWaitingQuestion(
  { interruptId, status, payload }: ResumeEntry,
  { agent }: OperatorRun,
  questions: OperatorQuestions,
): Promise<true | string> {
  const text = status === 'resolved' ? readAnswerText(payload) : ''
  if (text === '' || text.length > maxAnswerChars) return 'a question stays open: send the answer as "text"'
  const question = (await questions.list()).find(({ id }) => id === interruptId)
  const matchesAgent = question !== undefined && (agent ?? question.agent) === question.agent
  const isAnswered = matchesAgent && (await questions.answer(interruptId, text))
  return isAnswered || 'a question is closed: nobody waits for its answer any more'
}

function readAnswerText(payload: unknown): string {
  const text = isJsonObject(payload) ? payload.text : payload
  return typeof text === 'string' ? text.trim() : ''
}

export function showQuestion({ id, member, from, text }: WaitingQuestion): object {
  return { id: `question-${id}`, role: 'assistant', name: member, content: `${from} asks ${member}: ${text}` }
}

export function describeQuestion({ id, agent, member, from, text, asked_at }: WaitingQuestion): Interrupt {
  return {
    id,
    reason: 'input_required',
    message: text,
    responseSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    metadata: { agent, member, address: from, asked_at },
  }
}
