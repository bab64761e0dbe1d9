import { isCallEntry, resultTextOf } from '../codec/tool-entry.ts'
import { writeEntryDecision } from '../entry/decision.ts'
import { type EntryBody, textOfContent } from '../entry/entry.ts'
import type { EntryKind, EntryRole } from '../entry/kind.ts'
import { listInlineImages } from './image.ts'
import type { SwarmMessage, SwarmRole, SwarmToolCall } from './message.ts'

const roleOfRole: Record<EntryRole, SwarmRole> = {
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
  system: 'system',
  developer: 'developer',
  marker: 'flush',
}

const roleOfKind: Partial<Record<EntryKind, SwarmRole>> = { rescue: 'resque', flush: 'flush', tool_result: 'tool' }

/** How many entries one swarm message holds: the assistant's text and the calls after it. */
export function countSwarmRun([head, ...rest]: readonly EntryBody[]): number {
  if (!head || head.group_id === undefined || !isSpeech(head)) return 1
  const end = rest.findIndex(entry => entry.group_id !== head.group_id || !isCallEntry(entry))
  return 1 + (end < 0 ? rest.length : end)
}

/** Entries as a swarm message, by their canonical members alone. */
export function writeSwarmMessage([head, ...rest]: readonly [EntryBody, ...EntryBody[]]): SwarmMessage {
  const calls = [head, ...rest].filter(isCallEntry).map(writeCall)
  const images = 'parts' in head.content ? listInlineImages(head.content.parts) : []
  const role = roleOfKind[head.kind] ?? roleOfRole[head.role]
  return {
    role,
    agentName: head.agent_key ?? '',
    content: head.kind === 'tool_result' ? resultTextOf(head) : textOfContent(head.content),
    mode: head.mode ?? (role === 'user' ? 'user' : 'tool'),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(head.kind === 'tool_result' && head.tool && { tool_call_id: head.tool.call_id }),
    ...(images.length > 0 && { images }),
    ...(head.decided_by && { payload: writeEntryDecision(head.decided_by) }),
  }
}

function isSpeech(entry: EntryBody): boolean {
  return isCallEntry(entry) || (entry.kind === 'text' && entry.role === 'assistant')
}

function writeCall({ tool, kind }: EntryBody): SwarmToolCall {
  return {
    id: tool?.call_id ?? '',
    type: 'function',
    function: { name: tool?.name ?? kind, arguments: tool?.args ?? {} },
  }
}
