import type { Json, NormalizedMessage, NormalizedResponse, Part, ToolCallPart } from '@postern/core'
import { normalizedMessageSchema, normalizedResponseSchema } from '@postern/core'
import type { EntryRun } from '../codec/create-codec.ts'
import { createCodec } from '../codec/create-codec.ts'
import type { Dialect, TranscriptDraft } from '../codec/dialect.ts'
import { markerOfRun } from '../codec/dialect.ts'
import { argsOf, isCallEntry, resultOfEntry } from '../codec/tool-entry.ts'
import type { EntryBody, EntryTool } from '../entry/entry.ts'
import { contentOfText, decisionOf, readEntryUsage, textOfContent } from '../entry/entry.ts'
import type { EntryKind } from '../entry/kind.ts'
import { isChatVisible, questionKinds, scopeOfKind } from '../entry/kind.ts'
import type { JsonMap } from '../json/difference.ts'
import { isJsonMap } from '../json/difference.ts'
import { parseForeign } from '../json/schema.ts'

/** A message to an agent, or an agent's answer, as plain JSON. */
type NormalizedForeign = JsonMap & { readonly id: string; readonly parts: readonly Json[] }

/** @throws Rejection malformed, naming the member */
function parseNormalized(value: unknown): NormalizedForeign {
  const isMessage = isJsonMap(value) && 'received_via' in value
  const parsed = isMessage
    ? parseForeign(normalizedMessageSchema, value, 'message')
    : parseForeign(normalizedResponseSchema, value, 'response')
  const { kind, ...rest } = parsed as unknown as NormalizedForeign
  // The schema fills in the kind a message has when it names none.
  return isJsonMap(value) && value.kind !== undefined ? { ...rest, kind } : rest
}

function isNormalizedMessage(foreign: NormalizedForeign): boolean {
  return 'received_via' in foreign
}

const dialect: Dialect<NormalizedForeign> = {
  format: 'normalized',
  parse: parseNormalized,
  toDrafts: foreign =>
    isNormalizedMessage(foreign)
      ? readMessageDrafts(foreign as unknown as NormalizedMessage)
      : readResponseDrafts(foreign as unknown as NormalizedResponse),
  countRun: () => 1,
  toMessage: run => writeNormalized(run) as unknown as NormalizedForeign,
  // Nothing in it is open for a bag: its id is one.
  markerIsId: true,
  readMarker: ({ id }) => ({ v: 1, entry_id: id, kind: 'text' }),
  stripMarker: foreign => foreign,
  addMarker: (foreign, run) => (run[0]?.ext?.normalized ? foreign : { ...foreign, id: markerOfRun(run).entry_id }),
  essenceOf(foreign) {
    const isMessage = isNormalizedMessage(foreign)
    const author = isMessage && isJsonMap(foreign.sender) ? foreign.sender.address : foreign.sender
    return { isMessage, author: author ?? '', parts: foreign.parts }
  },
}

/** Messages to agents and their answers. */
export const normalizedCodec = createCodec(dialect)

type Drafts = readonly [TranscriptDraft, ...TranscriptDraft[]]
type Common = Omit<TranscriptDraft, 'kind' | 'content'>

/** A message to an agent as entries. What is no message (an edit, a follow) is an activity. */
function readMessageDrafts(message: NormalizedMessage): Drafts {
  const { sender, recipient, received_at, kind = 'message', policy_resolution } = message
  const author = { address: sender.address, display_name: sender.display_name }
  const common: Common = {
    role: 'user',
    agent_key: recipient,
    author,
    decided_by: decisionOf(policy_resolution),
    at: toMilliseconds(received_at),
    native_at: received_at,
  }
  return withId(message.id, readParts(message.parts, common, kind === 'message' ? 'text' : 'activity'))
}

/** An answer as entries. One that waits for an answer itself is a question. */
function readResponseDrafts(response: NormalizedResponse): Drafts {
  const { sender, created_at, status, id, usage } = response
  const isQuestion = status === 'input_required'
  const author = { address: sender }
  const common: Common = {
    role: 'assistant',
    agent_key: sender,
    author,
    at: toMilliseconds(created_at),
    native_at: created_at,
  }
  const drafts = readParts(response.parts, common, isQuestion ? 'input_required' : 'text')
  const [head, ...rest] = usage ? withUsage(drafts, usage) : drafts
  const wait = { id, reason: 'input', state: 'open' } as const
  return withId(id, [head.kind === 'input_required' ? { ...head, wait } : head, ...rest])
}

/** The usage is on the first entry that a chat shows; without one, on the first entry. */
function withUsage([head, ...rest]: Drafts, usage: NonNullable<NormalizedResponse['usage']>): Drafts {
  const isSaid = ({ kind, role }: TranscriptDraft) =>
    isChatVisible({ kind, role, scope: scopeOfKind(kind, role) }, false)
  const place = isSaid(head) ? -1 : rest.findIndex(isSaid)
  return place < 0 ? [{ ...head, usage }, ...rest] : [head, ...rest.with(place, { ...(rest[place] ?? head), usage })]
}

function withId(native_id: string, [head, ...rest]: Drafts): Drafts {
  return [{ ...head, native_id }, ...rest]
}

function toMilliseconds(iso: string): string {
  return new Date(iso).toISOString()
}

/** Text in one piece is one entry. A call, its end, and a requirement are entries of their own. */
function readParts(parts: readonly Part[], common: Common, kind: EntryKind): Drafts {
  const drafts: TranscriptDraft[] = []
  let said: Part[] = []
  function endSaid(): void {
    if (said.length > 0) drafts.push({ ...common, kind, content: { parts: said } })
    said = []
  }
  for (const part of parts) {
    const own = readSpecialPart(part, common)
    if (own.length === 0) said.push(part)
    else {
      endSaid()
      drafts.push(...own)
    }
  }
  endSaid()
  const [head, ...rest] = drafts
  return head ? [head, ...rest] : [{ ...common, kind, content: { parts: [] } }]
}

function readSpecialPart(part: Part, common: Common): readonly TranscriptDraft[] {
  if (part.kind === 'tool_call') return readCallPart(part, common)
  return part.kind === 'policy' ? [{ ...common, kind: 'policy', content: { parts: [part] } }] : []
}

function readCallPart(part: ToolCallPart, common: Common): readonly TranscriptDraft[] {
  const { id: call_id, name, args, result, error } = part
  const called: EntryTool = { call_id, name, args: argsOf(args as EntryTool['result']) }
  const call: TranscriptDraft = {
    ...common,
    role: 'assistant',
    kind: 'tool_call',
    content: contentOfText(''),
    tool: called,
  }
  if (result === undefined && !error) return [call]
  const tool = {
    call_id,
    name,
    ...(result !== undefined && { result: result as EntryTool['result'] }),
    ...(error && { error }),
  }
  return [call, { ...common, role: 'tool', kind: 'tool_result', content: contentOfText(''), tool }]
}

/** Entries as a message to an agent if a user speaks, else as an answer; from their canonical members alone. */
function writeNormalized(run: EntryRun): NormalizedMessage | NormalizedResponse {
  return run[0].role === 'user' ? writeInbound(run) : writeAnswer(run)
}

function writeInbound(run: EntryRun): NormalizedMessage {
  const [head] = run
  const { address = '', display_name } = head.author ?? {}
  return {
    id: head.native_id ?? head.entry_id,
    thread_id: head.thread_id,
    sender: { address, auth_method: 'none', verified: false, ...(display_name !== undefined && { display_name }) },
    recipient: head.agent_key ?? '',
    parts: writeParts(run),
    recipient_capabilities: { mention_relay: { kind: 'none' } },
    received_via: 'web',
    received_at: head.at,
    raw: null,
    ...(head.kind === 'activity' && { kind: 'edit' as const }),
  }
}

function writeAnswer(run: EntryRun): NormalizedResponse {
  const [head] = run
  const parts = writeParts(run)
  const usage = readEntryUsage(run.find(entry => entry.usage !== undefined)?.usage)
  return {
    id: head.native_id ?? head.entry_id,
    thread_id: head.thread_id,
    in_reply_to: '',
    sender: head.author?.address ?? head.agent_key ?? '',
    parts: parts.length > 0 ? parts : [{ kind: 'text', mime: 'text/plain', content: '' }],
    status: questionKinds.has(head.kind) ? 'input_required' : 'completed',
    ...(usage && { usage }),
    created_at: head.at,
  }
}

/** A call and its end in one run are one part. */
function writeParts(run: EntryRun): Part[] {
  const parts: Part[] = []
  for (const entry of run) {
    const { tool, kind, content } = entry
    if (isCallEntry(entry) && tool) parts.push(writeCallPart(entry))
    else if (kind === 'tool_result' && tool) endCallPart(parts, entry)
    else if ('parts' in content) parts.push(...content.parts)
    else parts.push({ kind: 'text', mime: 'text/plain', content: textOfContent(content) })
  }
  return parts
}

function writeCallPart({ tool, kind }: EntryBody): ToolCallPart {
  return { kind: 'tool_call', id: tool?.call_id ?? '', name: tool?.name ?? kind, args: tool?.args ?? {} }
}

function endCallPart(parts: Part[], entry: EntryBody): void {
  const { tool } = entry
  const begun = parts.findIndex(part => part.kind === 'tool_call' && part.id === tool?.call_id)
  const call = (begun < 0 ? writeCallPart(entry) : parts[begun]) as ToolCallPart
  const ended: ToolCallPart = { ...call, ...endOf(entry) }
  if (begun < 0) parts.push(ended)
  else parts[begun] = ended
}

function endOf(entry: EntryBody): { result?: Json; error?: { message: string } } {
  const { tool } = entry
  const isFailed = tool?.error !== undefined
  if (!isFailed) return { result: resultOfEntry(entry) }
  return { error: { message: tool?.error?.message ?? '' }, ...(tool?.result !== undefined && { result: tool.result }) }
}
