import type { AgentChunk, AgentContext, NormalizedMessage, Part } from '@postern/core'
import { plainTextOf } from '@postern/core'
import type { HumanOperators } from '../kind/agent-kind.ts'
import { readReceivedText } from '../kind/running-agents.ts'
import type { SwarmAgentConfig } from './config/config.ts'
import { isModelMember } from './config/config.ts'

interface OperatorMail {
  readonly message: NormalizedMessage
  readonly context: Pick<AgentContext, 'history'>
  tell(chunk: AgentChunk): void
}

const questionPattern = /\(question ([0-9a-f]{16})\)/g

/** An operator answers the mail that asked them. The answer goes to the waiting person and is no conversation of the operator's own. */
export async function takeOperatorMail(
  { config, operators }: { readonly config: SwarmAgentConfig; readonly operators: HumanOperators | undefined },
  { message, context, tell }: OperatorMail,
): Promise<boolean> {
  if (!operators || !isOperator(message, config)) return false
  const asked = context.history().turns.findLast(({ role, parts }) => role === 'assistant' && findQuestion(parts))
  const id = asked && findQuestion(asked.parts)
  if (id === undefined) return false
  const isStreamed = await operators.answer(id, readReceivedText(message))
  if (!isStreamed) tell('Nobody waits for this answer any more.')
  return true
}

function isOperator({ sender, received_via }: NormalizedMessage, { members }: SwarmAgentConfig): boolean {
  if (!sender.verified || received_via !== 'email') return false
  const mails = Object.values(members).flatMap(member =>
    !isModelMember(member) && 'mail' in member ? [member.mail] : [],
  )
  return mails.some(mail => `@${mail}`.toLowerCase() === sender.address.toLowerCase())
}

/** The last one, because the question before it may contain a similar one. */
function findQuestion(parts: readonly Part[]): string | undefined {
  return [...plainTextOf(parts).matchAll(questionPattern)].at(-1)?.[1]
}
