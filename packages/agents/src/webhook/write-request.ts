import { createHmac } from 'node:crypto'
import type { AgentContext, HistoricalMessage, Json, NormalizedMessage, Part, ToolCallPart } from '@postern/core'
import { isFilePart, isJsonObject, parseJsonText, plainTextOf } from '@postern/core'
import type { AgentMessageEnvelope, ConversationRequest } from '@postern/transcript'
import { buildTextEnvelope, buildToolCallEnvelope, buildToolResultEnvelope } from '@postern/transcript'

/** Most steps in one turn. */
const maxTurns = 20

/** What a local agent reads from its context, for a remote one. */
interface TurnMoment {
  /** What was noticed about the message, such as `hidden_text`. */
  readonly flags?: readonly string[]
  /** Index of the last turn of the history's stable head, where a prompt cache may break. */
  readonly cache_breakpoint_after?: number
}

export function describeMoment({ flags = [], history }: Pick<AgentContext, 'flags' | 'history'>): TurnMoment {
  const { cacheBreakpointAfter } = history()
  return {
    ...(flags.length > 0 && { flags }),
    ...(cacheBreakpointAfter !== undefined && { cache_breakpoint_after: cacheBreakpointAfter }),
  }
}

/** What another runtime is given of a turn (`agents_api_conversation_runner`): the past and the message as envelopes, the message itself in `payload`. */
export function describeConversation(
  agent: string,
  message: NormalizedMessage,
  { flags, cache_breakpoint_after: stable = -1 }: TurnMoment = {},
): ConversationRequest {
  const { history = [], raw: _, ...rest } = message
  const said = { role: 'user' as const, sender: message.sender, parts: message.parts, timestamp: message.received_at }
  return {
    messages: [...history, { ...said, id: message.id }].flatMap((turn, index) =>
      index === stable ? markLast(writeTurn(turn)) : writeTurn(turn),
    ),
    tools: [],
    // The runtime has its own.
    provider: '',
    model: '',
    mode: 'chat',
    payload: { agent, message: parseJsonText(JSON.stringify(rest)) as Json, ...(flags && { flags: [...flags] }) },
    max_turns: maxTurns,
    single_turn: false,
  }
}

/** A prompt cache may end after it. */
function markLast(envelopes: readonly AgentMessageEnvelope[]): readonly AgentMessageEnvelope[] {
  const last = envelopes.at(-1)
  return last ? [...envelopes.slice(0, -1), { ...last, metadata: { ...last.metadata, cache_breakpoint: true } }] : []
}

function writeTurn(turn: HistoricalMessage): readonly AgentMessageEnvelope[] {
  const { role, sender, parts, timestamp, id } = turn
  const words = plainTextOf(parts.filter(part => part.kind !== 'tool_call'))
  const files = parts.filter(isFilePart)
  const { address, verified, auth_method } = sender
  const proof = { ...(verified !== undefined && { verified }), ...(auth_method && { auth_method }) }
  const metadata = { sender: address, ...proof, ...(files.length > 0 && { files: files.map(nameFile) }) }
  const text = { ...buildTextEnvelope(role, words, metadata), ...(id !== undefined && { id }), created_at: timestamp }
  return [...(words !== '' || files.length > 0 ? [text] : []), ...parts.filter(isCall).flatMap(writeCall)]
}

const isCall = (part: Part): part is ToolCallPart => part.kind === 'tool_call'

function nameFile(part: Part): Json {
  const { name, mime } = part as { readonly name?: string; readonly mime?: string }
  return { ...(name !== undefined && { name }), ...(mime !== undefined && { mime }) }
}

function writeCall({ id, name, args, result, error }: ToolCallPart): readonly AgentMessageEnvelope[] {
  const metadata = { tool_call_id: id }
  const parameters = (isJsonObject(args) ? args : {}) as {
    [name: string]: Json
  }
  const call = buildToolCallEnvelope({ content: '', tool_name: name, parameters, turn: 1, metadata })
  if (result === undefined && error === undefined) return [call]
  const payload = error ? { success: false, error: error.message } : { success: true, tool_data: result as Json }
  const content = error?.message ?? (typeof result === 'string' ? result : JSON.stringify(result))
  return [call, buildToolResultEnvelope({ content, tool_name: name, payload, metadata })]
}

const prefix = 'whsec_'

/** The key of a Standard Webhooks secret: `whsec_` + base64, or any other text as it is. Empty when it is neither. */
export function readWebhookKey(secret: string): Uint8Array {
  if (!secret.startsWith(prefix)) return Buffer.from(secret, 'utf8')
  const encoded = secret.slice(prefix.length)
  const key = Buffer.from(encoded, 'base64')
  const isBase64 = key.toString('base64').replace(/=+$/, '') === encoded.replace(/=+$/, '')
  return isBase64 ? key : new Uint8Array()
}

interface SignedWebhook {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly body: string
}

/** The headers that prove who sent `body` and when (Standard Webhooks 1.0.0, signature scheme). */
export function signWebhook({ id, now, body }: SignedWebhook, key: Uint8Array): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now / 1_000))
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
