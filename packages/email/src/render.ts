import type { Addressing, AgentDirectory, AnsweredTurn, Delivery, Json } from '@postern/core'
import { formatMailbox, parseMailbox } from './addresses.ts'
import { withoutControls } from './encoded-words.ts'
import type { MailAttachment } from './mail-parts.ts'
import { attachedFiles, readableBody } from './mail-parts.ts'
import { trimReferences } from './message-id.ts'
import { replySubject } from './subject.ts'
import type { MailTarget } from './target.ts'
import { packTarget, readTarget } from './target.ts'

/** An answer as mail, before it is encoded and signed. Ids without brackets. */
export interface MailWire {
  readonly envelope: { readonly from: string; readonly to: readonly string[] }
  readonly from: { readonly name: string; readonly address: string }
  readonly to: { readonly name: string; readonly address: string }
  readonly cc: readonly string[]
  /** With the tag the message came with, so that the next one brings it back. */
  readonly replyTo: string | undefined
  readonly subject: string
  readonly messageId: string
  readonly inReplyTo: string | undefined
  readonly references: readonly string[]
  readonly threadTopic: string | undefined
  /** ISO 8601 UTC. */
  readonly date: string
  readonly text: string
  readonly html: string
  readonly attachments: readonly MailAttachment[]
}

/** Further recipients an agent may name. */
const maxMentions = 20
/** RFC 5322 §3.6.4 lets a long chain be cut; its root and its end are what programs look at. */
const [firstReferences, lastReferences] = [5, 15]

/**
 * One delivery for each envelope recipient, all of the same message, so that each is retried and refused on its own. Agents of
 * this gateway are shown in Cc but not mailed.
 */
export function addressMail({ turn, response }: AnsweredTurn, agents: AgentDirectory): Addressing {
  const target = readTarget(turn.target)
  const self = `${turn.agent}@${agents.domain}`
  const mentioned = (response.mentions ?? []).flatMap(text => parseMailbox(text.replace(/^@/, '')) ?? [])
  const others = [...new Set(mentioned.map(formatMailbox))].filter(
    address => address !== self && address !== target.mailbox,
  )
  const cc = others.slice(0, maxMentions)
  const mailed = [target.mailbox, ...cc.filter(address => !address.endsWith(`@${agents.domain}`))]
  return {
    deliveries: mailed.map(recipient => ({ to: recipient, target: packTarget({ ...target, recipient, cc }) })),
    aliases: [`${response.id}@${agents.domain}`],
  }
}

/** The mail an answer becomes. The same delivery always gives the same mail, octet by octet. Pure. */
export function renderMail(delivery: Delivery, agents: AgentDirectory): MailWire {
  const { response, agent } = delivery
  if (!response) throw new Error('a mail delivery without a response')
  const target = readTarget(delivery.target)
  const address = `${agent}@${agents.domain}`
  return {
    envelope: { from: address, to: [target.recipient ?? target.mailbox] },
    from: { name: withoutControls(agents.find(agent)?.displayName ?? agent), address },
    to: { name: withoutControls(target.name ?? ''), address: target.mailbox },
    cc: target.cc ?? [],
    replyTo:
      target.tag && parseMailbox(`${agent}+${target.tag}@${agents.domain}`)
        ? `${agent}+${target.tag}@${agents.domain}`
        : undefined,
    subject: response.subject ? withoutControls(response.subject) : replySubject(target.subject),
    messageId: `${response.id}@${agents.domain}`,
    inReplyTo: target.message_id,
    references: chainOf(target),
    threadTopic: target.thread_topic && withoutControls(target.thread_topic),
    date: response.created_at,
    ...readableBody(response.parts, response.status),
    attachments: attachedFiles(response.parts),
  }
}

/** What the operator sees: everything but the octets of attachments. */
export function describeMail({ envelope, attachments, ...mail }: MailWire): Json {
  const files = attachments.map(({ name, mime, bytes_ref }) => ({
    name,
    mime,
    ...(bytes_ref.kind === 'content_addressed' && { digest: bytes_ref.digest }),
  }))
  return { envelope: { ...envelope }, ...mail, attachments: files }
}

function chainOf({ references, message_id }: MailTarget): string[] {
  const chain = [...new Set([...references, ...(message_id ? [message_id] : [])])]
  return trimReferences(chain, firstReferences, lastReferences)
}
