import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import type { AgentAction, NormalizedMessage, Part } from '@postern/core'
import { parseJsonText } from '@postern/core'
import type { Adapter, ChatInstance, EmojiValue, WebhookOptions } from 'chat'
import { NotImplementedError } from 'chat'
import type { HeldAnswer } from './held-answer.ts'
import { createHeldAnswer } from './held-answer.ts'
import type { PosternOperator } from './operator.ts'
import { performForBot } from './operator.ts'
import type { PosternThread } from './to-chat-message.ts'
import { formatThreadId, parseThreadId, posternFormat, toChatMessage, writePostable } from './to-chat-message.ts'

export interface PosternAdapterOptions {
  /** Secret of the webhook agent (`agents.<name>.secret`); default: `POSTERN_WEBHOOK_SECRET`. */
  readonly secret?: string
  /** For posts outside of an answer; without it they fail. */
  readonly operator?: PosternOperator
  /** Name of the bot. Default: `postern`. */
  readonly userName?: string
  /** Milliseconds since 1970; default: the machine's clock. */
  readonly now?: () => number
}

/** Who was heard last in a thread, so that the bot can write to them later. */
interface LastSender {
  readonly address: string
  readonly via: NormalizedMessage['received_via']
}

type DirectPost = Extract<AgentAction, { readonly act: 'post' }>
type PosternRaw = NormalizedMessage | { readonly parts: readonly object[] }
export type PosternAdapter = Adapter<PosternThread, PosternRaw>

const rememberMs = 90 * 86_400_000
const reactionsByEmoji: Readonly<Record<string, 'like' | 'boost'>> = {
  thumbs_up: 'like',
  heart: 'like',
  repeat: 'boost',
}

/**
 * Brings what people write in the fediverse, by mail and as agents to a bot of Chat SDK, and its posts back. The gateway calls the bot as an
 * agent of the kind `webhook`: what the bot posts while it handles a message is the answer.
 */
export function createPosternAdapter(options: PosternAdapterOptions = {}): PosternAdapter {
  const { secret = process.env.POSTERN_WEBHOOK_SECRET, operator, userName = 'postern', now = Date.now } = options
  if (!secret)
    throw new Error('The adapter needs the secret of the webhook agent: pass it, or set POSTERN_WEBHOOK_SECRET')
  const open: OpenAdapter = { operator, turns: new Map(), chat: undefined }
  return {
    name: 'postern',
    userName,
    persistThreadHistory: true,
    lockScope: 'thread',
    async initialize(chat) {
      open.chat = chat
    },
    encodeThreadId: formatThreadId,
    decodeThreadId: parseThreadId,
    channelIdFromThreadId: id => id.split(':').slice(0, 2).join(':'),
    parseMessage: raw => toChatMessage(raw as NormalizedMessage),
    renderFormatted: content => posternFormat.fromAst(content),
    async handleWebhook(request, webhook) {
      const body = await request.text()
      if (!isSignedWebhook(request.headers, body, { secret, now: now() })) return new Response(null, { status: 401 })
      const { chat, turns } = open
      if (!chat) return new Response(null, { status: 503 })
      return answerWebhook(parseJsonText(body) as NormalizedMessage, { chat, adapter: this, turns, webhook })
    },
    ...createPosting(open),
    // Chat SDK keeps the history itself (`persistThreadHistory`).
    fetchMessages: async () => ({ messages: [] }),
    async fetchThread(id) {
      const { agent, thread } = parseThreadId(id)
      return { id, channelId: `postern:${agent}`, channelName: agent, metadata: { thread } }
    },
    // No channel shows that somebody types.
    async startTyping() {},
  }
}

interface OpenAdapter {
  readonly operator: PosternOperator | undefined
  readonly turns: Map<string, HeldAnswer>
  chat: ChatInstance | undefined
}

type Posting = Pick<PosternAdapter, 'postMessage' | 'editMessage' | 'deleteMessage' | 'addReaction' | 'removeReaction'>

function createPosting(open: OpenAdapter): Posting {
  const { turns } = open
  return {
    async postMessage(threadId, message) {
      const parts = await writePostable(message)
      const id = turns.get(threadId)?.post(parts) ?? (await postLater(threadId, parts, open))
      return { id, threadId, raw: { parts } }
    },
    async editMessage(threadId, id, message) {
      const parts = await writePostable(message)
      const isOpen = turns.get(threadId)?.edit(id, parts) === true
      if (!isOpen) await act(threadId, { act: 'edit', response: id, parts: [...parts] }, open)
      return { id, threadId, raw: { parts } }
    },
    async deleteMessage(threadId, id) {
      if (!turns.get(threadId)?.remove(id)) await act(threadId, { act: 'delete', response: id }, open)
    },
    async addReaction(threadId, message, emoji) {
      await act(threadId, { act: readReaction(emoji), message }, open)
    },
    async removeReaction(threadId, message, emoji) {
      await act(threadId, { act: `un${readReaction(emoji)}`, message }, open)
    },
  }
}

/** Part of the answer while the gateway waits; else by the operator's API. @returns id of a post that was sent */
async function act(threadId: string, action: AgentAction, { turns, operator }: OpenAdapter): Promise<string> {
  const turn = turns.get(threadId)
  if (turn) {
    turn.act(action)
    return ''
  }
  if (!operator)
    throw new NotImplementedError('The answer is given: name the gateway with "operator" to go on', 'operator')
  return performForBot(operator, parseThreadId(threadId).agent, action)
}

async function postLater(threadId: string, parts: readonly Part[], open: OpenAdapter): Promise<string> {
  const last = await open.chat?.getState().get<LastSender>(senderKey(threadId))
  if (!last) throw new Error(`Cannot post to thread "${threadId}": nobody was heard there`)
  const { address, via } = last
  const post: DirectPost = { act: 'post', parts: [...parts], mentions: [address], visibility: 'direct' }
  // Posts are the fediverse's own; elsewhere it is a direct message, which the operator has to allow.
  return act(threadId, via === 'activitypub' ? post : { ...post, via }, open)
}

interface WebhookDeps {
  readonly chat: ChatInstance
  readonly adapter: Adapter
  readonly turns: Map<string, HeldAnswer>
  readonly webhook: WebhookOptions | undefined
}

/** Waits for the bot's handlers. One that fails is tried again by the gateway, which has seen to it that nothing comes twice. */
async function answerWebhook(
  raw: NormalizedMessage,
  { chat, adapter, turns, webhook }: WebhookDeps,
): Promise<Response> {
  const message = toChatMessage(raw)
  const { threadId } = message
  const turn = createHeldAnswer(randomUUID())
  const tasks: Promise<unknown>[] = []
  const waitUntil = (task: Promise<unknown>) => void tasks.push(task)
  const last: LastSender = { address: raw.sender.address, via: raw.received_via }
  await chat.getState().set(senderKey(threadId), last, rememberMs)
  turns.set(threadId, turn)
  try {
    const handling = { ...webhook, waitUntil, deduplicate: false, propagateHandlerErrors: true }
    await chat.processMessage(adapter, threadId, message, handling)
    await Promise.all(tasks)
  } catch {
    return new Response(null, { status: 500 })
  } finally {
    turns.delete(threadId)
  }
  const said = turn.end()
  return said ? Response.json(said) : new Response(null, { status: 204 })
}

function senderKey(threadId: string): string {
  return `postern-sender:${threadId}`
}

function readReaction(emoji: EmojiValue | string): 'like' | 'boost' {
  const name = typeof emoji === 'string' ? emoji : emoji.name
  const reaction = reactionsByEmoji[name]
  if (reaction) return reaction
  const known = Object.keys(reactionsByEmoji).join(', ')
  throw new NotImplementedError(`Cannot react with "${name}": peers know likes and boosts (${known})`, 'addReaction')
}

const toleranceMs = 300_000

/** Whether the gateway has signed it (Standard Webhooks 1.0), within five minutes. */
function isSignedWebhook(headers: Headers, body: string, { secret, now }: { secret: string; now: number }): boolean {
  const [id, at] = [headers.get('webhook-id') ?? '', headers.get('webhook-timestamp') ?? '']
  if (!/^\d{1,12}$/.test(at) || Math.abs(now - Number(at) * 1000) > toleranceMs) return false
  const expected = createHmac('sha256', readKey(secret)).update(`${id}.${at}.${body}`).digest()
  // A header of more than a few signatures is nobody's who rotates a secret.
  const given = (headers.get('webhook-signature') ?? '').split(' ').slice(0, 4)
  return given.some(signature => {
    const bytes = Buffer.from(signature.replace(/^v1,/, ''), 'base64')
    return signature.startsWith('v1,') && bytes.length === expected.length && timingSafeEqual(bytes, expected)
  })
}

function readKey(secret: string): Buffer {
  return secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret)
}
