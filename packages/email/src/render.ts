import type { AgentDirectory, Delivery, Json, NormalizedResponse, ShowRequirement } from '@postern/core'
import { presentResponse } from '@postern/core'
import { parseMailbox } from './addresses/mailbox.ts'
import type { MailTarget } from './out/addressing/target.ts'
import { readTarget } from './out/addressing/target.ts'
import { describeNotice } from './out/addressing/unreadable.ts'
import { placeFiles } from './out/compose/place-files.ts'
import { quoteMessage } from './out/compose/quote.ts'
import { attachedFiles, readableBody } from './out/compose/readable-body.ts'
import type { MailWire } from './out/compose/wire.ts'
import { withoutControls } from './text/encoded-words.ts'
import { trimReferences } from './threads/message-id.ts'
import { replySubject } from './threads/subject.ts'
import { extendThreadIndex } from './threads/thread-index.ts'

export interface MailRendering {
  readonly agents: AgentDirectory
  readonly config: { readonly quote: boolean; readonly attach_bytes: number }
  /** Our ceiling for chains of agents. */
  readonly maxHops: number
  readonly fileAddress?: ((digest: string) => string) | undefined
  readonly showRequirement?: ShowRequirement | undefined
}

/** RFC 5322 §3.6.4 allows to shorten a long chain; programs look at its root and its end. */
const [firstReferences, lastReferences] = [5, 15]

/** With its field name it fits a line (RFC 5322 §2.1.1) even unfolded. */
const maxSubject = 900

/** The mail an answer becomes. The same delivery always gives the same mail, octet by octet. Pure. */
export function renderMail(
  delivery: Delivery,
  { agents, config, fileAddress, showRequirement, maxHops }: MailRendering,
): MailWire {
  const { agent, message } = delivery
  const target = readTarget(delivery.target)
  const response = presentResponse(findWords(delivery, target), message, showRequirement)
  const address = `${agent}@${agents.domain}`
  const parts = placeFiles(response.parts, { attachBytes: config.attach_bytes, fileAddress })
  const said = readableBody(parts, response.status)
  const quote = config.quote ? quoteAsked(delivery) : undefined
  return {
    envelope: { from: address, to: [target.recipient ?? target.mailbox] },
    from: { name: withoutControls(agents.find(agent)?.displayName ?? agent), address },
    to: { name: withoutControls(target.name ?? ''), address: target.mailbox },
    alsoTo: target.also_to ?? [],
    cc: target.cc ?? [],
    replyTo: replyToTag(address, target.tag),
    subject: chooseSubject(response, target),
    isLetter: target.is_letter === true,
    messageId: `${response.id}@${agents.domain}`,
    inReplyTo: target.message_id && isQuotable(target.message_id) ? target.message_id : undefined,
    references: chainOf(target),
    threadTopic: target.thread_topic && withoutControls(target.thread_topic),
    threadIndex: extendThreadIndex(target.thread_index, { response: response.id, at: Date.parse(response.created_at) }),
    hop: (target.hop ?? 0) + 1,
    maxHops: target.max_hops ?? maxHops,
    date: response.created_at,
    text: quote ? `${said.text}\n\n${quote.text}` : said.text,
    html: quote ? `${said.html}\n${quote.html}` : said.html,
    attachments: attachedFiles(parts),
    localAgent: target.localAgent,
  }
}

/** The words of an agent, or else of the gateway. */
function findWords(delivery: Delivery, target: MailTarget): NormalizedResponse {
  const words = delivery.response ?? describeNotice(delivery, target)
  if (!words) throw new Error('a mail delivery without a response')
  return words
}

/** A chat message is nobody's mail; a notice has no predecessor. */
function quoteAsked({ message, response }: Delivery) {
  return response && message.received_via === 'email' ? quoteMessage(message) : undefined
}

function chooseSubject({ subject }: Pick<NormalizedResponse, 'subject'>, target: MailTarget): string {
  const own = subject ?? (target.is_letter ? target.subject : undefined)
  return own ? withoutControls(own).slice(0, maxSubject) : replySubject(target.subject)
}

/** The operator's view: everything but the octets of attachments. */
export function describeMail({ envelope, attachments, ...mail }: MailWire): Json {
  const files = attachments.map(({ name, mime, bytes_ref }) => ({
    name,
    mime,
    ...(bytes_ref.kind === 'content_addressed' && { digest: bytes_ref.digest }),
  }))
  return { envelope: { ...envelope }, ...mail, attachments: files }
}

function replyToTag(address: string, tag: string | undefined): string | undefined {
  const tagged = tag && address.replace('@', () => `+${tag}@`)
  return tagged && parseMailbox(tagged) ? tagged : undefined
}

/** One that is not ASCII would make of an answer a mail that only SMTPUTF8 carries (RFC 6532), and few servers have it. */
function isQuotable(id: string): boolean {
  return /^[!-~]+$/.test(id)
}

function chainOf({ references, message_id }: MailTarget): string[] {
  const chain = new Set([...references, ...(message_id ? [message_id] : [])])
  return trimReferences([...chain].filter(isQuotable), firstReferences, lastReferences)
}
