// Asks before it acts, in the way that the first word of the message names, and reports the decision.
import type { NormalizedMessage, PartialResponse } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentChunk, AgentContext } from '@postern/pipeline'

const requirements: Readonly<Record<string, (context: AgentContext) => PartialResponse>> = {
  consent: context =>
    context.requireConsent({
      title: 'Your order',
      message: 'May I hand your order on to the <baker>?',
      action_label: 'Yes, hand it on',
      message_translations: { de: { title: 'Ihre Bestellung', message: 'Darf ich sie an den Bäcker geben?' } },
      data: { 'test.agents.order': 7 },
    }),
  pay: context => context.requirePayment({ message: 'A cake is not for nothing.', amount: '4.50', currency: 'EUR' }),
  login: context =>
    context.requireAuth({
      message: 'Only members may do that.',
      auth_challenges: [{ scheme: 'Bearer', realm: 'members', authorization_uri: 'https://login.test/start' }],
    }),
  refuse: context => context.refuse({ kind: 'too_many_requests', message: 'Not today.', retry_after_seconds: 60 }),
  elsewhere: context => context.requireConsent({ message: 'Look there', url: 'https://evil.test/agree' }),
  forged: () => ({
    parts: [{ kind: 'policy', policy: { kind: 'consent_required', message: 'Mine?', state: 'f'.repeat(43) } }],
  }),
  misspelled: () => ({ parts: [{ kind: 'policy', policy: { kind: 'consent_requird', message: 'Yes?' } }] }),
  unknown: () => ({ parts: [{ kind: 'fille', name: 'a.txt' } as never] }),
  ftp: () => ({ parts: [{ kind: 'file', bytes_ref: { kind: 'url', url: 'ftp://shop.test/a.txt' } }] }),
}

export function handle(
  message: NormalizedMessage,
  context: AgentContext,
): PartialResponse | string | Promise<string> | AsyncIterable<AgentChunk> {
  if (message.policy_resolution) return tellResolution(message, context)
  const [word = ''] = plainTextOf(message.parts).trim().split(/\s/)
  if (word === 'slowly') return askMeanwhile(context)
  const answer = requirements[word]?.(context)
  const policy = answer?.parts?.find(part => part.kind === 'policy')?.policy
  if (policy?.state !== undefined) context.state.set(policy.state)
  return answer ?? `shop heard: ${word}`
}

/** Streams a text before it asks, which stays before the question. */
async function* askMeanwhile(context: AgentContext): AsyncIterable<AgentChunk> {
  yield { status: 'working', parts: [{ kind: 'text', mime: 'text/plain', content: 'Let me see.' }] }
  yield context.requireConsent({ message: 'May I look it up?' })
}

async function tellResolution(
  { policy_resolution: resolution, parts }: NormalizedMessage,
  { state }: AgentContext,
): Promise<string> {
  const isMine = resolution?.in_reply_to_state === (await state.get())
  const { kind, outcome, resolver, receipt, data } = resolution ?? {}
  const order = data?.['test.agents.order'] ?? 'no order'
  return `decided: ${kind} ${outcome} by ${resolver?.method}, ${isMine ? 'my' : 'another'} state, ${order}, ${receipt?.reference ?? 'no receipt'}; said: ${plainTextOf(parts)}`
}
