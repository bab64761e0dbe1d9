import type { Json } from '@postern/core'
import type { Reading, TranscriptDraft } from '../codec/dialect.ts'
import { argsOf, findOpenCall } from '../codec/tool-entry.ts'
import { readEntryDecision } from '../entry/decision.ts'
import { contentOfText, type EntryContent, type EntryTool } from '../entry/entry.ts'
import type { EntryKind, EntryRole } from '../entry/kind.ts'
import { isoOfMs, parseEntryTime } from '../entry/time.ts'
import type { StoreMessage } from './message.ts'
import type { StoreMessageType } from './message-types.ts'

interface Place {
  readonly kind: EntryKind
  readonly role: EntryRole
}

const placeOfType: Record<StoreMessageType, Place> = {
  user_message: { kind: 'text', role: 'user' },
  assistant_message: { kind: 'text', role: 'assistant' },
  task: { kind: 'task', role: 'system' },
  action: { kind: 'tool_call', role: 'assistant' },
  observation: { kind: 'tool_result', role: 'tool' },
  error: { kind: 'error', role: 'system' },
  final: { kind: 'final', role: 'assistant' },
  synthesis: { kind: 'synthesis', role: 'assistant' },
  strategic_plan: { kind: 'strategic_plan', role: 'system' },
  suggested_plan: { kind: 'suggested_plan', role: 'system' },
  script_plan: { kind: 'script_plan', role: 'system' },
  script_instruction: { kind: 'script_instruction', role: 'system' },
  delegation: { kind: 'delegation', role: 'assistant' },
  global_observation: { kind: 'global_observation', role: 'system' },
  director_context: { kind: 'director_context', role: 'system' },
  injected_context: { kind: 'injected_context', role: 'developer' },
}

/** A stored message as an entry, as far as the canonical members hold it. */
export function readStoreDraft(message: StoreMessage, reading: Reading): TranscriptDraft {
  const { timestamp, phase_id, turn_id } = message
  return {
    ...placeOfType[message.type],
    content: readStoreContent(message.content),
    tool: readStoreTool(message, reading),
    error: readStoreError(message),
    decided_by: readEntryDecision(message.decided_by),
    agent_key: textOf(message.agent_key) ?? textOf(message.from_manager) ?? textOf(message.from_worker),
    turn_id: textOf(turn_id),
    phase_id: Number.isSafeInteger(phase_id) ? Number(phase_id) : undefined,
    at: readStoreTime(timestamp),
    native_at: typeof timestamp === 'number' || typeof timestamp === 'string' ? timestamp : undefined,
  }
}

function readStoreContent(content: Json | undefined): EntryContent {
  if (content === undefined) return contentOfText('')
  return typeof content === 'string' ? contentOfText(content) : { value: content }
}

/** Seconds since the epoch, with a fraction; another page of the source shows ISO text. */
function readStoreTime(timestamp: Json | undefined): string | undefined {
  if (typeof timestamp === 'number') return isoOfMs(Math.round(timestamp * 1000))
  return typeof timestamp === 'string' ? parseEntryTime(timestamp) : undefined
}

function readStoreTool(message: StoreMessage, reading: Reading): EntryTool | undefined {
  const { newId } = reading.context
  if (message.type === 'action') {
    return { call_id: newId(), name: textOf(message.tool), args: argsOf(message.args) }
  }
  if (message.type === 'delegation') {
    return { call_id: newId(), name: 'delegate', args: argsOf({ worker: message.worker, task: message.task }) }
  }
  return message.type === 'observation' ? { call_id: findAction(message, reading) ?? newId() } : undefined
}

/** An observation does not name its action: it belongs to the first open one of its agent and turn. */
function findAction(message: StoreMessage, reading: Reading): string | undefined {
  const agent = textOf(message.agent_key) ?? reading.context.agent_key
  const turn = textOf(message.turn_id)
  return findOpenCall(reading, call => call.agent_key === agent && call.turn_id === turn)
}

function readStoreError({ type, content, error_type }: StoreMessage): TranscriptDraft['error'] {
  if (type !== 'error') return undefined
  const message = typeof content === 'string' ? content : JSON.stringify(content)
  return { message, type: textOf(error_type) }
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
