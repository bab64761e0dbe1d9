// Translates between the gateway's own messages and answers and transcript entries.
import type { Json, NormalizedMessage, NormalizedResponse, Part, ToolCallPart } from '@postern/message'
import { normalizedMessageSchema, normalizedResponseSchema } from '@postern/message'
import type { EntryRun } from '../codec/create-codec.ts'
import { createCodec } from '../codec/create-codec.ts'
import type { Dialect, ReadPosition, TranscriptDraft } from '../codec/dialect.ts'
import { listClaimedIds, markerOfRun } from '../codec/dialect.ts'
import { argsOf, countUntilResult, findCall, findOpenCall, isCallEntry, resultOfEntry } from '../codec/tool-entry.ts'
import type { EntryBody, EntryTool } from '../entry/entry.ts'
import { contentIsEmpty, contentOfText, decisionOf, readEntryUsage, textOfContent } from '../entry/entry.ts'
import type { EntryKind } from '../entry/kind.ts'
import { isChatVisible, questionKinds, scopeOfKind } from '../entry/kind.ts'
import { groupParts, nameEntries } from '../entry/message-id.ts'
import type { JsonMap } from '../json/difference.ts'
import { diffJson, isJsonMap } from '../json/difference.ts'
import { parseForeign } from '../json/schema.ts'

/** A message to an agent, or an agent's answer, as plain JSON. */
type NormalizedForeign = JsonMap & { readonly id: string; readonly parts: readonly Json[] }

/** Parses a message or an answer of the gateway. @throws Rejection malformed, naming the member */
function parseNormalized(value: unknown): NormalizedForeign {
  const isMessage = isJsonMap(value) && 'received_via' in value
  const parsed = isMessage
    ? parseForeign(normalizedMessageSchema, value, 'message')
    : parseForeign(normalizedResponseSchema, value, 'response')
  const { kind, ...members } = parsed as unknown as NormalizedForeign
  // The schema adds the default kind to a message that names none.
  return isJsonMap(value) && value.kind !== undefined ? { ...members, kind } : members
}

function isNormalizedMessage(message: NormalizedForeign): boolean {
  return 'received_via' in message
}

/** The separator between the ids of the entries of one message. */
const idSeparator = '+'

const dialect: Dialect<NormalizedForeign> = {
  format: 'normalized',
  parse: parseNormalized,
  toDrafts: (message, reading) =>
    isNormalizedMessage(message)
      ? readMessageDrafts(message as unknown as NormalizedMessage, reading)
      : readResponseDrafts(message as unknown as NormalizedResponse, reading),
  countMessageEntries: countUntilResult,
  toMessage: (run, precedingEntries = []) => writeNormalized(run, precedingEntries) as unknown as NormalizedForeign,
  // No member is open for a marker. Instead, the id of the message names all its entries.
  usesIdAsMarker: true,
  readMarker({ id }) {
    const [entry_id, ...otherIds] = id.split(idSeparator)
    return { v: 1, entry_id, kind: 'text', ...(otherIds.length > 0 && { more: otherIds }) }
  },
  stripMarker: message => message,
  addMarker: (message, run) =>
    run[0]?.ext?.normalized ? message : { ...message, id: listClaimedIds(markerOfRun(run)).join(idSeparator) },
  comparableMembersOf(message) {
    const isMessage = isNormalizedMessage(message)
    const author = isMessage && isJsonMap(message.sender) ? message.sender.address : message.sender
    return { isMessage, author: author ?? '', parts: message.parts }
  },
}

/** The codec of messages to agents and their answers. */
export const normalizedCodec = createCodec(dialect)

type Drafts = readonly [TranscriptDraft, ...TranscriptDraft[]]
type Common = Omit<TranscriptDraft, 'kind' | 'content'>

/** Reads a message to an agent as entries. A message of another kind (an edit, a follow) becomes an activity. */
function readMessageDrafts(message: NormalizedMessage, reading: ReadPosition): Drafts {
  const { sender, recipient, received_at, kind = 'message', policy_resolution } = message
  const author = { address: sender.address, display_name: sender.display_name }
  const commonFields: Common = {
    role: 'user',
    agent_key: recipient,
    author,
    decided_by: decisionOf(policy_resolution),
    at: toMilliseconds(received_at),
    native_at: received_at,
  }
  return withId(
    message.id,
    readParts(message.parts, { common: commonFields, kind: kind === 'message' ? 'text' : 'activity', reading }),
  )
}

/** Reads an answer as entries. An answer that waits for a reply becomes a question. */
function readResponseDrafts(response: NormalizedResponse, reading: ReadPosition): Drafts {
  const { sender, created_at, status, id, usage } = response
  const isQuestion = status === 'input_required'
  const author = { address: sender }
  const commonFields: Common = {
    role: 'assistant',
    agent_key: sender,
    author,
    at: toMilliseconds(created_at),
    native_at: created_at,
  }
  const context: PartContext = { common: commonFields, kind: isQuestion ? 'input_required' : 'text', reading }
  const drafts = withUnfinished(response, readParts(response.parts, context), context)
  const [head, ...furtherDrafts] = usage ? withUsage(drafts, usage) : drafts
  const wait = { id, reason: 'input', state: 'open' } as const
  return withId(id, [head.kind === 'input_required' ? { ...head, wait } : head, ...furtherDrafts])
}

/** Adds the text of an interrupted answer, before the text that reports the interruption. */
function withUnfinished({ unfinished = [] }: NormalizedResponse, drafts: Drafts, context: PartContext): Drafts {
  if (unfinished.length === 0) return drafts
  const commonFields = { ...context.common, is_incomplete: true as const }
  const [head, ...furtherDrafts] = readParts(unfinished, { ...context, common: commonFields, kind: 'text' })
  return [head, ...furtherDrafts, ...drafts]
}

/** Adds the usage to the first entry that a chat shows, or to the first entry if the chat shows none. */
function withUsage([head, ...furtherDrafts]: Drafts, usage: NonNullable<NormalizedResponse['usage']>): Drafts {
  const isSpokenText = ({ kind, role }: TranscriptDraft) =>
    isChatVisible({ kind, role, scope: scopeOfKind(kind, role) }, false)
  const index = isSpokenText(head) ? -1 : furtherDrafts.findIndex(isSpokenText)
  return index < 0
    ? [{ ...head, usage }, ...furtherDrafts]
    : [head, ...furtherDrafts.with(index, { ...(furtherDrafts[index] ?? head), usage })]
}

function withId(native_id: string, drafts: Drafts): Drafts {
  const [head, ...furtherDrafts] = drafts
  const [message_id, ...ids] = nameEntries(native_id, drafts)
  const firstDraft = { ...head, native_id, ...(message_id !== native_id && { message_id }) }
  return [firstDraft, ...furtherDrafts.map((draft, index) => ({ ...draft, message_id: ids[index] }))]
}

function toMilliseconds(iso: string): string {
  return new Date(iso).toISOString()
}

/** The members that all entries of the parts have, and the kind of their texts. */
interface PartContext {
  readonly common: Common
  readonly kind: EntryKind
  readonly reading: ReadPosition
}

/** Reads parts as entries. Contiguous text is one entry. A call, its end, and a requirement are separate entries. */
function readParts(parts: readonly Part[], { common, kind, reading }: PartContext): Drafts {
  const drafts = groupParts(parts).flatMap(group => {
    const specialDrafts = readSpecialPart(group[0], common, reading)
    return specialDrafts.length > 0 ? specialDrafts : [{ ...common, kind, content: { parts: [...group] } }]
  })
  const [head, ...furtherDrafts] = drafts
  return head ? [head, ...furtherDrafts] : [{ ...common, kind, content: { parts: [...parts] } }]
}

function readSpecialPart(part: Part, common: Common, reading: ReadPosition): readonly TranscriptDraft[] {
  if (part.kind === 'tool_call') return readCallPart(part, common, reading)
  return part.kind === 'policy' ? [{ ...common, kind: 'policy', content: { parts: [part] } }] : []
}

function readCallPart(part: ToolCallPart, common: Common, reading: ReadPosition): readonly TranscriptDraft[] {
  const { id: call_id, name, args, result, error } = part
  const callTool: EntryTool = { call_id, name, args: argsOf(args as EntryTool['result']) }
  const call: TranscriptDraft = {
    ...common,
    role: 'assistant',
    kind: 'tool_call',
    content: contentOfText(''),
    tool: callTool,
  }
  if (result === undefined && !error) return [call]
  const tool = {
    call_id,
    name,
    ...(result !== undefined && { result: result as EntryTool['result'] }),
    ...(error && { error }),
  }
  const end: TranscriptDraft = { ...common, role: 'tool', kind: 'tool_result', content: contentOfText(''), tool }
  return isOpenCall(callTool, reading) ? [end] : [call, end]
}

/** Returns true if the call itself was in an earlier message. Agents reuse ids, so everything about the call must be equal. */
function isOpenCall(callTool: EntryTool, reading: ReadPosition): boolean {
  const isSame = ({ tool }: EntryBody) => tool !== undefined && diffJson({ ...tool }, { ...callTool }) === undefined
  return findOpenCall(reading, isSame) !== undefined
}

/** Writes entries as a message to an agent if a user speaks, otherwise as an answer, from their canonical members only. */
function writeNormalized(
  run: EntryRun,
  precedingEntries: readonly EntryBody[],
): NormalizedMessage | NormalizedResponse {
  return run[0].role === 'user' ? writeInbound(run, precedingEntries) : writeAnswer(run, precedingEntries)
}

function writeInbound(run: EntryRun, precedingEntries: readonly EntryBody[]): NormalizedMessage {
  const [head] = run
  const { address = '', display_name } = head.author ?? {}
  return {
    id: head.native_id ?? head.entry_id,
    thread_id: head.thread_id,
    sender: { address, auth_method: 'none', verified: false, ...(display_name !== undefined && { display_name }) },
    recipient: head.agent_key ?? '',
    parts: writeParts(run, precedingEntries),
    recipient_capabilities: { mention_relay: { kind: 'none' } },
    received_via: 'web',
    received_at: head.at,
    raw: null,
    ...(head.kind === 'activity' && { kind: 'edit' as const }),
  }
}

/** The status of an answer without parts, because a completed answer must have parts. */
const emptyStatus = 'working'

function writeAnswer(run: EntryRun, precedingEntries: readonly EntryBody[]): NormalizedResponse {
  const [head] = run
  // Unfinished text counts only if there is no other text.
  const isUnfinished = (entry: EntryBody) =>
    entry.is_incomplete === true && !run.every(runEntry => runEntry.is_incomplete)
  const parts = writeParts(
    run.filter(entry => !isUnfinished(entry)),
    precedingEntries,
  )
  const unfinishedParts = writeParts(run.filter(isUnfinished), precedingEntries)
  const usages = run.flatMap(entry => readEntryUsage(entry.usage) ?? [])
  return {
    id: head.native_id ?? head.entry_id,
    thread_id: head.thread_id,
    in_reply_to: '',
    sender: head.author?.address ?? head.agent_key ?? '',
    parts,
    status: questionKinds.has(head.kind) ? 'input_required' : parts.length > 0 ? 'completed' : emptyStatus,
    ...(unfinishedParts.length > 0 && { unfinished: unfinishedParts }),
    ...(usages.length > 0 && { usage: usages }),
    created_at: head.at,
  }
}

/** Writes entries as parts. A call and its end in one run are one part. An end whose call is in `precedingEntries` is one part with the call's arguments. */
function writeParts(run: readonly EntryBody[], precedingEntries: readonly EntryBody[]): Part[] {
  const parts: Part[] = []
  for (const entry of run) {
    const { tool, kind, content } = entry
    if (isCallEntry(entry) && tool) parts.push(writeCallPart(entry))
    else if (kind === 'tool_result' && tool) endCallPart(parts, entry, findCall(tool.call_id, precedingEntries))
    else if ('parts' in content) parts.push(...content.parts)
    else if (!contentIsEmpty(content)) parts.push({ kind: 'text', mime: 'text/plain', content: textOfContent(content) })
  }
  return parts
}

function writeCallPart({ tool, kind }: EntryBody, call?: EntryBody): ToolCallPart {
  const args = tool?.args ?? call?.tool?.args ?? {}
  return { kind: 'tool_call', id: tool?.call_id ?? '', name: tool?.name ?? kind, args }
}

function endCallPart(parts: Part[], entry: EntryBody, callEntry: EntryBody | undefined): void {
  const { tool } = entry
  const callIndex = parts.findIndex(part => part.kind === 'tool_call' && part.id === tool?.call_id)
  const call = (callIndex < 0 ? writeCallPart(entry, callEntry) : parts[callIndex]) as ToolCallPart
  const endedCall: ToolCallPart = { ...call, ...endOf(entry) }
  if (callIndex < 0) parts.push(endedCall)
  else parts[callIndex] = endedCall
}

function endOf(entry: EntryBody): { result?: Json; error?: { message: string } } {
  const { tool } = entry
  const isFailed = tool?.error !== undefined
  if (!isFailed) return { result: resultOfEntry(entry) }
  return { error: { message: tool?.error?.message ?? '' }, ...(tool?.result !== undefined && { result: tool.result }) }
}
