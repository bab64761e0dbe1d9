// Sends each message to the operator's webhook and reads the reply as the answer.
import { createHash } from 'node:crypto'
import type { Json, NormalizedMessage, PartialResponse } from '@postern/message'
import { hasWebhookKey, isJsonObject, isoTime, parseDuration, readWebhookKey, webhookSecretFix } from '@postern/message'
import type { Agent, AgentContext, ForgettingContext, ForgottenPerson } from '@postern/pipeline'
import { z } from 'zod'
import { endpointUrlSchema } from '../config/endpoint.ts'
import { AgentFileFetcher } from '../kind/agent-files.ts'
import type { AgentOpenDeps } from '../kind/agent-kind.ts'
import { commonAgentSchema, defineAgentKind } from '../kind/agent-kind.ts'
import { setPersonState } from '../kind/person-data.ts'
import { readConversationResult, readWebhookAnswer, readWebhookReply } from './reply.ts'
import type { TurnDetails } from './write-request.ts'
import { describeConversation, describeTurn, signWebhook } from './write-request.ts'

/** The maximum size of a request, bytes. A larger message is sent without its `raw`. */
const maxRequestBytes = 8 * 1024 * 1024
/** The maximum size of a reply, bytes. */
const maxReplyBytes = 4 * 1024 * 1024

export const webhookConfigSchema = commonAgentSchema.extend({
  /** Address that gets the messages by POST. */
  url: endpointUrlSchema,
  /** Secret that signs requests (Standard Webhooks). */
  secret: z.string().refine(hasWebhookKey, webhookSecretFix),
  /** `message` sends one message; `conversation` is for a runtime that takes and gives message envelopes. */
  format: z.enum(['message', 'conversation']).default('message'),
})

type Webhook = ReturnType<typeof readWebhook>

/** An agent in any language behind one URL (Standard Webhooks 1.0.0). */
export const webhookKind = defineAgentKind({
  useNotation: '"webhook" (with url and secret)',
  usePattern: /^webhook$/,
  schema: webhookConfigSchema,
  async open(config, deps) {
    const webhook = readWebhook(config, deps)
    const handle: Agent['handle'] = (message, context) => handlers[webhook.format](webhook, message, context)
    const forget: Agent['forget'] = (person, context) => sendForget(webhook, person, context)
    return { agent: { handle, ...(config.receives.includes('forget') && { forget }) } }
  },
})

function readWebhook(config: z.output<typeof webhookConfigSchema>, { name, system }: AgentOpenDeps) {
  const { url, secret, deadline, format } = config
  return {
    name,
    url,
    format,
    key: readWebhookKey(secret),
    // A request that times out before the turn's own deadline is Unavailable, so the turn is retried.
    timeoutMs: Math.floor(parseDuration(deadline) * 0.9),
    fetch: system.fetchFor(new URL(url).origin),
    now: () => system.now(),
  }
}

type Handler = (
  webhook: Webhook,
  message: NormalizedMessage,
  context: AgentContext,
) => Promise<PartialResponse | undefined>

const handlers: Readonly<Record<Webhook['format'], Handler>> = {
  async message(webhook, message, context) {
    const body = formatRequestBody(message, await describeTurn(context, deadlineOf(webhook)))
    const reply = readWebhookReply(await sendTurn(webhook, body, { message, context }), webhook.now())
    setPersonState(reply?.personState, context)
    return reply?.response && new AgentFileFetcher(webhook, context, message).attachToResponse(reply.response)
  },
  async conversation(webhook, message, context) {
    const request = describeConversation(webhook.name, message, await describeTurn(context, deadlineOf(webhook)))
    const answer = await sendTurn(webhook, JSON.stringify(request), { message, context })
    const result = readWebhookAnswer(answer, webhook.now())
    if (result === undefined) return undefined
    const response = await readConversationResult(request, result)
    setPersonState(isJsonObject(result) ? (result.person_state as Json) : undefined, context)
    return response
  },
}

/** Returns the time at which the request ends, in ISO 8601. The request is sent at once. */
function deadlineOf({ now, timeoutMs }: Pick<Webhook, 'now' | 'timeoutMs'>): string {
  return isoTime(now() + timeoutMs)
}

interface WebhookTurn {
  readonly message: NormalizedMessage
  readonly context: AgentContext
}

/** Asks the webhook to forget a person. The gateway repeats the request until the webhook answers 200 or 204. */
async function sendForget(webhook: Webhook, person: ForgottenPerson, { id, signal }: ForgettingContext): Promise<void> {
  const answer = await sendSigned(webhook, JSON.stringify({ kind: 'forget', ...person }), { id, signal })
  readWebhookAnswer(answer, webhook.now())
}

function sendTurn(webhook: Webhook, body: string, { message, context }: WebhookTurn) {
  const { traceparent, signal } = context
  return sendSigned(webhook, body, { id: turnIdOf(webhook.name, message, context), signal, traceparent })
}

interface WebhookCall {
  readonly id: string
  readonly signal: AbortSignal
  readonly traceparent?: string | undefined
}

function sendSigned(webhook: Webhook, body: string, { id, signal, traceparent }: WebhookCall) {
  return webhook.fetch(webhook.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(traceparent !== undefined && { traceparent }),
      ...signWebhook({ id, now: webhook.now(), body }, webhook.key),
    },
    body,
    signal,
    timeoutMs: webhook.timeoutMs,
    maxBytes: maxReplyBytes,
    redirects: 0,
  })
}

/** Returns an id of the turn that stays the same in every attempt, so that the receiver can drop repeats. Ids of peers alone are not unique. */
function turnIdOf(agent: string, message: NormalizedMessage, { correlationId }: AgentContext): string {
  const turn = JSON.stringify([correlationId, agent, message.received_via, message.id])
  return `msg_${createHash('sha256').update(turn).digest('hex').slice(0, 32)}`
}

function formatRequestBody(message: NormalizedMessage, details: TurnDetails): string {
  const messageWithDetails = { ...message, ...details }
  const body = JSON.stringify(messageWithDetails)
  if (Buffer.byteLength(body) <= maxRequestBytes) return body
  const bodyWithoutRaw = JSON.stringify({ ...messageWithDetails, raw: undefined })
  if (Buffer.byteLength(bodyWithoutRaw) <= maxRequestBytes) return bodyWithoutRaw
  throw new Error(`The message is larger than the ${maxRequestBytes} bytes a webhook is sent`)
}
