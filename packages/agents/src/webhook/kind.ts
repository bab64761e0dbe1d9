import { createHash } from 'node:crypto'
import type { AgentContext, NormalizedMessage, PartialResponse } from '@postern/core'
import { parseDuration } from '@postern/core'
import { z } from 'zod'
import { endpointUrlSchema } from '../config/endpoint.ts'
import type { Opening } from '../kind/agent-kind.ts'
import { commonAgentSchema, defineAgentKind } from '../kind/agent-kind.ts'
import { readConversationResult, readWebhookAnswer, readWebhookReply } from './reply.ts'
import { describeConversation, describeMoment, readWebhookKey, signWebhook } from './write-request.ts'

/** Bytes of a message sent at most; a larger one goes without its `raw`. */
const maxRequestBytes = 8 * 1024 * 1024
/** Bytes of a reply read at most. */
const maxReplyBytes = 4 * 1024 * 1024

export const webhookConfigSchema = commonAgentSchema.extend({
  /** Address that gets the messages by POST. */
  url: endpointUrlSchema,
  /** Secret that signs requests (Standard Webhooks). */
  secret: z
    .string()
    .refine(
      secret => readWebhookKey(secret).length > 0,
      'must be some text, or "whsec_" followed by base64, for example from: openssl rand -base64 32',
    ),
  /** `message` sends one message; `conversation` is for a runtime that takes and gives message envelopes. */
  format: z.enum(['message', 'conversation']).default('message'),
})

type Webhook = ReturnType<typeof readWebhook>

/** An agent in any language behind one URL (Standard Webhooks 1.0.0). */
export const webhookKind = defineAgentKind({
  usage: '"webhook" (with url and secret)',
  uses: /^webhook$/,
  schema: webhookConfigSchema,
  async open(config, opening) {
    const webhook = readWebhook(config, opening)
    return { agent: { handle: (message, context) => handlers[webhook.format](webhook, message, context) } }
  },
})

function readWebhook(config: z.output<typeof webhookConfigSchema>, { name, platform }: Opening) {
  const { url, secret, deadline, format } = config
  return {
    name,
    url,
    format,
    key: readWebhookKey(secret),
    // A request that ends before the turn's own deadline is Unavailable, and therefore tried again.
    timeoutMs: Math.floor(parseDuration(deadline) * 0.9),
    fetch: platform.fetchFor(new URL(url).origin),
    now: () => platform.now(),
  }
}

type Handler = (
  webhook: Webhook,
  message: NormalizedMessage,
  context: AgentContext,
) => Promise<PartialResponse | undefined>

const handlers: Readonly<Record<Webhook['format'], Handler>> = {
  async message(webhook, message, context) {
    const answer = await postBody(webhook, formatRequestBody(message, context), { message, context })
    return readWebhookReply(answer, webhook.now())
  },
  async conversation(webhook, message, context) {
    const request = describeConversation(webhook.name, message, describeMoment(context))
    const answer = await postBody(webhook, JSON.stringify(request), { message, context })
    const result = readWebhookAnswer(answer, webhook.now())
    return result === undefined ? undefined : readConversationResult(request, result)
  },
}

interface WebhookTurn {
  readonly message: NormalizedMessage
  readonly context: AgentContext
}

function postBody(webhook: Webhook, body: string, { message, context }: WebhookTurn) {
  const id = nameTurn(webhook.name, message, context)
  return webhook.fetch(webhook.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(context.traceparent !== undefined && { traceparent: context.traceparent }),
      ...signWebhook({ id, now: webhook.now(), body }, webhook.key),
    },
    body,
    signal: context.signal,
    timeoutMs: webhook.timeoutMs,
    maxBytes: maxReplyBytes,
    redirects: 0,
  })
}

/** The same for every try of one turn, so that the far side can drop repeats; ids of peers alone are not unique. */
function nameTurn(agent: string, message: NormalizedMessage, { correlationId }: AgentContext): string {
  const turn = JSON.stringify([correlationId, agent, message.received_via, message.id])
  return `msg_${createHash('sha256').update(turn).digest('hex').slice(0, 32)}`
}

function formatRequestBody(message: NormalizedMessage, context: AgentContext): string {
  const told = { ...message, ...describeMoment(context) }
  const whole = JSON.stringify(told)
  if (Buffer.byteLength(whole) <= maxRequestBytes) return whole
  const withoutRaw = JSON.stringify({ ...told, raw: undefined })
  if (Buffer.byteLength(withoutRaw) <= maxRequestBytes) return withoutRaw
  throw new Error(`The message is larger than the ${maxRequestBytes} bytes a webhook is sent`)
}
