// Reads one envelope as a transcript entry.
import type { Json } from '@postern/message'
import type { ReadPosition, TranscriptDraft } from '../codec/dialect.ts'
import { findOpenCall } from '../codec/tool-entry.ts'
import {
  contentOfText,
  type EntryContent,
  type EntryTool,
  type EntryWait,
  parseEntryTime,
  readEntryDecision,
  readEntryUsage,
} from '../entry/entry.ts'
import type { EntryKind, EntryRole } from '../entry/kind.ts'
import { isJsonMap } from '../json/difference.ts'
import type { AgentMessageEnvelope, EnvelopeType } from './envelope.ts'

const knownRoles: ReadonlySet<string> = new Set(['user', 'assistant', 'tool', 'system', 'developer'])

/** Reads an envelope as an entry, as far as the canonical members can represent it. */
export function readEnvelopeDraft(envelope: AgentMessageEnvelope, reading: ReadPosition): TranscriptDraft {
  const { type, payload, id, created_at } = envelope
  const kind = readKind(envelope)
  const role = readRole(envelope)
  return {
    native_id: id,
    kind,
    role,
    native_role: role === envelope.role ? undefined : envelope.role,
    content: readContent(envelope.content),
    ...(type === 'final_result' && role === 'assistant' && { scope: 'conversation' as const }),
    turn_no: Number.isSafeInteger(payload.turn) ? Number(payload.turn) : undefined,
    tool: readTool(envelope, reading),
    wait: readWait(envelope, reading),
    error: type === 'error' ? { message: textOf(envelope.content) } : undefined,
    usage: readEntryUsage(envelope.metadata.usage),
    decided_by: readEntryDecision(envelope.metadata.decided_by),
    at: created_at === undefined ? undefined : parseEntryTime(created_at),
    native_at: created_at,
  }
}

function readKind({ type, role }: AgentMessageEnvelope): EntryKind {
  if (type === 'text') return role === 'system' || role === 'developer' ? role : 'text'
  if (type === 'multimodal_part') return 'text'
  return type === 'final_result' ? 'final' : type
}

/** Reads the role. A tool's result always has the role `tool`. An unknown role has only the rights of a user. */
function readRole({ type, role }: AgentMessageEnvelope): EntryRole {
  if (type === 'tool_result') return 'tool'
  return knownRoles.has(role) ? (role as EntryRole) : 'user'
}

function readContent(content: Json): EntryContent {
  return typeof content === 'string' ? contentOfText(content) : { value: content }
}

function readTool({ type, payload, metadata }: AgentMessageEnvelope, reading: ReadPosition): EntryTool | undefined {
  if (type !== 'tool_call' && type !== 'tool_result') return undefined
  const name = typeof payload.tool_name === 'string' ? payload.tool_name : undefined
  const call_id = nonEmptyText(metadata.tool_call_id) ?? findCallId(type, name, reading)
  if (type === 'tool_call')
    return { call_id, name, args: isJsonMap(payload.parameters) ? readMap(payload.parameters) : {} }
  const { success, tool_data, error } = payload
  return {
    call_id,
    name,
    ...(typeof success === 'boolean' && { success }),
    ...(tool_data !== undefined && { result: tool_data }),
    ...(typeof error === 'string' && { error: { message: error } }),
  }
}

/** Finds the call that a result without an id ends, which is the first call of its tool without an end. */
function findCallId(type: EnvelopeType, name: string | undefined, reading: ReadPosition): string {
  const openCall = type === 'tool_call' ? undefined : findOpenCall(reading, ({ tool }) => tool?.name === name)
  return openCall ?? reading.context.newId()
}

function readWait(envelope: AgentMessageEnvelope, { context }: ReadPosition): EntryWait | undefined {
  const { type, payload } = envelope
  if (type === 'tool_result') return readDecision(envelope)
  if (type !== 'input_required' && type !== 'approval_required') return undefined
  const expires_at = nonEmptyText(payload.expires_at)
  return {
    id: nonEmptyText(payload.action_id) ?? context.newId(),
    reason: type === 'input_required' ? 'input' : 'approval',
    state: 'open',
    ...(expires_at !== undefined && { expires_at }),
    ...(Object.keys(payload).length > 0 && { action: readMap(payload) }),
  }
}

const decidedStates = ['accepted', 'rejected', 'expired'] as const

/** Reads the result of a decided action as the end of the wait for the approval. */
function readDecision({ metadata }: AgentMessageEnvelope): EntryWait | undefined {
  const id = nonEmptyText(metadata.action_id)
  const state = decidedStates.find(name => name === metadata.action_status)
  return id === undefined || state === undefined ? undefined : { id, reason: 'approval', state }
}

function readMap(map: { readonly [name: string]: Json | undefined }): Record<string, Json> {
  return map as Record<string, Json>
}

function nonEmptyText(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function textOf(content: Json): string {
  return typeof content === 'string' ? content : JSON.stringify(content)
}
