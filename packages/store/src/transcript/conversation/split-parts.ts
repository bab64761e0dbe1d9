// Splits the parts of a message into the pieces from which entries are built.
import type { ApprovalAction, Json, Part, PolicyPart, ToolCallPart } from '@postern/message'
import { readApproval, refusedCall } from '@postern/message'
import { readResultParts } from '@postern/pipeline'
import type { EntryBody } from '@postern/transcript'
import { contentOfText, groupParts, standsAlone } from '@postern/transcript'

/** A piece of a message, which has the members of an entry that come from the parts of the message. */
export type Piece = Pick<EntryBody, 'kind' | 'role' | 'scope' | 'content' | 'tool' | 'wait' | 'is_incomplete'>

type Speaker = 'user' | 'assistant'

/** Splits a message into texts, tool calls and requirements, in their order. The result has at least one piece. */
export function splitIntoPieces(parts: readonly Part[], role: Speaker): readonly Piece[] {
  const pieces = groupParts(parts).flatMap(group => {
    const [firstPart] = group
    return standsAlone(firstPart) ? writeSinglePart(firstPart) : [writeText(group, role)]
  })
  return pieces.length > 0 ? pieces : [writeText(parts, role)]
}

function writeText(parts: readonly Part[], role: Speaker): Piece {
  return { kind: 'text', role, scope: 'conversation', content: { parts } }
}

function writeSinglePart(part: Extract<Part, { readonly kind: 'tool_call' | 'policy' }>): readonly Piece[] {
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

/** Builds the piece that replaces the result of a tool call until the call is approved. */
function writeApproval(part: PolicyPart, { tool_call_id, ...action }: ApprovalAction, id: string): Piece {
  const { expires_at } = part.policy
  const expiry = typeof expires_at === 'string' ? { expires_at } : {}
  const pendingAction = { ...action, ...expiry, status: 'pending', metadata: { tool_call_id } }
  return {
    kind: 'approval_required',
    role: 'tool',
    scope: 'agent',
    content: { parts: [part] },
    tool: { call_id: tool_call_id, name: action.kind },
    wait: { id, reason: 'approval', state: 'open', ...expiry, action: pendingAction as Json },
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
  const outcome = {
    call_id: id,
    name,
    success: !error,
    ...(error && { error }),
    ...(result !== undefined && { result: result as Json }),
  }
  const resultParts = readResultParts(result)
  const content = resultParts ? { parts: resultParts } : contentOfText('')
  const resultPiece: Piece = { kind: 'tool_result', role: 'tool', scope: 'agent', content, tool: outcome }
  if (continues === undefined) return [call, resultPiece]
  // The wait is over. A call that ran was accepted, even if it failed. Its arguments may differ from the requested ones.
  const executedCall = isObject ? { ...outcome, args: args as Record<string, Json> } : outcome
  return [
    {
      ...resultPiece,
      tool: executedCall,
      wait: { id: continues, reason: 'approval', state: isRefused(error) ? 'rejected' : 'accepted' },
    },
  ]
}

function isRefused(error: ToolCallPart['error']): boolean {
  return error?.message === refusedCall
}
