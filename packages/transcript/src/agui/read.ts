import type { Json } from '@postern/core'
import { parseJsonText } from '@postern/core'
import type { Reading, TranscriptDraft } from '../codec/dialect.ts'
import { argsOf, findCallName } from '../codec/tool-entry.ts'
import { readEntryDecision } from '../entry/decision.ts'
import { contentOfText, type EntryTool } from '../entry/entry.ts'
import type { EntryKind, EntryRole } from '../entry/kind.ts'
import { isJsonMap } from '../json/difference.ts'
import type { AguiMessage, AguiPart, AguiRole, AguiToolCall } from './message.ts'
import { readAguiParts } from './parts.ts'
import { readAguiUsage } from './usage.ts'

interface Place {
  readonly kind: EntryKind
  readonly role: EntryRole
}

const placeOfRole: Record<AguiRole, Place> = {
  user: { kind: 'text', role: 'user' },
  assistant: { kind: 'text', role: 'assistant' },
  tool: { kind: 'tool_result', role: 'tool' },
  system: { kind: 'system', role: 'system' },
  developer: { kind: 'developer', role: 'developer' },
  activity: { kind: 'activity', role: 'system' },
  reasoning: { kind: 'reasoning', role: 'assistant' },
}

/** A message as entries: its text, then each of its calls. Only the first has the message's id. */
export function readAguiDrafts(
  message: AguiMessage,
  reading: Reading,
): readonly [TranscriptDraft, ...TranscriptDraft[]] {
  const shared = readShared(message)
  const calls = (message.toolCalls ?? []).map(call => ({ ...shared, ...readAguiCall(call) }))
  const [first, ...rest] = calls
  const isOnlyCalls = first !== undefined && (message.content === undefined || message.content === '')
  const [head, ...tail]: readonly [TranscriptDraft, ...TranscriptDraft[]] = isOnlyCalls
    ? [first, ...rest]
    : [
        { ...shared, ...placeOfRole[message.role], ...readContent(message), tool: readResult(message, reading) },
        ...calls,
      ]
  const { usage, decided_by } = message.metadata ?? {}
  const known = { usage: readAguiUsage(usage), decided_by: readEntryDecision(decided_by) }
  return [{ ...head, native_id: message.id, ...known }, ...tail]
}

type Shared = Pick<TranscriptDraft, 'agent_key' | 'run_id' | 'stage' | 'latency_ms'>

function readShared({ role, name, metadata = {} }: AguiMessage): { [Name in keyof Shared]: Shared[Name] | undefined } {
  const { run_id, stage, latency_ms } = metadata
  return {
    agent_key: role === 'user' ? undefined : name,
    run_id: typeof run_id === 'string' ? run_id : undefined,
    stage: typeof stage === 'string' ? stage : undefined,
    latency_ms: typeof latency_ms === 'number' ? latency_ms : undefined,
  }
}

function readContent({ content }: AguiMessage): Pick<TranscriptDraft, 'content'> {
  if (isJsonMap(content)) return { content: { value: content } }
  return { content: { parts: [...readAguiParts((content ?? '') as string | readonly AguiPart[])] } }
}

function readResult({ toolCallId, error }: AguiMessage, reading: Reading): EntryTool | undefined {
  if (toolCallId === undefined) return undefined
  return {
    call_id: toolCallId,
    name: findCallName(toolCallId, reading),
    ...(error !== undefined && { error: { message: error }, success: false }),
  }
}

/** If the arguments are no JSON object, the call is marked as invalid and their text is residue. */
function readAguiCall({ id, function: called }: AguiToolCall): TranscriptDraft {
  const args = parseArguments(called.arguments)
  return {
    kind: 'tool_call',
    role: 'assistant',
    content: contentOfText(''),
    tool: {
      call_id: id,
      name: called.name,
      args: argsOf(args),
      ...(!isJsonMap(args) && { is_invalid: true as const }),
    },
  }
}

function parseArguments(text: string): Json | undefined {
  try {
    return parseJsonText(text) as Json
  } catch {
    return undefined
  }
}
