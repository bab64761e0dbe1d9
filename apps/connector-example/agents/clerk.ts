// Serves members of the chat room and asks for consent or payment first; an example agent.
import type { NormalizedMessage, PartialResponse } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

const chatRoomMemberMethod = 'urn:mentionable:auth:chat-room-member:v0.1'

type Answer = PartialResponse | string

const actions: Readonly<Record<string, (context: AgentContext) => Answer>> = {
  order: context =>
    rememberQuestion(
      context,
      context.requireConsent({
        title: 'Your order',
        message: 'May I hand it on to the baker?',
        action_label: 'Yes, do',
      }),
    ),
  pay: context =>
    rememberQuestion(
      context,
      context.requirePayment({ message: 'A cake is not for nothing.', amount: '4.50', currency: 'EUR' }),
    ),
  secret: context => context.refuse({ message: 'That I tell nobody.' }),
}

/** Stores the state of a question, so that the agent later recognizes the decision on the question. */
function rememberQuestion(context: AgentContext, answer: PartialResponse): PartialResponse {
  const policy = answer.parts?.find(part => part.kind === 'policy')?.policy
  if (policy?.state !== undefined) context.state.set(policy.state)
  return answer
}

/** Answers members of the room only. A decision counts only if it is about the last question. */
export async function handle(message: NormalizedMessage, context: AgentContext): Promise<Answer> {
  const { policy_resolution: resolution, parts } = message
  if (!context.identity.has({ method: chatRoomMemberMethod, issuer: 'chat.test' }))
    return 'I serve members of the chat room only.'
  if (resolution) {
    if (resolution.in_reply_to_state !== (await context.state.get())) return 'That is not what I asked.'
    return resolution.outcome === 'granted' ? 'Then it is done.' : 'Then I leave it.'
  }
  const words = plainTextOf(parts).toLowerCase().split(/\W+/)
  const [, action] = Object.entries(actions).find(([word]) => words.includes(word)) ?? []
  return action?.(context) ?? 'What can I do for you: order, pay, secret?'
}
