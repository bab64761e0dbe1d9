// Renders a response as a mail: recipients, subject, threading fields, body and attachments.
import { createHash } from 'node:crypto'
import { htmlToMailHtml, htmlToText } from '@postern/markup/html'
import { markdownToMailHtml, markdownToMailText, plainToMailHtml } from '@postern/markup/markdown'
import type {
  ArtifactPart,
  FilePart,
  Json,
  NormalizedResponse,
  Part,
  PolicyPart,
  ResponseStatus,
  ShowRequirement,
  ToolCallPart,
} from '@postern/message'
import { presentResponse } from '@postern/message'
import { escapeHtml } from '@postern/message/html-characters'
import type { AgentDirectory, Delivery } from '@postern/pipeline'
import { trimReferences } from './intake/thread.ts'
import { replaceControls } from './mail/header-text.ts'
import { parseMailbox } from './mail/mailbox.ts'
import { replySubject } from './mail/subjects.ts'
import type { MailAttachment, OutgoingMail } from './outgoing/outgoing-mail.ts'
import { quoteMessage } from './outgoing/outgoing-mail.ts'
import type { MailTarget } from './outgoing/target.ts'
import { readTarget } from './outgoing/target.ts'
import { describeNotice } from './outgoing/unreadable-notice.ts'

export interface RenderMailDeps {
  readonly agents: AgentDirectory
  /** The configuration. `attach_bytes` is the maximum size of all attachments together, in octets before base64. */
  readonly config: { readonly quote: boolean; readonly attach_bytes: number }
  /** The maximum number of agents in a chain. */
  readonly maxHops: number
  readonly fileAddress?: ((digest: string) => string) | undefined
  readonly showRequirement?: ShowRequirement | undefined
}

/**
 * The numbers of references to keep at the beginning and at the end of a chain. RFC 5322 §3.6.4 allows shortening a
 * long chain, and mail programs use its beginning and its end.
 */
const [maxFirstReferences, maxLastReferences] = [5, 15]

/** The longest subject in characters. Together with the name of the field it fits a line (RFC 5322 §2.1.1) even unfolded. */
const maxSubjectChars = 900

/** Renders a response as a mail. The same delivery always gives the same mail, octet by octet. The function is pure. */
export function renderMail(
  delivery: Delivery,
  { agents, config, fileAddress, showRequirement, maxHops }: RenderMailDeps,
): OutgoingMail {
  const { agent, message } = delivery
  const target = readTarget(delivery.target)
  const response = presentResponse(readResponse(delivery, target), message, showRequirement)
  const address = `${agent}@${agents.domain}`
  const parts = attachOrLink(response.parts, config.attach_bytes, fileAddress)
  const body = renderBody(parts, response.status)
  const quote = config.quote ? quoteOriginal(delivery) : undefined
  return {
    envelope: { from: address, to: [target.recipient ?? target.mailbox] },
    from: { name: replaceControls(agents.find(agent)?.displayName ?? agent), address },
    to: { name: replaceControls(target.name ?? ''), address: target.mailbox },
    alsoTo: target.also_to ?? [],
    cc: target.cc ?? [],
    replyTo: formatTaggedAddress(address, target.tag),
    subject: chooseSubject(response, target),
    isLetter: target.is_letter === true,
    messageId: `${response.id}@${agents.domain}`,
    inReplyTo: target.message_id && isQuotable(target.message_id) ? target.message_id : undefined,
    references: listReferenceChain(target),
    threadTopic: target.thread_topic && replaceControls(target.thread_topic),
    threadIndex: extendThreadIndex(target.thread_index, {
      response: response.id,
      createdAt: Date.parse(response.created_at),
    }),
    hop: (target.hop ?? 0) + 1,
    maxHops: target.max_hops ?? maxHops,
    date: response.created_at,
    text: quote ? `${body.text}\n\n${quote.text}` : body.text,
    html: quote ? `${body.html}\n${quote.html}` : body.html,
    attachments: listAttachments(parts),
    localAgent: target.localAgent,
  }
}

/** Returns the response of an agent, or else the notice of the gateway. */
function readResponse(delivery: Delivery, target: MailTarget): NormalizedResponse {
  const response = delivery.response ?? describeNotice(delivery, target)
  if (!response) throw new Error('a mail delivery without a response')
  return response
}

/** Returns the quote of the answered mail. A message from a chat is not a mail, and a notice answers no message. */
function quoteOriginal({ message, response }: Delivery) {
  return response && message.received_via === 'email' ? quoteMessage(message) : undefined
}

function chooseSubject({ subject }: Pick<NormalizedResponse, 'subject'>, target: MailTarget): string {
  const agentSubject = subject ?? (target.is_letter ? target.subject : undefined)
  return agentSubject
    ? replaceControls(agentSubject).slice(0, maxSubjectChars).toWellFormed()
    : replySubject(target.subject)
}

/** Describes a mail for the operator, without the octets of its attachments. */
export function describeMail({ envelope, attachments, ...mail }: OutgoingMail): Json {
  const files = attachments.map(({ name, mime, bytes_ref }) => ({
    name,
    mime,
    ...(bytes_ref.kind === 'content_addressed' && { digest: bytes_ref.digest }),
  }))
  return { envelope: { ...envelope }, ...mail, attachments: files }
}

function formatTaggedAddress(address: string, tag: string | undefined): string | undefined {
  const taggedAddress = tag && address.replace('@', () => `+${tag}@`)
  return taggedAddress && parseMailbox(taggedAddress) ? taggedAddress : undefined
}

/**
 * Returns true if an id is ASCII. A response with any other id would need SMTPUTF8 (RFC 6532), which few servers
 * support.
 */
function isQuotable(id: string): boolean {
  return /^[!-~]+$/.test(id)
}

function listReferenceChain({ references, message_id }: MailTarget): string[] {
  const chain = new Set([...references, ...(message_id ? [message_id] : [])])
  return trimReferences([...chain].filter(isQuotable), maxFirstReferences, maxLastReferences)
}

/** One part of the response in both forms of a multipart/alternative. */
interface Block {
  readonly text: string
  readonly html: string
}

const statusTexts: Readonly<Record<ResponseStatus, string>> = {
  completed: '',
  input_required: 'More is needed to go on.',
  auth_required: 'Who you are has to be known first.',
  rejected: 'This was declined.',
  failed: 'This could not be done.',
  working: 'Still working on it.',
}

/** Renders the body: every part as text and as HTML, in order. */
function renderBody(parts: readonly Part[], status: ResponseStatus): Block {
  const blocks = parts.flatMap(part => renderBlock(part) ?? [])
  const shownBlocks = blocks.length > 0 ? blocks : [renderPlainBlock(statusTexts[status])]
  return {
    text: shownBlocks.map(({ text }) => text).join('\n\n'),
    html: shownBlocks.map(({ html }) => html).join('\n'),
  }
}

/** Returns the files among the parts that the mail contains. Files at a URL are linked in the text. */
function listAttachments(parts: readonly Part[]): MailAttachment[] {
  return parts.flatMap((part, index) => {
    if ((part.kind !== 'file' && part.kind !== 'artifact') || part.bytes_ref.kind === 'url') return []
    const { name, mime, bytes_ref } = part
    return [{ name: name ?? `attachment-${index + 1}`, mime: mime ?? 'application/octet-stream', bytes_ref }]
  })
}

const blockRenderers: { readonly [Kind in Part['kind']]: (part: Extract<Part, { kind: Kind }>) => Block | undefined } =
  {
    text: renderTextBlock,
    link: ({ title, url, description }) => renderLinkBlock(title ?? url, url, description),
    policy: renderPolicyBlock,
    tool_call: part => renderPlainBlock(describeToolCall(part)),
    file: renderFileBlock,
    artifact: renderFileBlock,
  }

/**
 * Returns the block of a part. It returns undefined for an attached file, and for a kind of part that this version does
 * not know.
 */
function renderBlock(part: Part): Block | undefined {
  if (!Object.hasOwn(blockRenderers, part.kind)) return undefined
  return (blockRenderers[part.kind] as (part: Part) => Block | undefined)(part)
}

function renderTextBlock({ mime, content }: Extract<Part, { kind: 'text' }>): Block {
  if (mime === 'text/markdown') return { text: markdownToMailText(content), html: markdownToMailHtml(content) }
  if (mime === 'text/html') return { text: htmlToText(content).text, html: htmlToMailHtml(content) }
  return renderPlainBlock(content)
}

function renderPlainBlock(text: string): Block {
  return { text, html: plainToMailHtml(text) }
}

function renderLinkBlock(title: string, url: string, description?: string): Block {
  const text = [title === url ? url : `${title}: ${url}`, description].filter(Boolean).join('\n')
  if (!/^(https?|mailto):/i.test(url)) return renderPlainBlock(text)
  const descriptionHtml = description ? `<br>\n${escapeHtml(description)}` : ''
  return { text, html: `<p dir="auto"><a href="${escapeHtml(url)}">${escapeHtml(title)}</a>${descriptionHtml}</p>` }
}

function renderPolicyBlock({ policy }: PolicyPart): Block {
  const textBlock = renderPlainBlock([policy.title, policy.message].filter(Boolean).join('\n'))
  if (!policy.url) return textBlock
  const expiryText = typeof policy.expires_at === 'string' ? formatExpiry(policy.expires_at) : undefined
  const link = renderLinkBlock(policy.action_label ?? policy.url, policy.url, expiryText)
  return { text: `${textBlock.text}\n${link.text}`, html: `${textBlock.html}\n${link.html}` }
}

function formatExpiry(expiresAt: string): string {
  return `This link is for you alone. It can be used once, until ${expiresAt.slice(0, 16).replace('T', ' ')} UTC.`
}

function describeToolCall({ name, args, result, error }: ToolCallPart): string {
  const call = `${name}(${args === undefined ? '' : shorten(args)})`
  if (error) return `${call} failed: ${error.message}`
  return result === undefined ? call : `${call} → ${shorten(result)}`
}

function shorten(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > 500 ? `${text.slice(0, 500).toWellFormed()}…` : text
}

/** Renders a link to a file at a URL. An attached file needs no text. */
function renderFileBlock({ name, bytes_ref }: FilePart | ArtifactPart): Block | undefined {
  return bytes_ref.kind === 'url' ? renderLinkBlock(name ?? bytes_ref.url, bytes_ref.url) : undefined
}

/** Replaces each file that no longer fits by a link, because receivers reject a mail that is too large, and then its text is lost too. */
function attachOrLink(
  parts: readonly Part[],
  maxAttachBytes: number,
  fileAddress: RenderMailDeps['fileAddress'],
): readonly Part[] {
  let remainingBytes = maxAttachBytes
  return parts.map(part => {
    if (part.kind !== 'file' && part.kind !== 'artifact') return part
    const size = measureFile(part)
    if (size <= remainingBytes) {
      remainingBytes -= size
      return part
    }
    const { bytes_ref: ref } = part
    if (ref.kind !== 'content_addressed' || !fileAddress) return part
    return { ...part, name: part.name ?? 'attachment', bytes_ref: { kind: 'url', url: fileAddress(ref.digest) } }
  })
}

function measureFile({ bytes_ref: ref, size }: FilePart | ArtifactPart): number {
  if (ref.kind === 'url') return 0
  return ref.kind === 'inline' ? Math.floor((ref.data_base64.length * 3) / 4) : (size ?? 0)
}

/** The number of 100-nanosecond ticks between 1601 (Windows) and 1970 (Unix). */
const epochTicks = 116_444_736_000_000_000n

/**
 * Returns Outlook's Thread-Index of a response: the index of the answered message, and five octets with the elapsed
 * time and a few random bits ([MS-OXOMSG] §2.2.1.3). It returns undefined if the message has no valid index.
 */
export function extendThreadIndex(
  index: string | undefined,
  { response, createdAt }: { readonly response: string; readonly createdAt: number },
): string | undefined {
  if (!index) return undefined
  const octets = Buffer.from(index, 'base64')
  if (octets.length < 22 || (octets.length - 22) % 5 !== 0 || octets.length > 500) return undefined
  const startTicks = octets.readUIntBE(0, 6)
  const ticks = BigInt(createdAt) * 10_000n + epochTicks - (BigInt(startTicks) << 16n)
  const child = Buffer.alloc(5)
  child.writeUInt32BE(packDelta(ticks < 0n ? -ticks : ticks))
  // The random bits are a hash of the response id, so that a second attempt sends the same octets.
  child[4] = createHash('sha256').update(response).digest()[0] ?? 0
  return Buffer.concat([octets, child]).toString('base64')
}

/** Packs the time difference into 31 bits. Above about 1.8 years, the unit is coarser and the highest bit is set. */
function packDelta(ticks: bigint): number {
  const isLong = ticks >> 49n > 0n
  const bits = Number((ticks >> (isLong ? 23n : 18n)) & 0x7fff_ffffn)
  return isLong ? bits + 0x8000_0000 : bits
}
