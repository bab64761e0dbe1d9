import type { ApprovalAction, Json, Part, PolicyPart, ToolCallPart } from '@postern/core'
import { readApproval, readResultParts, refusedCall } from '@postern/core'
import type { EntryBody } from '@postern/transcript'
import { contentOfText } from '@postern/transcript'

/** One piece of something said: an entry as far as its parts make it. */
export type Piece = Pick<EntryBody, 'kind' | 'role' | 'scope' | 'content' | 'tool' | 'wait' | 'is_incomplete'>

type Speaker = 'user' | 'assistant'

/** What was said as the transcript tells it: words, and what was done or required between them; at least one piece. Pure. */
export function splitIntoPieces(parts: readonly Part[], role: Speaker): readonly Piece[] {
  const pieces: Piece[] = []
  let words: Part[] = []
  const endWords = () => {
    if (words.length > 0) pieces.push(writeWords(words, role))
    words = []
  }
  for (const part of parts) {
    const split = part.kind === 'tool_call' || part.kind === 'policy' ? writeOther(part) : undefined
    if (split) {
      endWords()
      pieces.push(...split)
    } else words.push(part)
  }
  endWords()
  return pieces.length > 0 ? pieces : [writeWords([], role)]
}

function writeWords(parts: readonly Part[], role: Speaker): Piece {
  return { kind: 'text', role, scope: 'conversation', content: { parts } }
}

function writeOther(part: Extract<Part, { readonly kind: 'tool_call' | 'policy' }>): readonly Piece[] {
  if (part.kind === 'tool_call') return writeToolCall(part)
  const { policy } = part
  const approval = readApproval(policy)
  const id = typeof policy.requirement === 'string' ? policy.requirement : undefined
  if (approval && id !== undefined) return [writeApproval(part, approval, id)]
  const wait = id === undefined ? undefined : ({ id, reason: 'policy', state: 'open' } as const)
  return [
    { kind: 'policy', role: 'assistant', scope: 'conversation', content: { parts: [part] }, ...(wait && { wait }) },
  ]
}

/** In place of the result of a call that somebody has to allow first. */
function writeApproval(part: PolicyPart, { tool_call_id, ...action }: ApprovalAction, id: string): Piece {
  const { expires_at } = part.policy
  const until = typeof expires_at === 'string' ? { expires_at } : {}
  const pending = { ...action, ...until, status: 'pending', metadata: { tool_call_id } }
  return {
    kind: 'approval_required',
    role: 'tool',
    scope: 'agent',
    content: { parts: [part] },
    tool: { call_id: tool_call_id, name: action.kind },
    wait: { id, reason: 'approval', state: 'open', ...until, action: pending as Json },
  }
}

function writeToolCall({ id, name, args, result, error, continues }: ToolCallPart): readonly Piece[] {
  const isObject = args !== null && typeof args === 'object' && !Array.isArray(args)
  const call: Piece = {
    kind: 'tool_call',
    role: 'assistant',
    scope: 'agent',
    content: contentOfText(''),
    tool: {
      call_id: id,
      name,
      args: isObject ? (args as Record<string, Json>) : {},
      ...(!isObject && args !== undefined && { is_invalid: true }),
    },
  }
  if (result === undefined && !error) return [call]
  const ended = {
    call_id: id,
    name,
    success: !error,
    ...(error && { error }),
    ...(result !== undefined && { result: result as Json }),
  }
  const returned = readResultParts(result)
  const content = returned ? { parts: returned } : contentOfText('')
  const end: Piece = { kind: 'tool_result', role: 'tool', scope: 'agent', content, tool: ended }
  if (continues === undefined) return [call, end]
  // What it waited for is over: accepted where it was run, whatever came of it; with what it was run, which may be other than what was asked.
  const ran = isObject ? { ...ended, args: args as Record<string, Json> } : ended
  return [
    {
      ...end,
      tool: ran,
      wait: { id: continues, reason: 'approval', state: isRefused(error) ? 'rejected' : 'accepted' },
    },
  ]
}

function isRefused(error: ToolCallPart['error']): boolean {
  return error?.message === refusedCall
}
