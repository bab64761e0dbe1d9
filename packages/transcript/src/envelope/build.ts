// Builds `agents-api.message` envelopes, merges neighbours of one role, and finds orphaned tool calls.
import type { Json } from '@postern/message'
import type { JsonMap } from '../json/difference.ts'
import type { AgentMessageEnvelope, EnvelopeType, ProviderMessage } from './envelope.ts'
import { envelopeSchemaName, envelopeVersion } from './envelope.ts'
import { normalizeEnvelope } from './normalize.ts'

type EnvelopeMembers = Pick<AgentMessageEnvelope, 'role' | 'content'> &
  Partial<Pick<AgentMessageEnvelope, 'payload' | 'metadata'>>

/** Builds an envelope of any type and validates it like one from outside. @throws the Rejection of `normalizeEnvelope` */
function buildEnvelope(type: EnvelopeType, members: EnvelopeMembers): AgentMessageEnvelope {
  return normalizeEnvelope({ schema: envelopeSchemaName, version: envelopeVersion, type, payload: {}, ...members })
}

export function buildTextEnvelope(role: string, content: Json, metadata: JsonMap = {}): AgentMessageEnvelope {
  return buildEnvelope('text', { role, content, metadata })
}

interface ToolCallMembers {
  readonly content: Json
  readonly tool_name: string
  readonly parameters: JsonMap
  readonly turn: number
  readonly metadata?: JsonMap | undefined
}

export function buildToolCallEnvelope(members: ToolCallMembers): AgentMessageEnvelope {
  const { content, tool_name, parameters, turn, metadata = {} } = members
  return buildEnvelope('tool_call', { role: 'assistant', content, payload: { tool_name, parameters, turn }, metadata })
}

interface ToolResultMembers {
  readonly content: Json
  readonly tool_name: string
  readonly payload?: JsonMap | undefined
  readonly metadata?: JsonMap | undefined
}

/** Builds the result of a tool. Its role is `user`, like in the builder of agents-api. In the transcript, its role is `tool`. */
export function buildToolResultEnvelope(members: ToolResultMembers): AgentMessageEnvelope {
  const { content, tool_name, payload = {}, metadata = {} } = members
  return buildEnvelope('tool_result', { role: 'user', content, payload: { ...payload, tool_name }, metadata })
}

/** Builds the placeholder that replaces a tool's result until somebody has approved the call. */
export function buildApprovalEnvelope(content: Json, payload: JsonMap, metadata: JsonMap = {}): AgentMessageEnvelope {
  return buildEnvelope('approval_required', { role: 'tool', content, payload, metadata })
}

/** Builds a question of the agent. The user's next message answers it. */
export function buildQuestionEnvelope(
  content: Json,
  payload: JsonMap = {},
  metadata: JsonMap = {},
): AgentMessageEnvelope {
  return buildEnvelope('input_required', { role: 'tool', content, payload, metadata })
}

/**
 * Merges neighbours of one role, for a provider that rejects two messages of one role in a row. They become one `multimodal_part` whose
 * `payload.parts` has the originals unchanged. A second run changes nothing. @throws Rejection as `normalizeEnvelope`
 */
export function coalesceEnvelopes(values: readonly unknown[]): readonly AgentMessageEnvelope[] {
  const groups: AgentMessageEnvelope[][] = []
  for (const value of values) {
    const envelope = normalizeEnvelope(value)
    const lastGroup = groups.at(-1)
    if (lastGroup?.[0]?.role === envelope.role) lastGroup.push(envelope)
    else groups.push([envelope])
  }
  return groups.map(group => mergeGroup(group))
}

function mergeGroup(group: readonly AgentMessageEnvelope[]): AgentMessageEnvelope {
  const [firstRow] = group
  if (!firstRow) throw new TypeError('a group has at least one message')
  if (group.length === 1) return firstRow
  const texts = group.map(({ content }) => textOfEnvelopeContent(content)).filter(text => text !== '')
  return buildEnvelope('multimodal_part', {
    role: firstRow.role,
    content: texts.join('\n\n'),
    payload: { parts: group },
    metadata: firstRow.metadata,
  })
}

/** Reads the text of content that consists of blocks, from their `text` members. */
export function textOfEnvelopeContent(content: Json): string {
  if (typeof content === 'string') return content
  if (Array.isArray(content))
    return content
      .map(textOfEnvelopeContent)
      .filter(text => text !== '')
      .join('\n\n')
  const text = content !== null && typeof content === 'object' ? (content as { text?: Json }).text : undefined
  return typeof text === 'string' ? text : ''
}

/**
 * Projects an envelope to a message for a model. The metadata gets the type and the members of the payload that it lacks. Id and times are omitted. The projection cannot be reversed. @throws Rejection as `normalizeEnvelope`
 */
export function toProviderMessage(value: unknown): ProviderMessage {
  const envelope = normalizeEnvelope(value)
  const { role, content, metadata, payload } = envelope
  if (!needsMetadata(envelope)) return { role, content }
  return { role, content, metadata: { ...payload, ...metadata, type: envelope.type } }
}

export function toProviderMessages(values: readonly unknown[]): readonly ProviderMessage[] {
  return values.map(toProviderMessage)
}

function needsMetadata({ type, payload, metadata }: AgentMessageEnvelope): boolean {
  return type !== 'text' || Object.keys(payload).length > 0 || Object.keys(metadata).length > 0
}

export interface OrphanFinding {
  readonly code: 'orphan_tool_call' | 'orphan_tool_result'
  readonly index: number
  readonly tool_name: string | undefined
  readonly tool_call_id: string | undefined
}

/**
 * Finds calls without a result and results without a call, by ascending index. Both are paired by `metadata.tool_call_id` if they have one,
 * otherwise by `payload.tool_name`, first in, first out.
 * @throws Rejection as `normalizeEnvelope`
 */
export function findOrphanEnvelopes(values: readonly unknown[]): readonly OrphanFinding[] {
  const envelopes = values.map(value => normalizeEnvelope(value))
  const openCalls = new Map<string, number[]>()
  const orphans: OrphanFinding[] = []
  for (const [index, envelope] of envelopes.entries()) {
    const key = keyOfPair(envelope)
    if (envelope.type === 'tool_call') openCalls.set(key, [...(openCalls.get(key) ?? []), index])
    if (envelope.type !== 'tool_result' || openCalls.get(key)?.shift() !== undefined) continue
    orphans.push(describeOrphan('orphan_tool_result', envelope, index))
  }
  for (const index of [...openCalls.values()].flat()) {
    orphans.push(describeOrphan('orphan_tool_call', envelopes[index] as AgentMessageEnvelope, index))
  }
  return orphans.toSorted((a, b) => a.index - b.index)
}

/** Returns the list without its orphans, for a model. The stored list keeps them. */
export function pruneOrphanEnvelopes(values: readonly unknown[]): readonly AgentMessageEnvelope[] {
  const orphans = new Set(findOrphanEnvelopes(values).map(({ index }) => index))
  return values.map(value => normalizeEnvelope(value)).filter((_, index) => !orphans.has(index))
}

function keyOfPair({ metadata, payload }: AgentMessageEnvelope): string {
  const { tool_call_id } = metadata
  if (typeof tool_call_id === 'string' && tool_call_id !== '') return JSON.stringify(['id', tool_call_id])
  return JSON.stringify(['name', payload.tool_name])
}

function describeOrphan(code: OrphanFinding['code'], envelope: AgentMessageEnvelope, index: number): OrphanFinding {
  const { metadata, payload } = envelope
  return { code, index, tool_name: textOrNone(payload.tool_name), tool_call_id: textOrNone(metadata.tool_call_id) }
}

function textOrNone(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
