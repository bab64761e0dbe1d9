// Runs errands that its text lists, by calls to other agents or by mail.
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

/** Drops the leading `@`, because in public the name would otherwise call that agent. */
const nameOf = (address: string) => address.replace(/^@/, '')

const describeHop = ({
  recipient,
  sender,
  received_via: via,
  recipient_capabilities: { agent_chain: chain },
}: NormalizedMessage) =>
  `${nameOf(recipient)} heard ${nameOf(sender.address)} by ${via} at hop ${chain?.hop ?? 0} of ${chain?.max_hops ?? 'none'}`

/**
 * Runs an errand: `call:@x@y` asks that agent to do the rest, and `mail:@x@y` writes the rest to it. On the final hop it tries to call an
 * agent, and reports the outcome.
 */
export async function handle(message: NormalizedMessage, context: AgentContext): Promise<string> {
  const ownHop = describeHop(message)
  const [, errand, address = '', text = ''] = /(call|mail):(@\S+) *(.*)/.exec(plainTextOf(message.parts)) ?? []
  if (errand === 'mail') {
    context.post(text || 'Nothing more to do.', { via: 'email', mentions: [address], subject: 'An errand' })
    return `${ownHop}, wrote to ${nameOf(address)}`
  }
  const isFinal = message.recipient_capabilities.agent_chain?.is_final === true
  if (errand !== 'call' && !isFinal) return ownHop
  try {
    const { parts } = await context.call(address || message.sender.address, text || 'end')
    return `${ownHop}\n${plainTextOf(parts)}`
  } catch (error) {
    return `${ownHop}, ${(error as { code?: string }).code}: ${(error as Error).message}`
  }
}
