// Translates between `ISwarmMessage` and transcript entries.
import type { Json } from '@postern/message'
import { createCodec } from '../codec/create-codec.ts'
import type { Dialect, ReadContext, ReadPosition, TranscriptDraft } from '../codec/dialect.ts'
import { createMarkerFunctions } from '../codec/dialect.ts'
import { argsOf, countTextAndCalls, findCallName, isCallEntry, resultTextOf } from '../codec/tool-entry.ts'
import type { EntryBody, EntryContent } from '../entry/entry.ts'
import { contentOfText, readEntryDecision, textOfContent, writeEntryDecision } from '../entry/entry.ts'
import type { EntryKind } from '../entry/kind.ts'
import type { SwarmImage, SwarmMessage, SwarmRole, SwarmToolCall } from './message.ts'
import { encodeSwarmImages, listInlineImages, parseSwarmMessage, readSwarmImage } from './message.ts'

const draftOfRole: Record<SwarmRole, Pick<TranscriptDraft, 'kind' | 'role'>> = {
  user: { kind: 'text', role: 'user' },
  assistant: { kind: 'text', role: 'assistant' },
  tool: { kind: 'tool_result', role: 'tool' },
  system: { kind: 'system', role: 'system' },
  developer: { kind: 'developer', role: 'developer' },
  flush: { kind: 'flush', role: 'marker' },
  resque: { kind: 'rescue', role: 'marker' },
}

/** Reads a swarm message as entries. The first entry is its text, and each call is one more entry. */
function readSwarmDrafts(
  message: SwarmMessage,
  reading: ReadPosition,
): readonly [TranscriptDraft, ...TranscriptDraft[]] {
  const calls = (message.tool_calls ?? []).map(call => readCall(call, message))
  const textDraft = readTextDraft(message, reading)
  const [firstCall, ...furtherCalls] = calls
  return firstCall && message.content === '' && message.role === 'assistant'
    ? [firstCall, ...furtherCalls]
    : [textDraft, ...calls]
}

function readTextDraft(message: SwarmMessage, reading: ReadPosition): TranscriptDraft {
  const { role, mode, tool_call_id, agentName, content } = message
  // The system writes a user's row in tool mode on behalf of the user.
  const isStandIn = role === 'user' && mode === 'tool'
  const call_id = role === 'tool' ? (tool_call_id ?? reading.context.newId()) : undefined
  return {
    ...(isStandIn ? ({ kind: 'system', role: 'system' } as const) : draftOfRole[role]),
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
  const textContent = contentOfText(content)
  return 'parts' in textContent ? { parts: [...textContent.parts, ...files] } : textContent
}

function readCall({ id, function: calledFunction }: SwarmToolCall, { agentName, mode }: SwarmMessage): TranscriptDraft {
  return {
    kind: 'tool_call',
    role: 'assistant',
    agent_key: agentName,
    mode,
    content: contentOfText(''),
    tool: { call_id: id, name: calledFunction.name, args: argsOf(calledFunction.arguments) },
  }
}

const roleOfKind: Partial<Record<EntryKind, SwarmRole>> = { rescue: 'resque', flush: 'flush', tool_result: 'tool' }

/** Writes entries as a swarm message, from their canonical members only. */
function writeSwarmMessage([head, ...furtherEntries]: readonly [EntryBody, ...EntryBody[]]): SwarmMessage {
  const calls = [head, ...furtherEntries].filter(isCallEntry).map(writeCall)
  const images = 'parts' in head.content ? listInlineImages(head.content.parts) : []
  const role = roleOfKind[head.kind] ?? (head.role === 'marker' ? 'flush' : head.role)
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

const markerFunctions = createMarkerFunctions<SwarmMessage>('payload')

const dialect: Dialect<SwarmMessage> = {
  format: 'swarm',
  parse: parseSwarmMessage,
  toDrafts: readSwarmDrafts,
  countMessageEntries: entries => countTextAndCalls(entries, isSpeech, isCallEntry),
  toMessage: writeSwarmMessage,
  ...markerFunctions,
  // The marker turns a null or absent payload into an object.
  comparableMembersOf: message => markerFunctions.stripMarker(message) as Json,
}

const codec = createCodec(dialect)

/** An `ISwarmMessage` in a program, whose images may be bytes. */
interface LiveSwarmMessage extends Omit<SwarmMessage, 'images'> {
  readonly images?: readonly SwarmImage[] | undefined
}

/** The codec of messages of a swarm. */
export const swarmCodec = {
  ...codec,
  /** Reads messages whose images may be Blobs, which are read asynchronously. @throws Rejection malformed, naming the member */
  async readLive(messages: readonly LiveSwarmMessage[], context: ReadContext): Promise<readonly EntryBody[]> {
    return codec.read(await Promise.all(messages.map(encodeImages)), context)
  },
}

async function encodeImages(message: LiveSwarmMessage): Promise<LiveSwarmMessage> {
  return message.images ? { ...message, images: await encodeSwarmImages(message.images) } : message
}
