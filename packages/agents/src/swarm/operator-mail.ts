// Treats a mail of a human operator as the answer to the question that a swarm sent them.
import type { NormalizedMessage, Part } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentChunk, AgentContext, HumanOperators } from '@postern/pipeline'
import { readReceivedText } from '../kind/received-text.ts'
import type { SwarmAgentConfig } from './config/config.ts'
import { isModelMember } from './config/config.ts'

interface OperatorMail {
  readonly message: NormalizedMessage
  readonly context: Pick<AgentContext, 'history'>
  emit(chunk: AgentChunk): void
}

const questionPattern = /\(question ([0-9a-f]{16})\)/g

/** Returns true if the mail is an operator's answer. It goes to the waiting person and starts no conversation of the operator. */
export async function acceptOperatorMail(
  { config, operators }: { readonly config: SwarmAgentConfig; readonly operators: HumanOperators | undefined },
  { message, context, emit }: OperatorMail,
): Promise<boolean> {
  if (!operators || !isOperator(message, config)) return false
  const question = context.history().turns.findLast(({ role, parts }) => role === 'assistant' && findQuestion(parts))
  const id = question && findQuestion(question.parts)
  if (id === undefined) return false
  const isAccepted = await operators.answer(id, readReceivedText(message))
  if (!isAccepted) emit('Nobody waits for this answer any more.')
  return true
}

function isOperator({ sender, received_via }: NormalizedMessage, { members }: SwarmAgentConfig): boolean {
  if (!sender.verified || received_via !== 'email') return false
  const mails = Object.values(members).flatMap(member =>
    !isModelMember(member) && 'mail' in member ? [member.mail] : [],
  )
  return mails.some(mail => `@${mail}`.toLowerCase() === sender.address.toLowerCase())
}

/** Finds the last question, because the quoted text before it may contain an earlier one. */
function findQuestion(parts: readonly Part[]): string | undefined {
  return [...plainTextOf(parts).matchAll(questionPattern)].at(-1)?.[1]
}
