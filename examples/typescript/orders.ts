// Asks for consent and payment before it accepts an order.
import type { NormalizedMessage } from '@postern/message'
import type { AgentAnswer, AgentContext } from '@postern/pipeline'

/** Asks before it acts; the next message contains the decision. */
export async function handle(message: NormalizedMessage, context: AgentContext): Promise<AgentAnswer> {
  const { policy_resolution: decided } = message
  if (!decided) return askForConsent(message, context)
  // The gateway has checked the decision; this agent checks that it belongs to its own question.
  const { asked } = ((await context.state.get()) ?? {}) as { readonly asked?: string }
  if (asked === undefined || decided.in_reply_to_state !== asked) return 'That is not what I asked.'
  context.state.set({})
  if (decided.outcome !== 'granted') return 'Then I leave it.'
  return decided.kind === 'consent_required'
    ? askForMoney(context)
    : `Thank you. Paid (${decided.receipt?.reference}): it is on its way.`
}

function askForConsent({ sender }: NormalizedMessage, context: AgentContext): AgentAnswer {
  return remember(
    context,
    context.requireConsent({
      title: 'Your order',
      message: `May I give your address, ${sender.address}, to the baker?`,
      action_label: 'Yes, do',
      message_translations: { de: { title: 'Ihre Bestellung', message: 'Darf ich der Bäckerin Ihre Adresse geben?' } },
      expires_in: 3_600,
    }),
  )
}

function askForMoney(context: AgentContext): AgentAnswer {
  return remember(context, context.requirePayment({ message: 'One cake.', amount: '4.50', currency: 'EUR' }))
}

/** The question is stored together with the answer, or not at all. */
function remember(context: AgentContext, answer: ReturnType<AgentContext['requireConsent']>): AgentAnswer {
  const policy = answer.parts?.find(part => part.kind === 'policy')?.policy
  context.state.set({ asked: policy?.state ?? '' })
  return answer
}
