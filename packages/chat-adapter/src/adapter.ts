// Connects a Chat SDK bot to the gateway: verifies incoming webhook calls, and returns posts as answers.
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import type { AgentAction, NormalizedMessage, Part } from '@postern/message'
import { parseJsonText, readWebhookKey, webhookSecretFix } from '@postern/message'
import type { Adapter, ChatInstance, EmojiValue, WebhookOptions } from 'chat'
import { NotImplementedError } from 'chat'
import type { ThreadSender } from './late-posts.ts'
import { findOnlySender, planDirectPost, readThreadSender, rememberSender } from './late-posts.ts'
import type { PosternOperator } from './operator.ts'
import { performForBot } from './operator.ts'
import type { PendingAnswer } from './pending-answer.ts'
import { createPendingAnswer } from './pending-answer.ts'
import type { GatewayAddress, PosternMessage, PosternThread } from './to-chat-message.ts'
import {
  formatThreadId,
  parseThreadId,
  posternFormat,
  rehydrateAttachment,
  toChatMessage,
  writePostable,
} from './to-chat-message.ts'

export interface PosternAdapterOptions {
  /** The secret of the webhook agent (`agents.<name>.secret`). Default: `POSTERN_WEBHOOK_SECRET`. */
  readonly secret?: string
  /** The operator API for posts outside of an answer, which fail without it. */
  readonly operator?: PosternOperator
  /**
   * The `origin` of the gateway's configuration. Only files that the gateway serves are fetched, from `operator.url` if it is given. Default:
   * `POSTERN_ORIGIN`, or else `https://` with the host of the agent's address.
   */
  readonly origin?: string
  /** The name of the bot. Default: `postern`. */
  readonly userName?: string
  /** Returns the time in ms since 1970. The default is the machine's clock. */
  readonly now?: () => number
}

type PosternRaw = NormalizedMessage | { readonly parts: readonly object[] }
export type PosternAdapter = Adapter<PosternThread, PosternRaw>

const reactionsByEmoji: Readonly<Record<string, 'like' | 'boost'>> = {
  thumbs_up: 'like',
  heart: 'like',
  repeat: 'boost',
}

/**
 * Passes messages that people write in the fediverse, by mail and as agents to a Chat SDK bot, and returns its posts. The gateway calls the bot as an
 * agent of the kind `webhook`: the posts that the bot makes while it handles a message are the answer.
 */
export function createPosternAdapter(options: PosternAdapterOptions = {}): PosternAdapter {
  const { secret = process.env.POSTERN_WEBHOOK_SECRET, operator, userName = 'postern', now = Date.now } = options
  if (!secret)
    throw new Error('The adapter needs the secret of the webhook agent: pass it, or set POSTERN_WEBHOOK_SECRET')
  const key = readWebhookKey(secret)
  if (key.length === 0) throw new Error(`The secret of the webhook agent ${webhookSecretFix}`)
  const { origin = process.env.POSTERN_ORIGIN } = options
  const openAdapter: OpenAdapter = {
    operator,
    gateway: { ...(origin && { origin: new URL(origin).origin }), reachableUrl: operator?.url },
    currentMessage: new AsyncLocalStorage(),
    lastAnswers: new Map(),
    chat: undefined,
  }
  return {
    name: 'postern',
    userName,
    persistThreadHistory: true,
    lockScope: 'thread',
    async initialize(chat) {
      openAdapter.chat = chat
    },
    encodeThreadId: formatThreadId,
    decodeThreadId: parseThreadId,
    channelIdFromThreadId: id => id.split(':').slice(0, 2).join(':'),
    parseMessage: raw => toChatMessage(raw as NormalizedMessage, openAdapter.gateway),
    rehydrateAttachment,
    renderFormatted: content => posternFormat.fromAst(content),
    async handleWebhook(request, webhook) {
      const body = await request.text()
      if (!isSignedWebhook(request.headers, body, { key, now: now() })) return new Response(null, { status: 401 })
      const { chat } = openAdapter
      if (!chat) return new Response(null, { status: 503 })
      return answerInOrder(parseJsonText(body) as NormalizedMessage, { chat, adapter: this, openAdapter, webhook })
    },
    ...createPostMethods(openAdapter),
    // Chat SDK stores the history itself (`persistThreadHistory`).
    fetchMessages: async () => ({ messages: [] }),
    async fetchThread(id) {
      const { agent, thread } = parseThreadId(id)
      return { id, channelId: `postern:${agent}`, channelName: agent, metadata: { thread } }
    },
    // No channel shows that somebody is typing.
    async startTyping() {},
  }
}

interface OpenAdapter {
  readonly operator: PosternOperator | undefined
  readonly gateway: GatewayAddress
  /** The message whose handler is running. */
  readonly currentMessage: AsyncLocalStorage<HandledMessage>
  /** The end of the last answer in each thread with an answer in progress. */
  readonly lastAnswers: Map<string, Promise<unknown>>
  chat: ChatInstance | undefined
}

/** A message of the gateway that a post may answer. */
interface HandledMessage {
  readonly threadId: string
  readonly sender: ThreadSender
  /** The pending answer, while the gateway waits for it. */
  pendingAnswer: PendingAnswer | undefined
}

type PostMethods = Pick<
  PosternAdapter,
  'postMessage' | 'editMessage' | 'deleteMessage' | 'addReaction' | 'removeReaction'
>

/**
 * Creates the posting side of the adapter. A post answers `ownMessage`, the message whose handler got the thread. Without it, the post answers the
 * message whose handler is running.
 */
function createPostMethods(openAdapter: OpenAdapter, ownMessage?: HandledMessage): PostMethods {
  const findHandledMessage = (threadId: string): HandledMessage | undefined => {
    const handledMessage = ownMessage ?? openAdapter.currentMessage.getStore()
    return handledMessage?.threadId === threadId ? handledMessage : undefined
  }
  const performAction = async (threadId: string, action: AgentAction): Promise<void> => {
    const pendingAnswer = findHandledMessage(threadId)?.pendingAnswer
    if (pendingAnswer) pendingAnswer.addAction(action)
    else await performAsOperator(threadId, action, openAdapter)
  }
  return {
    async postMessage(threadId, message) {
      const parts = await writePostable(message)
      const handledMessage = findHandledMessage(threadId)
      const id =
        handledMessage?.pendingAnswer?.post(parts) ??
        (await postLater(threadId, parts, { openAdapter, handledMessage }))
      return { id, threadId, raw: { parts } }
    },
    async editMessage(threadId, id, message) {
      const parts = await writePostable(message)
      const isEdited = findHandledMessage(threadId)?.pendingAnswer?.edit(id, parts) === true
      if (!isEdited) await performAction(threadId, { act: 'edit', response: id, parts: [...parts] })
      return { id, threadId, raw: { parts } }
    },
    async deleteMessage(threadId, id) {
      if (!findHandledMessage(threadId)?.pendingAnswer?.remove(id))
        await performAction(threadId, { act: 'delete', response: id })
    },
    addReaction: (threadId, message, emoji) => performAction(threadId, { act: readReaction(emoji), message }),
    removeReaction: (threadId, message, emoji) => performAction(threadId, { act: `un${readReaction(emoji)}`, message }),
  }
}

/** Performs an action through the operator API, and returns the id of a post that was sent. */
async function performAsOperator(threadId: string, action: AgentAction, { operator }: OpenAdapter): Promise<string> {
  if (!operator) throw new NotImplementedError('Cannot post after the answer: set the option "operator"', 'operator')
  return performForBot(operator, parseThreadId(threadId).agent, action)
}

interface LatePost {
  readonly openAdapter: OpenAdapter
  readonly handledMessage: HandledMessage | undefined
}

/** Posts to the person whose message the post answers. */
async function postLater(
  threadId: string,
  parts: readonly Part[],
  { openAdapter, handledMessage }: LatePost,
): Promise<string> {
  const sender = handledMessage?.sender ?? (await findOnlySender(openAdapter.chat?.getState(), threadId))
  return performAsOperator(threadId, planDirectPost(parts, sender), openAdapter)
}

interface WebhookDeps {
  readonly chat: ChatInstance
  readonly adapter: Adapter
  readonly openAdapter: OpenAdapter
  readonly webhook: WebhookOptions | undefined
}

/** Answers the messages of one thread one after another, because in Chat SDK's own queue the handler of one message could answer another. */
async function answerInOrder(raw: NormalizedMessage, deps: WebhookDeps): Promise<Response> {
  const { lastAnswers, gateway } = deps.openAdapter
  const message = toChatMessage(raw, gateway)
  const previousAnswer = lastAnswers.get(message.threadId)
  const answer = (async () => {
    await previousAnswer
    return answerWebhook(message, deps)
  })()
  const answerEnd = answer.catch(() => {})
  lastAnswers.set(message.threadId, answerEnd)
  try {
    return await answer
  } finally {
    if (lastAnswers.get(message.threadId) === answerEnd) lastAnswers.delete(message.threadId)
  }
}

/** Waits for the bot's handlers. The gateway retries a call whose handler failed, and makes sure that no post is repeated. */
async function answerWebhook(
  message: PosternMessage,
  { chat, adapter, openAdapter, webhook }: WebhookDeps,
): Promise<Response> {
  const { threadId } = message
  const sender = readThreadSender(message.raw)
  const pendingAnswer = createPendingAnswer(randomUUID())
  const handledMessage: HandledMessage = { threadId, sender, pendingAnswer }
  const tasks: Promise<unknown>[] = []
  const waitUntil = (task: Promise<unknown>) => void tasks.push(task)
  await rememberSender(chat.getState(), threadId, sender)
  try {
    const webhookOptions = { ...webhook, waitUntil, deduplicate: false, propagateHandlerErrors: true }
    const ownAdapter: Adapter = { ...adapter, ...createPostMethods(openAdapter, handledMessage) }
    await openAdapter.currentMessage.run(handledMessage, async () => {
      await chat.processMessage(ownAdapter, threadId, message, webhookOptions)
      await Promise.all(tasks)
    })
  } catch {
    return new Response(null, { status: 500 })
  } finally {
    handledMessage.pendingAnswer = undefined
  }
  const answer = pendingAnswer.end()
  return answer ? Response.json(answer) : new Response(null, { status: 204 })
}

function readReaction(emoji: EmojiValue | string): 'like' | 'boost' {
  const name = typeof emoji === 'string' ? emoji : emoji.name
  const reaction = reactionsByEmoji[name]
  if (reaction) return reaction
  const emojiNames = Object.keys(reactionsByEmoji).join(', ')
  throw new NotImplementedError(
    `Cannot react with "${name}": peers know likes and boosts (${emojiNames})`,
    'addReaction',
  )
}

const toleranceMs = 300_000

/** Returns true if the gateway has signed the request within five minutes (Standard Webhooks 1.0). */
function isSignedWebhook(headers: Headers, body: string, { key, now }: { key: Uint8Array; now: number }): boolean {
  const [id, timestamp] = [headers.get('webhook-id') ?? '', headers.get('webhook-timestamp') ?? '']
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now - Number(timestamp) * 1000) > toleranceMs) return false
  const expectedMac = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest()
  // A sender that rotates its secret sends only a few signatures.
  const signatures = (headers.get('webhook-signature') ?? '').split(' ').slice(0, 4)
  return signatures.some(signature => {
    const bytes = Buffer.from(signature.replace(/^v1,/, ''), 'base64')
    return signature.startsWith('v1,') && bytes.length === expectedMac.length && timingSafeEqual(bytes, expectedMac)
  })
}
