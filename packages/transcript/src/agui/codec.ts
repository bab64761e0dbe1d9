// Translates between AG-UI messages and transcript entries.
import type { Json } from '@postern/message'
import { parseIfJson } from '@postern/message'
import { createCodec } from '../codec/create-codec.ts'
import type { Dialect, ReadPosition, TranscriptDraft } from '../codec/dialect.ts'
import { createMarkerFunctions } from '../codec/dialect.ts'
import { argsOf, countTextAndCalls, findCallName, resultTextOf } from '../codec/tool-entry.ts'
import type { EntryBody, EntryTool } from '../entry/entry.ts'
import { contentOfText, readEntryDecision, textOfContent, writeEntryDecision } from '../entry/entry.ts'
import type { EntryKind } from '../entry/kind.ts'
import { messageIdOf } from '../entry/message-id.ts'
import type { JsonMap } from '../json/difference.ts'
import { isJsonMap, presentMembers } from '../json/difference.ts'
import { hasRoundedInteger } from '../json/rounded-number.ts'
import type { AguiMessage, AguiPart, AguiRole, AguiToolCall } from './message.ts'
import { parseAguiMessage, readAguiParts, readAguiUsage, writeAguiParts, writeAguiUsage } from './message.ts'

const draftsByRole: Record<AguiRole, Pick<TranscriptDraft, 'kind' | 'role'>> = {
  user: { kind: 'text', role: 'user' },
  assistant: { kind: 'text', role: 'assistant' },
  tool: { kind: 'tool_result', role: 'tool' },
  system: { kind: 'system', role: 'system' },
  developer: { kind: 'developer', role: 'developer' },
  activity: { kind: 'activity', role: 'system' },
  reasoning: { kind: 'reasoning', role: 'assistant' },
}

/** Reads a message as entries. The first entry is its text, and each call is one more entry. Only the first entry has the message's id. */
function readAguiDrafts(message: AguiMessage, reading: ReadPosition): readonly [TranscriptDraft, ...TranscriptDraft[]] {
  const sharedFields = readShared(message)
  const calls = (message.toolCalls ?? []).map(call => ({ ...sharedFields, ...readAguiCall(call, reading) }))
  const [firstCall, ...furtherEntries] = calls
  const isOnlyCalls = firstCall !== undefined && (message.content === undefined || message.content === '')
  const [head, ...tail]: readonly [TranscriptDraft, ...TranscriptDraft[]] = isOnlyCalls
    ? [firstCall, ...furtherEntries]
    : [
        { ...sharedFields, ...draftsByRole[message.role], ...readContent(message), tool: readResult(message, reading) },
        ...calls,
      ]
  const { usage, decided_by } = message.metadata ?? {}
  const entryMetadata = { usage: readAguiUsage(usage), decided_by: readEntryDecision(decided_by) }
  return [{ ...head, native_id: message.id, ...entryMetadata }, ...tail]
}

type SharedFields = Pick<TranscriptDraft, 'agent_key' | 'run_id' | 'stage' | 'latency_ms'>

function readShared({ role, name, metadata = {} }: AguiMessage): {
  [Name in keyof SharedFields]: SharedFields[Name] | undefined
} {
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

function readResult({ toolCallId, error }: AguiMessage, reading: ReadPosition): EntryTool | undefined {
  if (toolCallId === undefined) return undefined
  return {
    call_id: toolCallId,
    name: findCallName(toolCallId, reading),
    ...(error !== undefined && { error: { message: error }, success: false }),
  }
}

/** Reads a call. If its arguments are no JSON object, the call is marked as invalid and their text becomes residue. */
function readAguiCall(
  { id, function: calledFunction }: AguiToolCall,
  { context, index }: ReadPosition,
): TranscriptDraft {
  const args = parseIfJson(calledFunction.arguments) as Json | undefined
  if (args !== undefined && hasRoundedInteger(calledFunction.arguments))
    context.report?.({
      code: 'number_rounded',
      message: 'other formats have an integer of the arguments rounded',
      index,
    })
  return {
    kind: 'tool_call',
    role: 'assistant',
    content: contentOfText(''),
    tool: {
      call_id: id,
      name: calledFunction.name,
      args: argsOf(args),
      ...(!isJsonMap(args) && { is_invalid: true as const }),
    },
  }
}

/** The activity types of plans, which AG-UI has no messages for. Interrupts, state and steps of a running stream are events, not messages. */
export const planActivityTypes: Readonly<Record<string, string>> = {
  strategic_plan: 'plan.strategic',
  suggested_plan: 'plan.suggested',
  script_plan: 'plan.script',
  script_instruction: 'plan.instruction',
}

const assistantKinds: ReadonlySet<EntryKind> = new Set(['text', 'delta', 'final', 'input_required', 'policy'])

/** Writes entries as a message, from their canonical members only. */
function writeAguiMessage([head, ...furtherEntries]: readonly [EntryBody, ...EntryBody[]]): AguiMessage {
  const { run_id, stage, latency_ms } = head
  const usage = writeAguiUsage(head.usage)
  const decisionMembers = writeEntryDecision(head.decided_by)
  const metadata = { ...head.metadata, ...presentMembers({ run_id, stage, latency_ms, usage, ...decisionMembers }) }
  const agentName = head.role === 'user' ? undefined : head.agent_key
  return {
    id: messageIdOf(head),
    ...writeBody(head, furtherEntries),
    ...(agentName !== undefined && { name: agentName }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}

function isAssistant(entry: EntryBody): boolean {
  if (entry.kind === 'tool_call') return entry.tool !== undefined
  return assistantKinds.has(entry.kind) && entry.role === 'assistant'
}

type AguiBody = Pick<AguiMessage, 'role' | 'content'>

function writeBody(head: EntryBody, furtherEntries: readonly EntryBody[]): AguiBody {
  const { kind, role, content } = head
  if (kind === 'tool_result' && head.tool) return writeResult(head, head.tool.call_id)
  if (isAssistant(head)) return writeAssistant([head, ...furtherEntries])
  if (kind === 'input_required' || kind === 'policy') return { role: 'assistant', content: textOfContent(content) }
  if (kind === 'text' && role === 'user') return { role, content: writeUserContent(head) }
  if (kind === 'system' || kind === 'developer' || kind === 'reasoning')
    return { role: kind, content: textOfContent(content) }
  return writeActivity(head)
}

function writeUserContent({ content }: EntryBody): Json {
  return 'parts' in content ? writeAguiParts(content.parts) : textOfContent(content)
}

/** Writes an answer of the assistant. Its content is a string in AG-UI 1.0, so a file becomes a link or its name. */
function writeAssistant(run: readonly EntryBody[]): AguiBody {
  const toolCalls = run.filter(({ kind }) => kind === 'tool_call').map(writeAguiCall)
  const content = run
    .map(({ content: otherContent }) => textOfContent(otherContent))
    .filter(text => text !== '')
    .join('\n\n')
  return { role: 'assistant', content, ...(toolCalls.length > 0 && { toolCalls }) }
}

function writeAguiCall({ tool }: EntryBody): AguiToolCall {
  const functionCall = { name: tool?.name ?? '', arguments: JSON.stringify(tool?.args ?? {}) }
  return { id: tool?.call_id ?? '', type: 'function', function: functionCall }
}

function writeResult(entry: EntryBody, toolCallId: string): AguiBody {
  const { content, tool } = entry
  const hasFiles = 'parts' in content && content.parts.some(part => part.kind !== 'text')
  return {
    role: 'tool',
    toolCallId,
    content: hasFiles ? writeAguiParts(content.parts) : resultTextOf(entry),
    ...(tool?.error && { error: tool.error.message }),
  } as AguiBody
}

function writeActivity({ kind, content, tool }: EntryBody): AguiBody {
  const activity = 'value' in content ? content.value : textOfContent(content)
  const body: JsonMap = isJsonMap(activity) ? activity : presentMembers({ content: activity, ...tool?.args })
  return { role: 'activity', activityType: planActivityTypes[kind] ?? kind, content: body } as AguiBody
}

const dialect: Dialect<AguiMessage> = {
  format: 'agui',
  parse: parseAguiMessage,
  toDrafts: readAguiDrafts,
  countMessageEntries: entries =>
    countTextAndCalls(entries, isAssistant, ({ kind, tool }) => kind === 'tool_call' && tool !== undefined),
  toMessage: writeAguiMessage,
  ...createMarkerFunctions<AguiMessage>('metadata'),
  comparableMembersOf({ role, content = '', toolCalls = [], toolCallId, error, activityType }) {
    return { role, content, toolCalls, toolCallId, error, activityType } as Json
  },
}

/** The codec of AG-UI messages, including those with `binary` parts. */
export const aguiCodec = createCodec(dialect)
