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
import { stripAddressPrefix } from './fediverse/post.ts'
import type { GatewayReference } from './gateway-link.ts'
import { requireGateway } from './gateway-link.ts'
import { readHtmlText } from './html-text.ts'
import type { SimMail } from './mail/mail.ts'
import type { LoopbackFetch } from './net/loopback-fetch.ts'
import type { SentPart } from './sent-part.ts'
import { separateTextAndFiles } from './sent-part.ts'

export type SendFault = Fault | TokenOnlyFault

export interface SendRequest {
  readonly via: 'activitypub' | 'a2a' | 'email' | 'web'
  /** The agent, such as `echo`, `echo@agents.test` or `@echo@agents.test`. */
  readonly to: string
  readonly text: string
  /** Parts in addition to the text. Only A2A carries values (`artifact`). */
  readonly parts?: readonly SentPart[] | undefined
  /** The sender: an actor, a token's subject or a mailbox of the simulation. */
  readonly from?: string | undefined
  /** The `thread` of an earlier result, to continue its conversation. */
  readonly thread?: string | undefined
  /** The visibility of a note. Default: public. Other messages have none. */
  readonly visibility?: NoteVisibility | undefined
  /** The fault of the message. In A2A and chat requests it concerns the request or its token. */
  readonly fault?: SendFault | undefined
  /** The longest wait for the reply after the message is stored, ms. Default: 30 000. */
  readonly timeoutMs?: number | undefined
  /** Ends the wait early. The gateway keeps the message. */
  readonly signal?: AbortSignal | undefined
  /** Called as soon as the gateway has stored the message, before the reply. */
  onStored?(message: AcknowledgedMessage): void
}

/** A message that the gateway has acknowledged. */
export type AcknowledgedMessage = Pick<SendResult, 'id' | 'thread'>

export interface SendResult {
  /** The id of the activity (an IRI), the A2A or chat message, or the mail. */
  readonly id: string
  /**
   * The outcome: `answered`, `no_reply` or `refused`. A2A gives the state of the task instead. A chat run without a reply is `completed`,
   * and a failed one `failed`.
   */
  readonly status: string
  /** The `thread` for the next `send` in this conversation. */
  readonly thread: string
  readonly reply?: { readonly text: string; readonly raw: unknown } | undefined
  /** The HTTP status or SMTP code of a refusal, with its text. */
  readonly refusal?: { readonly answer: number; readonly text: string } | undefined
}

interface SendingSystem {
  readonly fediverse: SimFediverse
  readonly mail: SimMail
  readonly a2a: SimA2a
  readonly loopback: LoopbackFetch
  readonly link: GatewayReference
}

/** The dependencies of each sender. `waitSignal` aborts when the wait for the reply ends. */
interface SenderDeps extends SendingSystem {
  readonly waitSignal: AbortSignal
}

/** The longest wait for a reply, ms. It is long, because tests on a busy machine wait for replies, too. */
const replyMs = 30_000

/** The time in which the gateway must acknowledge a message, ms. The wait for the reply begins after that. */
const sendingMs = 60_000

/** The longest time that Node's timers allow, ms. */
const maxTimerMs = 2 ** 31 - 1

type Sender = (request: SendRequest, deps: SenderDeps) => Promise<SendResult>

const senders: Readonly<Record<SendRequest['via'], Sender>> = {
  activitypub: sendNote,
  a2a: sendCall,
  email: sendMail,
  web: sendChat,
}

/** The forms of ids that a peer can answer to. The gateway's own message numbers are not among them. */
const threadForms: Readonly<Record<SendRequest['via'], RegExp>> = {
  activitypub: /^https?:\/\/\S+$/,
  a2a: /^[^#\s]\S*$/,
  email: /^\S+@\S+$/,
  web: /^\S+$/,
}

/**
 * Sends a message to an agent on one channel, as a peer of the simulation, and waits for the answer. A message that the gateway has stored
 * always has a result. If the wait ends before the answer, the result is `no_reply`, or for A2A the current state of the task.
 * @throws Error if `thread` cannot be an id of this channel, or the gateway stored nothing
 */
export async function sendVia(request: SendRequest, system: SendingSystem): Promise<SendResult> {
  const { via, thread, timeoutMs = replyMs, signal } = request
  if (thread !== undefined && !threadForms[via].test(thread)) {
    throw new Error(`${via} knows no conversation "${thread}": "thread" is the id that an earlier result has there`)
  }
  const waitController = new AbortController()
  const endWait = () => waitController.abort()
  let timer = setTimeout(endWait, sendingMs)
  const onStored = (message: AcknowledgedMessage) => {
    clearTimeout(timer)
    timer = setTimeout(endWait, Math.min(timeoutMs, maxTimerMs))
    if (signal?.aborted) endWait()
    signal?.addEventListener('abort', endWait, { once: true })
    request.onStored?.(message)
  }
  try {
    return await senders[via]({ ...request, onStored }, { ...system, waitSignal: waitController.signal })
  } catch (cause) {
    throw isTimeout(cause) ? new Error(notAcknowledgedText, { cause }) : cause
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', endWait)
  }
}

const notAcknowledgedText =
  'the gateway did not acknowledge the message in time. It may be stored: look with "postern messages"'

function isTimeout(cause: unknown): boolean {
  return cause instanceof Error && ['AbortError', 'TimeoutError'].includes(cause.name)
}

async function sendNote(
  request: SendRequest,
  { fediverse, link, waitSignal: waiting }: SenderDeps,
): Promise<SendResult> {
  const { from, thread, visibility } = request
  const { text, files } = separateTextAndFiles(request)
  const sentFiles = files.map(({ mime: mediaType, ...file }) => ({ ...file, mediaType }))
  const plan = { to: fullAddress(request.to, link), text, from, inReplyTo: thread, visibility, files: sentFiles }
  const receipt = await fediverse.deliver({ ...plan, fault: readPeerFault(request) })
  const { activityId: id, objectId, status, body } = receipt
  if (status >= 300) return { id, status: 'refused', thread: objectId, refusal: { answer: status, text: body } }
  request.onStored?.({ id, thread: objectId })
  const receivedActivity = await fediverse.awaitReply(objectId, waiting).catch(ignoreWaitEnd)
  if (!receivedActivity) return { id, status: 'no_reply', thread: objectId }
  const { id: replyId, content } = receivedActivity.activity.object as { id?: string; content?: string }
  const reply = { text: readHtmlText(content ?? ''), raw: receivedActivity.activity }
  return { id, status: 'answered', thread: replyId ?? objectId, reply }
}

async function sendMail(request: SendRequest, { mail, link, waitSignal: waiting }: SenderDeps): Promise<SendResult> {
  const { from, thread } = request
  const { text, files } = separateTextAndFiles(request)
  const parentMail = thread ? mail.received.find(({ messageId }) => messageId === thread) : undefined
  const references = thread ? [...(parentMail?.references ?? []), thread] : undefined
  const subject = parentMail?.headers.get('subject')?.[0] ?? (text.split('\n')[0]?.slice(0, 60) || files[0]?.name)
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
    fault: readPeerFault(request),
  }
  const receipt = await mail.deliver(plan)
  const id = receipt.mail.messageId
  if (receipt.answer >= 300)
    return { id, status: 'refused', thread: id, refusal: { answer: receipt.answer, text: receipt.text } }
  request.onStored?.({ id, thread: id })
  const receivedMail = await mail.awaitReply(id, waiting).catch(ignoreWaitEnd)
  if (!receivedMail) return { id, status: 'no_reply', thread: id }
  const reply = { text: (receivedMail.text ?? '').trim(), raw: receivedMail.octets.toString() }
  return { id, status: 'answered', thread: receivedMail.messageId ?? id, reply }
}

/** Streams the call, because the first event of a stream shows that the message is stored. */
async function sendCall(request: SendRequest, { a2a, link, waitSignal: waiting }: SenderDeps): Promise<SendResult> {
  const { text, parts, from, thread = '', fault } = request
  const { origin } = requireGateway(link)
  const [name] = fullAddress(request.to, link).split('@')
  if (fault) return sendFaultyCall(`${origin}/agents/${name}/a2a`, request, a2a)
  const messageId = randomUUID()
  const card = `${origin}/agents/${name}/.well-known/agent-card.json`
  const client = await a2a.client(card, await a2a.token({ sub: from }))
  const params = describeSendRequest(text, { messageId, contextId: thread, parts })
  const toResult = (result: SendMessageResult): SendResult => {
    const { state, contextId, ...callResult } = readSendResult(result)
    const isSilent = callResult.text === '' && 'artifacts' in result && result.artifacts.length === 0
    const reply = isSilent ? undefined : { text: callResult.text, raw: result }
    return { id: messageId, status: state, thread: contextId, ...(reply && { reply }) }
  }
  let storedTask: Task | undefined
  try {
    for await (const { payload } of client.sendMessageStream(params, { signal: waiting })) {
      if (payload?.$case === 'message') return toResult(payload.value)
      if (payload?.$case !== 'task' || storedTask) continue
      storedTask = payload.value
      request.onStored?.({ id: messageId, thread: storedTask.contextId })
    }
  } catch (cause) {
    if (!storedTask) throw cause
  }
  if (!storedTask) throw new Error('the agent answered with no task and no message')
  const task = await client.getTask(GetTaskRequest.fromJSON({ id: storedTask.id })).catch(ignoreWaitEnd)
  return task ? toResult(task) : { id: messageId, status: 'no_reply', thread: storedTask.contextId }
}

async function sendFaultyCall(url: string, request: SendRequest, a2a: SimA2a): Promise<SendResult> {
  const { text, parts, from, fault, timeoutMs = replyMs } = request
  const delivery = { url, text, parts, sub: from, fault, timeoutMs }
  const { messageId, status, body, error, result } = await a2a.deliver(delivery)
  const refusal = { answer: status, text: body }
  if (error || status >= 300) return { id: messageId, status: 'refused', thread: '', refusal }
  return { id: messageId, status: 'answered', thread: '', reply: { text: body, raw: result } }
}

async function sendChat(
  request: SendRequest,
  { a2a, loopback, link, waitSignal: waiting }: SenderDeps,
): Promise<SendResult> {
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

/** Reads the outcome of a run and the text of its answer. */
function readRun(events: readonly RunEvent[]): Pick<SendResult, 'status' | 'reply'> {
  const last = events.at(-1)
  if (last?.type === 'RUN_ERROR') return { status: 'failed', reply: { text: last.message ?? '', raw: events } }
  const text = joinChatText(events)
  if (last?.type !== 'RUN_FINISHED') return { status: 'no_reply' }
  return text === '' ? { status: 'completed' } : { status: 'answered', reply: { text, raw: events } }
}

/** Returns the fault of the request as a fault of a peer. @throws Error if only access tokens can have this fault */
function readPeerFault({ via, fault }: SendRequest): Fault | undefined {
  const peerFault = faults.find(candidate => candidate === fault)
  if (fault !== undefined && !peerFault)
    throw new Error(`The fault "${fault}" is one of access tokens; ${via} has none`)
  return peerFault
}

/** Completes the name of an agent. For example, `echo` gets the gateway's host. */
export function fullAddress(to: string, link: GatewayReference): string {
  const recipientAddress = stripAddressPrefix(to)
  if (recipientAddress.includes('@')) return recipientAddress
  const { origin, handleHost } = requireGateway(link)
  return `${recipientAddress}@${handleHost ?? new URL(origin).hostname}`
}

/** Treats the end of a wait as an answer that did not come. */
const ignoreWaitEnd = () => undefined
