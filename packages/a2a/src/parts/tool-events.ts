import type { Json, Part } from '@postern/core'
import { isJsonObject } from '@postern/core'
import type { WirePart } from '../format/wire.ts'

type ToolCall = Extract<Part, { kind: 'tool_call' }>

/** A tool call of an agent as data parts (Mentionable, A2A tool events v0.1). Its begin and end have the same id. */
export function writeToolEvent({ id, name, args, result, error }: ToolCall): WirePart {
  const call = { toolCallId: id, toolName: name, ...(args !== undefined && { input: args as Json }) }
  return {
    data: { ...describeEnd(result, error), ...call },
    mediaType: 'application/json',
    metadata: { mentionable: { kind: 'tool_call' } },
  }
}

function describeEnd(result: unknown, error: ToolCall['error']): { readonly [name: string]: Json } {
  if (error) return { type: 'tool-error', error: { message: error.message } }
  return result === undefined ? { type: 'tool-call' } : { type: 'tool-result', output: result as Json }
}

const endings: Readonly<Record<string, (data: Readonly<Record<string, unknown>>) => Partial<ToolCall>>> = {
  'tool-call': () => ({}),
  'tool-result': ({ output }) => ({ result: output ?? null }),
  'tool-error': ({ error }) => ({
    error: { message: isJsonObject(error) && typeof error.message === 'string' ? error.message : '' },
  }),
}

/** Undefined if the part is no tool event. */
export function readToolEvent({ data }: WirePart): ToolCall | undefined {
  if (!isJsonObject(data) || typeof data.type !== 'string' || typeof data.toolCallId !== 'string') return undefined
  const end = Object.hasOwn(endings, data.type) ? endings[data.type] : undefined
  const name = typeof data.toolName === 'string' ? data.toolName : ''
  const args = data.input === undefined ? {} : { args: data.input }
  return end && { kind: 'tool_call', id: data.toolCallId, name, ...args, ...end(data) }
}
