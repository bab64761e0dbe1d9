import type { Reading, TranscriptDraft } from '../codec/dialect.ts'
import { argsOf, findCallName } from '../codec/tool-entry.ts'
import { readEntryDecision } from '../entry/decision.ts'
import { contentOfText, type EntryContent } from '../entry/entry.ts'
import type { EntryKind, EntryRole } from '../entry/kind.ts'
import { readSwarmImage } from './image.ts'
import type { SwarmMessage, SwarmRole, SwarmToolCall } from './message.ts'

interface Place {
  readonly kind: EntryKind
  readonly role: EntryRole
}

const placeOfRole: Record<SwarmRole, Place> = {
  user: { kind: 'text', role: 'user' },
  assistant: { kind: 'text', role: 'assistant' },
  tool: { kind: 'tool_result', role: 'tool' },
  system: { kind: 'system', role: 'system' },
  developer: { kind: 'developer', role: 'developer' },
  flush: { kind: 'flush', role: 'marker' },
  resque: { kind: 'rescue', role: 'marker' },
}

/** A swarm message as entries: its text, then each of its calls. */
export function readSwarmDrafts(
  message: SwarmMessage,
  reading: Reading,
): readonly [TranscriptDraft, ...TranscriptDraft[]] {
  const calls = (message.tool_calls ?? []).map(call => readCall(call, message))
  const said = readSaid(message, reading)
  const [first, ...rest] = calls
  return first && message.content === '' && message.role === 'assistant' ? [first, ...rest] : [said, ...calls]
}

function readSaid(message: SwarmMessage, reading: Reading): TranscriptDraft {
  const { role, mode, tool_call_id, agentName, content } = message
  // A user's row in tool mode is the system in the user's place.
  const isStandIn = role === 'user' && mode === 'tool'
  const call_id = role === 'tool' ? (tool_call_id ?? reading.context.newId()) : undefined
  return {
    ...(isStandIn ? ({ kind: 'system', role: 'system' } as const) : placeOfRole[role]),
    native_role: isStandIn || role === 'resque' || role === 'flush' ? role : undefined,
    agent_key: agentName,
    mode,
    content: readSwarmContent(message),
    tool: call_id === undefined ? undefined : { call_id, name: findCallName(call_id, reading) },
    error: role === 'resque' ? { message: content } : undefined,
    decided_by: readEntryDecision(message.payload?.decided_by),
  }
}

function readSwarmContent({ content, images = [] }: SwarmMessage): EntryContent {
  const files = images.map(readSwarmImage).filter(part => part !== undefined)
  const said = contentOfText(content)
  return 'parts' in said ? { parts: [...said.parts, ...files] } : said
}

function readCall({ id, function: called }: SwarmToolCall, { agentName, mode }: SwarmMessage): TranscriptDraft {
  return {
    kind: 'tool_call',
    role: 'assistant',
    agent_key: agentName,
    mode,
    content: contentOfText(''),
    tool: { call_id: id, name: called.name, args: argsOf(called.arguments) },
  }
}
