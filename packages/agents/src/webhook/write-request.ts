// Writes and signs the request that a webhook gets for one turn (Standard Webhooks 1.0.0).
import { createHmac } from 'node:crypto'
import type { HistoricalMessage, Json, NormalizedMessage, Part, ToolCallPart } from '@postern/message'
import { isFilePart, isJsonObject, parseJsonText, plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'
import type { AgentMessageEnvelope, ConversationRequest } from '@postern/transcript'
import { buildTextEnvelope, buildToolCallEnvelope, buildToolResultEnvelope } from '@postern/transcript'
import { describePerson } from '../kind/person-data.ts'

/** The maximum number of steps in one turn. */
const maxTurns = 20

/** The facts that a local agent reads from its context, in the form for a remote one. */
export interface TurnDetails {
  /** The flags of the message, such as `hidden_text`. */
  readonly flags?: readonly string[]
  /** The index of the last turn of the history's stable head, where a prompt cache may end. */
  readonly cache_breakpoint_after?: number
  /** The person who speaks; absent if nothing is proven. */
  readonly person?: Json | undefined
  /** Present if everybody may read the conversation. */
  readonly is_public?: true
  /** The time until which the gateway waits for the answer, in ISO 8601. */
  readonly deadline: string
}

export async function describeTurn(
  context: Pick<AgentContext, 'flags' | 'history' | 'person' | 'isPublic'>,
  deadline: string,
): Promise<TurnDetails> {
  const { flags = [], history } = context
  const { cacheBreakpointAfter } = history()
  const { person } = await describePerson(context)
  return {
    deadline,
    ...((await context.isPublic()) && { is_public: true }),
    ...(person && { person: { ...person, addresses: [...person.addresses] } }),
    ...(flags.length > 0 && { flags }),
    ...(cacheBreakpointAfter !== undefined && { cache_breakpoint_after: cacheBreakpointAfter }),
  }
}

/**
 * Describes a turn to another runtime (`agents_api_conversation_runner`): the past and the message as envelopes, and the message itself in
 * `payload`.
 */
export function describeConversation(
  agent: string,
  message: NormalizedMessage,
  { cache_breakpoint_after: stableIndex = -1, flags, ...otherDetails }: Partial<TurnDetails> = {},
): ConversationRequest {
  const { history = [], raw: _, ...members } = message
  const currentTurn = {
    role: 'user' as const,
    sender: message.sender,
    parts: message.parts,
    timestamp: message.received_at,
  }
  return {
    messages: [...history, { ...currentTurn, id: message.id }].flatMap((turn, index) =>
      index === stableIndex ? markLast(writeTurn(turn)) : writeTurn(turn),
    ),
    tools: [],
    // The runtime chooses its own provider.
    provider: '',
    model: '',
    mode: 'chat',
    payload: {
      agent,
      message: parseJsonText(JSON.stringify(members)) as Json,
      ...(flags && { flags: [...flags] }),
      ...otherDetails,
    },
    max_turns: maxTurns,
    single_turn: false,
  }
}

/** Marks the last envelope, after which a prompt cache may end. */
function markLast(envelopes: readonly AgentMessageEnvelope[]): readonly AgentMessageEnvelope[] {
  const last = envelopes.at(-1)
  return last ? [...envelopes.slice(0, -1), { ...last, metadata: { ...last.metadata, cache_breakpoint: true } }] : []
}

function writeTurn(turn: HistoricalMessage): readonly AgentMessageEnvelope[] {
  const { role, sender, parts, timestamp, id } = turn
  const plainText = plainTextOf(parts.filter(part => part.kind !== 'tool_call'))
  const files = parts.filter(isFilePart)
  const { address, verified, auth_method } = sender
  const proof = { ...(verified !== undefined && { verified }), ...(auth_method && { auth_method }) }
  const metadata = { sender: address, ...proof, ...(files.length > 0 && { files: files.map(describeFile) }) }
  const textEnvelope = {
    ...buildTextEnvelope(role, plainText, metadata),
    ...(id !== undefined && { id }),
    created_at: timestamp,
  }
  return [...(plainText !== '' || files.length > 0 ? [textEnvelope] : []), ...parts.filter(isCall).flatMap(writeCall)]
}

const isCall = (part: Part): part is ToolCallPart => part.kind === 'tool_call'

function describeFile(part: Part): Json {
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

interface SignedWebhook {
  readonly id: string
  /** The time of the request, ms since the epoch. */
  readonly now: number
  readonly body: string
}

/** Signs a request. Returns the headers that prove who sent `body` and when (Standard Webhooks 1.0.0, signature scheme). */
export function signWebhook({ id, now, body }: SignedWebhook, key: Uint8Array): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now / 1_000))
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
