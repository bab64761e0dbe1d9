import type { Interrupt, ResumeEntry } from '@ag-ui/core'
import type { OperatorQuestions, WaitingQuestion } from '@postern/core'
import { isJsonObject } from '@postern/core'
import type { OperatorRun } from './asked-operator-run.ts'

const threadOfOne = /^question:([0-9a-f]{16})$/
const threadOfOther = /^approval:/
const longest = 50_000
const most = 50

/** Questions of agents for which a caller waits, oldest first. `question:<id>` is a thread for one of them. */
export async function listQuestions(
  { agent, input: { threadId } }: OperatorRun,
  questions: OperatorQuestions,
): Promise<readonly WaitingQuestion[]> {
  const [, one] = threadOfOne.exec(threadId) ?? []
  if (threadOfOther.test(threadId)) return []
  const open = (await questions.list()).filter(({ answer }) => answer === undefined).toReversed()
  return open.filter(each => (one ?? each.id) === each.id && (agent ?? each.agent) === each.agent).slice(0, most)
}

export function isQuestionId(id: string): boolean {
  return /^[0-9a-f]{16}$/.test(id)
}

/** True when the question was answered; else the reason. */
export async function answerWaitingQuestion(
  { interruptId, status, payload }: ResumeEntry,
  { agent }: OperatorRun,
  questions: OperatorQuestions,
): Promise<true | string> {
  const text = status === 'resolved' ? readText(payload) : ''
  if (text === '' || text.length > longest) return 'a question is left open: say what is to be answered, as "text"'
  const asked = (await questions.list()).find(({ id }) => id === interruptId)
  const isMeant = asked !== undefined && (agent ?? asked.agent) === asked.agent
  const isStreamed = isMeant && (await questions.answer(interruptId, text))
  return isStreamed || 'a question is closed: nobody waits for its answer any more'
}

function readText(payload: unknown): string {
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
