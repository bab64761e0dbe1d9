import type { Part, ToolCallPart } from '@postern/core'
import { plainTextOf } from '@postern/core'
import { formatToolResult } from '../tools/result.ts'
import type { ImagePiece } from './images.ts'

interface CalledTool {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** Text that may bear a mark for caches of prompts. */
interface TextPiece {
  readonly type: 'text'
  readonly text: string
  readonly cache_control?: { readonly type: 'ephemeral' }
}

/** One message of a chat completion, as it goes over the wire. */
export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string | readonly (TextPiece | ImagePiece)[] }
  | {
      readonly role: 'assistant'
      readonly content: string | readonly TextPiece[] | null
      readonly tool_calls?: readonly CalledTool[]
    }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string | readonly TextPiece[] }

/** The agent's part of one turn: texts, and the calls between them with their results. */
export function toAssistantMessages(parts: readonly Part[], withCalls: boolean): readonly ChatMessage[] {
  const said: { text: Part[]; calls: ToolCallPart[] }[] = [{ text: [], calls: [] }]
  for (const part of parts) {
    const last = said.at(-1)
    if (part.kind === 'tool_call') {
      if (withCalls) last?.calls.push(part)
    } else if (last && last.calls.length === 0) last.text.push(part)
    else said.push({ text: [part], calls: [] })
  }
  return said.flatMap(({ text, calls }) => toCallingMessages(formatSaid(text), calls))
}

function toCallingMessages(text: string, calls: readonly ToolCallPart[]): readonly ChatMessage[] {
  // Some servers refuse empty content, but a turn without text must still have a message.
  if (calls.length === 0) return [{ role: 'assistant', content: text || '(nothing)' }]
  const results = calls.map(({ id, result, error }): ChatMessage => {
    return { role: 'tool', tool_call_id: id, content: formatToolResult(error ? { error } : { result }) }
  })
  return [{ role: 'assistant', content: text || null, tool_calls: calls.map(toCalledTool) }, ...results]
}

function toCalledTool({ id, name, args }: ToolCallPart): CalledTool {
  return {
    id,
    type: 'function',
    function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) },
  }
}

function formatSaid(parts: readonly Part[]): string {
  const named = parts.map(part =>
    part.kind === 'file' || part.kind === 'artifact'
      ? `[${part.kind}: ${part.name ?? part.description ?? 'unnamed'}]`
      : plainTextOf([part]),
  )
  return named.filter(Boolean).join('\n\n')
}
