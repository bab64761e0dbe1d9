import type { Json } from '@postern/core'
import { presentMembers, resultTextOf } from '../codec/tool-entry.ts'
import { writeEntryDecision } from '../entry/decision.ts'
import { type EntryBody, textOfContent } from '../entry/entry.ts'
import type { EntryKind } from '../entry/kind.ts'
import { isJsonMap, type JsonMap } from '../json/difference.ts'
import type { AguiMessage, AguiToolCall } from './message.ts'
import { writeAguiParts } from './parts.ts'
import { writeAguiUsage } from './usage.ts'

/** The activity types of plans, which are no AG-UI messages. Interrupts, state and steps of a running stream are events and no messages. */
export const planActivityTypes: Readonly<Record<string, string>> = {
  strategic_plan: 'plan.strategic',
  suggested_plan: 'plan.suggested',
  script_plan: 'plan.script',
  script_instruction: 'plan.instruction',
}

const spokenKinds: ReadonlySet<EntryKind> = new Set(['text', 'delta', 'final', 'input_required', 'policy'])

/** How many entries one message holds: the assistant's text and the calls after it. */
export function countAguiRun([head, ...rest]: readonly EntryBody[]): number {
  if (!head || head.group_id === undefined || !isAssistant(head)) return 1
  const end = rest.findIndex(entry => entry.group_id !== head.group_id || entry.kind !== 'tool_call' || !entry.tool)
  return 1 + (end < 0 ? rest.length : end)
}

/** Entries as a message, from their canonical members alone. */
export function writeAguiMessage([head, ...rest]: readonly [EntryBody, ...EntryBody[]]): AguiMessage {
  const { run_id, stage, latency_ms } = head
  const usage = writeAguiUsage(head.usage)
  const decided = writeEntryDecision(head.decided_by)
  const metadata = { ...head.metadata, ...presentMembers({ run_id, stage, latency_ms, usage, ...decided }) }
  const named = head.role === 'user' ? undefined : head.agent_key
  return {
    id: head.native_id ?? head.entry_id,
    ...writeBody(head, rest),
    ...(named !== undefined && { name: named }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}

function isAssistant(entry: EntryBody): boolean {
  if (entry.kind === 'tool_call') return entry.tool !== undefined
  return spokenKinds.has(entry.kind) && entry.role === 'assistant'
}

function writeBody(head: EntryBody, rest: readonly EntryBody[]): Pick<AguiMessage, 'role' | 'content'> {
  const { kind, role, content } = head
  if (kind === 'tool_result' && head.tool) return writeResult(head, head.tool.call_id)
  if (isAssistant(head)) return writeAssistant([head, ...rest])
  if (kind === 'input_required' || kind === 'policy') return { role: 'assistant', content: textOfContent(content) }
  if (kind === 'text' && role === 'user') return { role, content: writeUserContent(head) }
  if (kind === 'system' || kind === 'developer' || kind === 'reasoning')
    return { role: kind, content: textOfContent(content) }
  return writeActivity(head)
}

function writeUserContent({ content }: EntryBody): Json {
  return 'parts' in content ? writeAguiParts(content.parts) : textOfContent(content)
}

/** Assistant content is a string in 1.0, so a file is a link or its name. */
function writeAssistant(run: readonly EntryBody[]): Pick<AguiMessage, 'role' | 'content'> {
  const toolCalls = run.filter(({ kind }) => kind === 'tool_call').map(writeAguiCall)
  const content = run
    .map(({ content: said }) => textOfContent(said))
    .filter(text => text !== '')
    .join('\n\n')
  return { role: 'assistant', content, ...(toolCalls.length > 0 && { toolCalls }) }
}

function writeAguiCall({ tool }: EntryBody): AguiToolCall {
  const named = { name: tool?.name ?? '', arguments: JSON.stringify(tool?.args ?? {}) }
  return { id: tool?.call_id ?? '', type: 'function', function: named }
}

function writeResult(entry: EntryBody, toolCallId: string): Pick<AguiMessage, 'role' | 'content'> {
  const { content, tool } = entry
  const hasFiles = 'parts' in content && content.parts.some(part => part.kind !== 'text')
  return {
    role: 'tool',
    toolCallId,
    content: hasFiles ? writeAguiParts(content.parts) : resultTextOf(entry),
    ...(tool?.error && { error: tool.error.message }),
  } as Pick<AguiMessage, 'role' | 'content'>
}

function writeActivity({ kind, content, tool }: EntryBody): Pick<AguiMessage, 'role' | 'content'> {
  const said = 'value' in content ? content.value : textOfContent(content)
  const body: JsonMap = isJsonMap(said) ? said : presentMembers({ content: said, ...tool?.args })
  return { role: 'activity', activityType: planActivityTypes[kind] ?? kind, content: body } as Pick<
    AguiMessage,
    'role' | 'content'
  >
}
