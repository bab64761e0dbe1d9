// Reads the parts in the result of a tool.

import type { Part } from '@postern/message'
import { isFilePart, knownPartSchema } from '@postern/message'

/**
 * Reads the files, pictures and texts in the result of a tool, if the result is an object whose `parts` are message parts, with at least one file among them.
 * Tools define no form for results, so this form is Postern's own. Returns undefined for every other result.
 */
export function readResultParts(result: unknown): readonly Part[] | undefined {
  const rawParts = typeof result === 'object' && result !== null && 'parts' in result ? result.parts : undefined
  if (!Array.isArray(rawParts)) return undefined
  const parts = rawParts.map(part => knownPartSchema.safeParse(part).data)
  return parts.every(part => part !== undefined) && parts.some(isFilePart) ? parts.filter(isPresentable) : undefined
}

/** Returns true if a part is content, such as text or a file, and neither a tool call nor a requirement. */
export function isPresentable({ kind }: Part): boolean {
  return kind !== 'tool_call' && kind !== 'policy'
}
