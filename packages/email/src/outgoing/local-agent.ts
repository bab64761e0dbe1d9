// Hands a response to another agent of this gateway that it mentions.
import type { Part, Proof, Sender } from '@postern/message'
import { agentFlag, createTransportEvidence, formatAddress, isoTime, randomHex, threadSourceOf } from '@postern/message'
import type { AgentDirectory, ChannelContext, Delivery, Intake } from '@postern/pipeline'
import { admitOwn } from '@postern/pipeline'
import { formatKeyId } from '../signatures/judge-signature.ts'
import { readTag } from '../signatures/signature-field.ts'
import { emailDescriptor } from '../speaker.ts'
import type { OutgoingMail } from './outgoing-mail.ts'
import { quoteMessage } from './outgoing-mail.ts'
import { packTarget, readTarget, removeDeliveryFields } from './target.ts'

interface LocalAgentMail {
  /** The octets that the gateway would send as mail. */
  readonly signedMail: Uint8Array
  readonly mail: OutgoingMail
  readonly delivery: Delivery
  /** The name of the agent. */
  readonly localAgent: string
}

const hourMs = 3_600_000
/** The maximum number of turns of local agents in one conversation in an hour. Turns of people do not count. */
const maxLocalAgentTurns = 10

/**
 * Delivers a response to another agent of this gateway that it mentions, without mail, DNS or smarthost. The mentioned
 * agent answers the people in the same thread, and knows the length of the chain.
 */
export async function deliverToLocalAgent(
  mail: LocalAgentMail,
  { admission, system }: Pick<ChannelContext, 'admission' | 'system'>,
  agents: AgentDirectory,
): Promise<{ readonly note: string }> {
  const intake = createLocalAgentIntake(mail, isoTime(system.now()), agents)
  const { message } = await admitOwn(intake, admission, randomHex(system, 8))
  return { note: `given to ${mail.localAgent} as #${message}` }
}

function createLocalAgentIntake(
  { signedMail, mail, delivery, localAgent }: LocalAgentMail,
  receivedAt: string,
  agents: AgentDirectory,
): Intake {
  const target = removeDeliveryFields(readTarget(delivery.target))
  const address = formatAddress({ local: localAgent, domain: agents.domain })
  const { hop, maxHops } = mail
  const proof = readOwnProof(signedMail, agents.domain)
  return {
    agent: localAgent,
    message: {
      id: mail.messageId,
      thread_source: threadSourceOf(delivery.message),
      ...(mail.inReplyTo && { in_reply_to: mail.inReplyTo }),
      sender: describeLocalSender(mail, {
        proof,
        audience: address,
        issuedAt: receivedAt,
        domain: agents.domain,
        agent: delivery.agent,
      }),
      recipient: address,
      parts: listParts(delivery),
      recipient_capabilities: {
        mention_relay: emailDescriptor.mentionRelay,
        agent_chain: { hop, max_hops: maxHops, is_final: hop >= maxHops },
      },
      received_via: 'email',
      received_at: receivedAt,
    },
    duplicateKey: `${address} given ${mail.messageId}`,
    thread: { scope: target.scope ?? `given:${target.mailbox}`, references: mail.references.toReversed() },
    aliases: [],
    proofs: [{ ...proof, reason: 'signed here, and handed over inside of this gateway' }],
    raw: { bytes: signedMail, form: 'text' },
    target: packTarget({
      ...target,
      message_id: mail.messageId,
      references: [...mail.references],
      hop,
      max_hops: maxHops,
    }),
    disposition: 'answer',
    flags: ['sibling', agentFlag],
    quota: { turns: maxLocalAgentTurns, withinMs: hourMs },
  }
}

interface LocalSenderContext {
  readonly proof: Proof
  readonly agent: string
  readonly domain: string
  /** The agent that the response is for. */
  readonly audience: string
  /** The time of the response, ISO 8601 UTC. */
  readonly issuedAt: string
}

/**
 * Describes the sender with the same proof that other servers get. Only the gateway has the key, and it signs for the
 * agent.
 */
function describeLocalSender(
  { from }: OutgoingMail,
  { proof, agent, domain, audience, issuedAt }: LocalSenderContext,
): Sender {
  const method = 'email-dkim'
  const keyId = proof.key_id
  const subject = `mailto:${agent}@${domain}`
  const evidence = { method, subject, issuer: domain, assurance: 'address', audience, issuedAt, keyId } as const
  return {
    address: formatAddress({ local: agent, domain }),
    display_name: from.name,
    auth_method: method,
    verified: true,
    ...(keyId !== undefined && { key_id: keyId }),
    identities: [createTransportEvidence(evidence)],
  }
}

/**
 * The longest beginning of a message that is searched for signatures, in octets. The gateway's own signatures need a
 * sixth of it.
 */
const maxHeaderBytes = 8_192

/** Returns the proof of the DKIM signature on top of the message. */
function readOwnProof(signedMail: Uint8Array, domain: string): Proof {
  const headerText = Buffer.from(signedMail.subarray(0, maxHeaderBytes)).toString('latin1')
  const value = /^DKIM-Signature:(.*?)\r\n(?![ \t])/is.exec(headerText)?.[1]
  const selector = value === undefined ? '' : readTag({ value }, 's')
  return { kind: 'dkim', verdict: 'pass', domain, aligned: true, key_id: formatKeyId({ domain, selector }) }
}

/** Lists the response and the message that it answered, because the mentioned agent has not seen them. */
function listParts({ response, message }: Delivery): Part[] {
  const quote = message.received_via === 'email' ? quoteMessage(message) : undefined
  return [
    ...(response?.parts ?? []),
    ...(quote ? [{ kind: 'text', mime: 'text/plain', content: quote.text } as const] : []),
  ]
}
