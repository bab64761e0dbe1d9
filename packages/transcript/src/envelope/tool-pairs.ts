import type { AgentMessageEnvelope } from './envelope.ts'
import { normalizeEnvelope } from './normalize.ts'

export interface OrphanFinding {
  readonly code: 'orphan_tool_call' | 'orphan_tool_result'
  readonly index: number
  readonly tool_name: string | undefined
  readonly tool_call_id: string | undefined
}

/**
 * Calls without a result and results without a call, by ascending index. The two belong together by `metadata.tool_call_id` where they
 * have one, else by `payload.tool_name`, first in, first out.
 * @throws Rejection as `normalizeEnvelope`
 */
export function findOrphanEnvelopes(values: readonly unknown[]): readonly OrphanFinding[] {
  const envelopes = values.map(value => normalizeEnvelope(value))
  const open = new Map<string, number[]>()
  const orphans: OrphanFinding[] = []
  for (const [index, envelope] of envelopes.entries()) {
    const key = keyOfPair(envelope)
    if (envelope.type === 'tool_call') open.set(key, [...(open.get(key) ?? []), index])
    if (envelope.type !== 'tool_result' || open.get(key)?.shift() !== undefined) continue
    orphans.push(describeOrphan('orphan_tool_result', envelope, index))
  }
  for (const index of [...open.values()].flat()) {
    orphans.push(describeOrphan('orphan_tool_call', envelopes[index] as AgentMessageEnvelope, index))
  }
  return orphans.toSorted((a, b) => a.index - b.index)
}

/** The list without its orphans: what a model may see. The stored list keeps them. */
export function pruneOrphanEnvelopes(values: readonly unknown[]): readonly AgentMessageEnvelope[] {
  const orphans = new Set(findOrphanEnvelopes(values).map(({ index }) => index))
  return values.map(value => normalizeEnvelope(value)).filter((_, index) => !orphans.has(index))
}

function keyOfPair({ metadata, payload }: AgentMessageEnvelope): string {
  const { tool_call_id } = metadata
  if (typeof tool_call_id === 'string' && tool_call_id !== '') return JSON.stringify(['id', tool_call_id])
  return JSON.stringify(['name', payload.tool_name])
}

function describeOrphan(code: OrphanFinding['code'], envelope: AgentMessageEnvelope, index: number): OrphanFinding {
  const { metadata, payload } = envelope
  return { code, index, tool_name: textOrNone(payload.tool_name), tool_call_id: textOrNone(metadata.tool_call_id) }
}

function textOrNone(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
