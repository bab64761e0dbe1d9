// Sends a message to an agent by any channel, as a simulated sender, and waits for the reply.
import { randomUUID } from 'node:crypto'
import type { SendMessageResult, Task } from '@a2a-js/sdk'
import { GetTaskRequest } from '@a2a-js/sdk'
import type { SimA2a } from './a2a/a2a.ts'
import { describeSendRequest, readSendResult } from './a2a/peer.ts'
import type { RunEvent } from './chat/run.ts'
import { joinChatText, readChatEvents, startChat } from './chat/run.ts'
import type { Fault, TokenOnlyFault } from './fault.ts'
import { faults } from './fault.ts'
import type { NoteVisibility } from './fediverse/actors/note.ts'
import type { SimFediverse } from './fediverse/fediverse.ts'
import { bareAddress } from './fediverse/post.ts'
import type { GatewayLink } from './gateway-link.ts'
import { requireGateway } from './gateway-link.ts'
import { readHtmlText } from './html-text.ts'
import type { SimMail } from './mail/mail.ts'
import type { LoopbackFetch } from './net/loopback-fetch.ts'
import type { SentPart } from './sent-part.ts'
import { splitSentParts } from './sent-part.ts'

export type SendFault = Fault | TokenOnlyFault

export interface SendRequest {
  readonly via: 'activitypub' | 'a2a' | 'email' | 'web'
  /** `echo`, `echo@agents.test` or `@echo@agents.test` */
  readonly to: string
  readonly text: string
  /** Parts beside the text. A value (`artifact`) goes by A2A alone. */
  readonly parts?: readonly SentPart[] | undefined
  /** An actor, a token's subject or a mailbox of the simulation. */
  readonly from?: string | undefined
  /** The `thread` of an earlier result: this is the next thing said there. */
  readonly thread?: string | undefined
  /** Visibility of a note; default public. Other messages have none. */
  readonly visibility?: NoteVisibility | undefined
  /** The fault of the message. By A2A and in the chat, only tokens have faults. */
  readonly fault?: SendFault | undefined
  /** Longest wait for the reply once the message is stored; default 30 000. */
  readonly timeoutMs?: number | undefined
  /** Ends the wait sooner. The gateway keeps the message. */
  readonly signal?: AbortSignal | undefined
  /** Receives the accepted message as soon as the gateway has stored it, before the reply. */
  onStored?(stored: AcknowledgedMessage): void
}

/** A message that the gateway has acknowledged. */
export type AcknowledgedMessage = Pick<SendResult, 'id' | 'thread'>

export interface SendResult {
  /** Activity IRI, messageId or Message-ID. */
  readonly id: string
  /**
   * `answered`, `no_reply`, or `refused` with what the gateway said; for A2A the task's state; for a run of the chat that said nothing
   * `completed`, and for one that failed `failed`.
   */
  readonly status: string
  /** Hand it to the next `send` to go on. */
  readonly thread: string
  readonly reply?: { readonly text: string; readonly raw: unknown } | undefined
  /** HTTP status or SMTP code where the gateway did not take it, and its words. */
  readonly refusal?: { readonly answer: number; readonly text: string } | undefined
}

interface SendingSystem {
  readonly fediverse: SimFediverse
  readonly mail: SimMail
  readonly a2a: SimA2a
  readonly loopback: LoopbackFetch
  readonly link: GatewayLink
}

/** Dependencies of each sender. `waiting` aborts when nobody waits for the reply any more. */
interface SenderDeps extends SendingSystem {
  readonly waiting: AbortSignal
}

/** Long, because tests of a busy machine wait for their replies with it. */
const replyMs = 30_000

/** Time for the gateway to acknowledge a message; the wait for the reply begins then. */
const sendingMs = 60_000

/** Timers of Node take no longer time. */
const longestTimerMs = 2 ** 31 - 1

type Sender = (request: SendRequest, deps: SenderDeps) => Promise<SendResult>

const senders: Readonly<Record<SendRequest['via'], Sender>> = {
  activitypub: sendNote,
  a2a: sendCall,
  email: sendMail,
  web: sendChat,
}

/** Ids that a peer can answer to. Numbers of the gateway's own list are none. */
const threadForms: Readonly<Record<SendRequest['via'], RegExp>> = {
  activitypub: /^https?:\/\/\S+$/,
  a2a: /^[^#\s]\S*$/,
  email: /^\S+@\S+$/,
  web: /^\S+$/,
}

/**
 * Says something to an agent by one protocol, as a peer of the simulation, and waits for what it answers. A message that the gateway has
 * stored has a result, whatever becomes of the reply: `no_reply` when the wait ends first, or of A2A the state that the task has then.
 * @throws Error when `thread` cannot be an id of this channel, or nothing was stored
 */
export async function sendVia(request: SendRequest, system: SendingSystem): Promise<SendResult> {
  const { via, thread, timeoutMs = replyMs, signal } = request
  if (thread !== undefined && !threadForms[via].test(thread)) {
    throw new Error(`${via} knows no conversation "${thread}": "thread" is the id that an earlier result has there`)
  }
  const waiting = new AbortController()
  const endWait = () => waiting.abort()
  let timer = setTimeout(endWait, sendingMs)
  const onStored = (stored: AcknowledgedMessage) => {
    clearTimeout(timer)
    timer = setTimeout(endWait, Math.min(timeoutMs, longestTimerMs))
    if (signal?.aborted) endWait()
    signal?.addEventListener('abort', endWait, { once: true })
    request.onStored?.(stored)
  }
  try {
    return await senders[via]({ ...request, onStored }, { ...system, waiting: waiting.signal })
  } catch (cause) {
    throw isLate(cause) ? new Error(notAcknowledged, { cause }) : cause
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', endWait)
  }
}

const notAcknowledged =
  'the gateway did not acknowledge the message in time. It may be stored: look with "postern messages"'

function isLate(cause: unknown): boolean {
  return cause instanceof Error && ['AbortError', 'TimeoutError'].includes(cause.name)
}

async function sendNote(request: SendRequest, { fediverse, link, waiting }: SenderDeps): Promise<SendResult> {
  const { from, thread, visibility } = request
  const { text, files } = splitSentParts(request)
  const sentFiles = files.map(({ mime: mediaType, ...file }) => ({ ...file, mediaType }))
  const plan = { to: fullAddress(request.to, link), text, from, inReplyTo: thread, visibility, files: sentFiles }
  const sent = await fediverse.deliver({ ...plan, fault: asPeerFault(request) })
  const { activityId: id, objectId, status, body } = sent
  if (status >= 300) return { id, status: 'refused', thread: objectId, refusal: { answer: status, text: body } }
  request.onStored?.({ id, thread: objectId })
  const received = await fediverse.awaitReply(objectId, waiting).catch(toSilence)
  if (!received) return { id, status: 'no_reply', thread: objectId }
  const { id: replyId, content } = received.activity.object as { id?: string; content?: string }
  const reply = { text: readHtmlText(content ?? ''), raw: received.activity }
  return { id, status: 'answered', thread: replyId ?? objectId, reply }
}

async function sendMail(request: SendRequest, { mail, link, waiting }: SenderDeps): Promise<SendResult> {
  const { from, thread } = request
  const { text, files } = splitSentParts(request)
  const before = thread ? mail.received.find(({ messageId }) => messageId === thread) : undefined
  const references = thread ? [...(before?.references ?? []), thread] : undefined
  const subject = before?.headers.get('subject')?.[0] ?? (text.split('\n')[0]?.slice(0, 60) || files[0]?.name)
  const plan = {
    to: fullAddress(request.to, link),
    text,
    from,
    subject,
    inReplyTo: thread,
    references,
    attachments: files.map(({ name, mime, bytes }) => ({
      filename: name,
      contentType: mime,
      content: Buffer.from(bytes),
    })),
    fault: asPeerFault(request),
  }
  const sent = await mail.deliver(plan)
  const id = sent.mail.messageId
  if (sent.answer >= 300)
    return { id, status: 'refused', thread: id, refusal: { answer: sent.answer, text: sent.text } }
  request.onStored?.({ id, thread: id })
  const received = await mail.awaitReply(id, waiting).catch(toSilence)
  if (!received) return { id, status: 'no_reply', thread: id }
  const reply = { text: (received.text ?? '').trim(), raw: received.octets.toString() }
  return { id, status: 'answered', thread: received.messageId ?? id, reply }
}

/** Streams the call, because the first event of a stream says that the message is stored. */
async function sendCall(request: SendRequest, { a2a, link, waiting }: SenderDeps): Promise<SendResult> {
  const { text, parts, from, thread = '', fault } = request
  const { origin } = requireGateway(link)
  const [name] = fullAddress(request.to, link).split('@')
  if (fault) return sendFaultyCall(`${origin}/agents/${name}/a2a`, request, a2a)
  const messageId = randomUUID()
  const card = `${origin}/agents/${name}/.well-known/agent-card.json`
  const client = await a2a.client(card, await a2a.token({ sub: from }))
  const params = describeSendRequest(text, { messageId, contextId: thread, parts })
  const show = (result: SendMessageResult): SendResult => {
    const { state, contextId, ...read } = readSendResult(result)
    const isSilent = read.text === '' && 'artifacts' in result && result.artifacts.length === 0
    const reply = isSilent ? undefined : { text: read.text, raw: result }
    return { id: messageId, status: state, thread: contextId, ...(reply && { reply }) }
  }
  let stored: Task | undefined
  try {
    for await (const { payload } of client.sendMessageStream(params, { signal: waiting })) {
      if (payload?.$case === 'message') return show(payload.value)
      if (payload?.$case !== 'task' || stored) continue
      stored = payload.value
      request.onStored?.({ id: messageId, thread: stored.contextId })
    }
  } catch (cause) {
    if (!stored) throw cause
  }
  if (!stored) throw new Error('the agent answered with no task and no message')
  const task = await client.getTask(GetTaskRequest.fromJSON({ id: stored.id })).catch(toSilence)
  return task ? show(task) : { id: messageId, status: 'no_reply', thread: stored.contextId }
}

async function sendFaultyCall(url: string, request: SendRequest, a2a: SimA2a): Promise<SendResult> {
  const { text, parts, from, fault, timeoutMs = replyMs } = request
  const delivery = { url, text, parts, sub: from, fault, timeoutMs }
  const { messageId, status, body, error, result } = await a2a.deliver(delivery)
  const refusal = { answer: status, text: body }
  if (error || status >= 300) return { id: messageId, status: 'refused', thread: '', refusal }
  return { id: messageId, status: 'answered', thread: '', reply: { text: body, raw: result } }
}

async function sendChat(request: SendRequest, { a2a, loopback, link, waiting }: SenderDeps): Promise<SendResult> {
  const { text, parts, from, thread, fault } = request
  const { origin } = requireGateway(link)
  const [name] = fullAddress(request.to, link).split('@')
  const run = {
    url: `${origin}/api/v1/agents/${name}/runs`,
    text,
    parts,
    threadId: thread,
    sub: from,
    fault,
    signal: waiting,
  }
  const { messageId: id, threadId, answer } = await startChat(run, { a2a, loopback })
  const { status } = answer
  if (status !== 200)
    return { id, status: 'refused', thread: threadId, refusal: { answer: status, text: await answer.text() } }
  const events: RunEvent[] = []
  try {
    for await (const event of readChatEvents(answer.body)) {
      if (events.push(event) === 1) request.onStored?.({ id, thread: threadId })
    }
  } catch (cause) {
    if (events.length === 0) throw cause
  }
  return { id, thread: threadId, ...readRun(events) }
}

/** Returns how a run ended, and what was said in it. */
function readRun(events: readonly RunEvent[]): Pick<SendResult, 'status' | 'reply'> {
  const last = events.at(-1)
  if (last?.type === 'RUN_ERROR') return { status: 'failed', reply: { text: last.message ?? '', raw: events } }
  const text = joinChatText(events)
  if (last?.type !== 'RUN_FINISHED') return { status: 'no_reply' }
  return text === '' ? { status: 'completed' } : { status: 'answered', reply: { text, raw: events } }
}

/** @throws Error when only an access token can be wrong in this way */
function asPeerFault({ via, fault }: SendRequest): Fault | undefined {
  const peerFault = faults.find(each => each === fault)
  if (fault !== undefined && !peerFault)
    throw new Error(`The fault "${fault}" is one of access tokens; ${via} has none`)
  return peerFault
}

/** Completes the name of an agent: `echo` lives at the gateway. */
export function fullAddress(to: string, link: GatewayLink): string {
  const bare = bareAddress(to)
  if (bare.includes('@')) return bare
  const { origin, handleHost } = requireGateway(link)
  return `${bare}@${handleHost ?? new URL(origin).hostname}`
}

/** Turns the end of a wait into silence, which is an answer, too. */
const toSilence = () => undefined
