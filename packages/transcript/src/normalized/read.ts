import type { NormalizedMessage, NormalizedResponse, Part, ToolCallPart } from '@postern/core'
import type { TranscriptDraft } from '../codec/dialect.ts'
import { argsOf } from '../codec/tool-entry.ts'
import { decisionOf } from '../entry/decision.ts'
import { contentOfText, type EntryTool } from '../entry/entry.ts'
import type { EntryKind } from '../entry/kind.ts'
import { isChatVisible, scopeOfKind } from '../entry/kind.ts'

type Drafts = readonly [TranscriptDraft, ...TranscriptDraft[]]
type Common = Omit<TranscriptDraft, 'kind' | 'content'>

/** A message to an agent as entries. What is no message (an edit, a follow) is an activity. */
export function readMessageDrafts(message: NormalizedMessage): Drafts {
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
export function readResponseDrafts(response: NormalizedResponse): Drafts {
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
