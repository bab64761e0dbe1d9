import type { AgentDirectory, ChannelContext, Delivery, Intake, Part } from '@postern/core'
import { admitOwn, agentFlag, formatAddress, isoTime, randomHex } from '@postern/core'
import { emailDescriptor } from '../speaker.ts'
import type { MailWire } from './mail-wire.ts'
import { quoteMessage } from './mail-wire.ts'
import { packTarget, readTarget } from './target.ts'

interface LocalAgentMail {
  /** As it would have been mailed, unsigned. */
  readonly message: Buffer
  readonly wire: MailWire
  readonly delivery: Delivery
  /** The agent's name. */
  readonly localAgent: string
}

const hourMs = 3_600_000
/** In one conversation; people wait for none of it. */
const localAgentTurns = 10

/**
 * Gives an answer to another agent of this gateway that it mentions, without mail, DNS or smarthost. That agent answers
 * the people in the same thread, and knows the length of the chain.
 */
export async function giveToLocalAgent(
  mail: LocalAgentMail,
  { admission, platform }: Pick<ChannelContext, 'admission' | 'platform'>,
  agents: AgentDirectory,
): Promise<{ readonly note: string }> {
  const intake = describeLocalAgent(mail, isoTime(platform.now()), agents)
  const { message } = await admitOwn(intake, admission, randomHex(platform, 8))
  return { note: `given to ${mail.localAgent} as #${message}` }
}

function describeLocalAgent(
  { message, wire, delivery, localAgent }: LocalAgentMail,
  receivedAt: string,
  agents: AgentDirectory,
): Intake {
  const { cc: _, also_to: __, recipient: ___, localAgent: ____, ...target } = readTarget(delivery.target)
  const address = formatAddress({ local: localAgent, domain: agents.domain })
  const { hop, maxHops } = wire
  return {
    agent: localAgent,
    message: {
      id: wire.messageId,
      thread_id: delivery.message.thread_id,
      ...(wire.inReplyTo && { in_reply_to: wire.inReplyTo }),
      // The sender is local, and no third party has proven it: an agent decides by evidence, and there is none.
      sender: {
        address: formatAddress({ local: delivery.agent, domain: agents.domain }),
        display_name: wire.from.name,
        auth_method: 'none',
        verified: false,
      },
      recipient: address,
      parts: listParts(delivery),
      recipient_capabilities: {
        mention_relay: emailDescriptor.mentionRelay,
        agent_chain: { hop, max_hops: maxHops, is_final: hop >= maxHops },
      },
      received_via: 'email',
      received_at: receivedAt,
    },
    duplicateKey: `${address} given ${wire.messageId}`,
    thread: { scope: target.scope ?? `given:${target.mailbox}`, references: wire.references.toReversed() },
    aliases: [],
    proofs: [{ kind: 'sibling', verdict: 'pass', reason: 'handed over inside of this gateway' }],
    raw: { bytes: message, form: 'text' },
    target: packTarget({
      ...target,
      message_id: wire.messageId,
      references: [...wire.references],
      hop,
      max_hops: maxHops,
    }),
    disposition: 'answer',
    flags: ['sibling', agentFlag],
    quota: { turns: localAgentTurns, withinMs: hourMs },
  }
}

/** The other agent's words and the message that it answered: the mentioned agent has not seen them. */
function listParts({ response, message }: Delivery): Part[] {
  const quote = message.received_via === 'email' ? quoteMessage(message) : undefined
  return [
    ...(response?.parts ?? []),
    ...(quote ? [{ kind: 'text', mime: 'text/plain', content: quote.text } as const] : []),
  ]
}
