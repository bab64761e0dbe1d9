import { randomUUID } from 'node:crypto'
import type { SimA2a } from './a2a/a2a.ts'
import { describeSendRequest, readSendResult } from './a2a/peer.ts'
import type { Fault, TokenOnlyFault } from './fault.ts'
import { faults } from './fault.ts'
import type { NoteVisibility } from './fediverse/actors/note.ts'
import type { SimFediverse } from './fediverse/fediverse.ts'
import { bareAddress } from './fediverse/post.ts'
import type { GatewayLink } from './gateway-link.ts'
import { requireGateway } from './gateway-link.ts'
import type { SimMail } from './mail/mail.ts'

export type SendFault = Fault | TokenOnlyFault

export interface SendRequest {
  readonly via: 'activitypub' | 'a2a' | 'email'
  /** `echo`, `echo@agents.test` or `@echo@agents.test` */
  readonly to: string
  readonly text: string
  /** An actor, a token's subject or a mailbox of the simulation. */
  readonly from?: string | undefined
  /** The `thread` of an earlier result: this is the next thing said there. */
  readonly thread?: string | undefined
  /** Of a note; default public. What is no note has none. */
  readonly visibility?: NoteVisibility | undefined
  /** Those of tokens alone: by A2A. */
  readonly fault?: SendFault | undefined
  /** How long to wait for the reply; default 30 000. */
  readonly timeoutMs?: number | undefined
}

export interface SendResult {
  /** Activity IRI, messageId or Message-ID. */
  readonly id: string
  /** `answered`, `no_reply`, or `refused` with what the gateway said; for A2A the task's state. */
  readonly status: string
  /** Hand it to the next `send` to go on. */
  readonly thread: string
  readonly reply?: { readonly text: string; readonly raw: unknown } | undefined
  /** HTTP status or SMTP code where the gateway did not take it, and its words. */
  readonly refusal?: { readonly answer: number; readonly text: string } | undefined
}

interface SendingPlatform {
  readonly fediverse: SimFediverse
  readonly mail: SimMail
  readonly a2a: SimA2a
  readonly link: GatewayLink
}

/** Long, because tests of a busy machine wait for their replies with it. */
const replyMs = 30_000

type Sender = (request: SendRequest, platform: SendingPlatform) => Promise<SendResult>

const senders: Readonly<Record<SendRequest['via'], Sender>> = { activitypub: sendNote, a2a: sendCall, email: sendMail }

/** Ids that a peer can answer to. Numbers of the gateway's own list are none. */
const threadForms: Readonly<Record<SendRequest['via'], RegExp>> = {
  activitypub: /^https?:\/\/\S+$/,
  a2a: /^[^#\s]\S*$/,
  email: /^\S+@\S+$/,
}

/**
 * Says something to an agent by one protocol, as a peer of the simulation, and waits for what it answers.
 * @throws Error when `thread` cannot be an id of this channel
 */
export async function sendVia(request: SendRequest, platform: SendingPlatform): Promise<SendResult> {
  const { via, thread } = request
  if (thread !== undefined && !threadForms[via].test(thread)) {
    throw new Error(`${via} knows no conversation "${thread}": "thread" is the id that an earlier result has there`)
  }
  return senders[via](request, platform)
}

async function sendNote(request: SendRequest, { fediverse, link }: SendingPlatform): Promise<SendResult> {
  const { text, from, thread, visibility } = request
  const plan = { to: fullAddress(request.to, link), text, from, inReplyTo: thread, visibility }
  const sent = await fediverse.deliver({ ...plan, fault: asPeerFault(request) })
  const { activityId: id, objectId, status, body } = sent
  if (status >= 300) return { id, status: 'refused', thread: objectId, refusal: { answer: status, text: body } }
  const received = await fediverse.awaitReply(objectId, request.timeoutMs ?? replyMs).catch(toSilence)
  if (!received) return { id, status: 'no_reply', thread: objectId }
  const { id: replyId, content } = received.activity.object as { id?: string; content?: string }
  const reply = { text: readHtmlText(content ?? ''), raw: received.activity }
  return { id, status: 'answered', thread: replyId ?? objectId, reply }
}

async function sendMail(request: SendRequest, { mail, link }: SendingPlatform): Promise<SendResult> {
  const { text, from, thread } = request
  const before = thread ? mail.received.find(({ messageId }) => messageId === thread) : undefined
  const references = thread ? [...(before?.references ?? []), thread] : undefined
  const subject = before?.headers.get('subject')?.[0] ?? text.split('\n')[0]?.slice(0, 60)
  const plan = {
    to: fullAddress(request.to, link),
    text,
    from,
    subject,
    inReplyTo: thread,
    references,
    fault: asPeerFault(request),
  }
  const sent = await mail.deliver(plan)
  const id = sent.mail.messageId
  if (sent.answer >= 300)
    return { id, status: 'refused', thread: id, refusal: { answer: sent.answer, text: sent.text } }
  const received = await mail.awaitReply(id, request.timeoutMs ?? replyMs).catch(toSilence)
  if (!received) return { id, status: 'no_reply', thread: id }
  const reply = { text: (received.text ?? '').trim(), raw: received.octets.toString() }
  return { id, status: 'answered', thread: received.messageId ?? id, reply }
}

async function sendCall(request: SendRequest, { a2a, link }: SendingPlatform): Promise<SendResult> {
  const { text, from, thread = '', fault, timeoutMs = replyMs } = request
  const { origin } = requireGateway(link)
  const [name] = fullAddress(request.to, link).split('@')
  if (fault) return sendFaultyCall(`${origin}/agents/${name}/a2a`, request, a2a)
  const messageId = randomUUID()
  const card = `${origin}/agents/${name}/.well-known/agent-card.json`
  const client = await a2a.client(card, await a2a.token({ sub: from }))
  const result = await client.sendMessage(describeSendRequest(text, { messageId, contextId: thread }), {
    signal: AbortSignal.timeout(timeoutMs),
  })
  const { state, contextId, ...read } = readSendResult(result)
  return { id: messageId, status: state, thread: contextId, reply: { text: read.text, raw: result } }
}

async function sendFaultyCall(url: string, { text, from, fault }: SendRequest, a2a: SimA2a): Promise<SendResult> {
  const { messageId, status, body, error, result } = await a2a.deliver({ url, text, sub: from, fault })
  const refusal = { answer: status, text: body }
  if (error || status >= 300) return { id: messageId, status: 'refused', thread: '', refusal }
  return { id: messageId, status: 'answered', thread: '', reply: { text: body, raw: result } }
}

/** @throws Error when only an access token can be wrong in this way */
function asPeerFault({ via, fault }: SendRequest): Fault | undefined {
  const known = faults.find(each => each === fault)
  if (fault !== undefined && !known) throw new Error(`The fault "${fault}" is one of access tokens; ${via} has none`)
  return known
}

/** `echo` lives at the gateway. */
function fullAddress(to: string, link: GatewayLink): string {
  const bare = bareAddress(to)
  if (bare.includes('@')) return bare
  const { origin, handleHost } = requireGateway(link)
  return `${bare}@${handleHost ?? new URL(origin).hostname}`
}

/** Silence is an answer too. */
const toSilence = () => undefined

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

/** What a person reads of a small piece of HTML: tags gone, paragraphs and breaks as lines. */
function readHtmlText(html: string): string {
  return html
    .replace(/<br\s*\/?>/gi, '\n')
    .replace(/<\/(p|div|li|h[1-6]|pre|blockquote)>\s*/gi, '\n\n')
    .replace(/<[^>]*>/g, '')
    .replace(/&(?:#(\d+)|#x([0-9a-f]+)|([a-z]+));/gi, (whole, decimal, hex, name) =>
      readEntity(whole, decimal, hex, name),
    )
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

function readEntity(whole: string, decimal?: string, hex?: string, name?: string): string {
  if (decimal) return String.fromCodePoint(Number(decimal))
  if (hex) return String.fromCodePoint(Number.parseInt(hex, 16))
  return entities[name ?? ''] ?? whole
}
