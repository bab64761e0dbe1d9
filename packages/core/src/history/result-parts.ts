import type { Part } from '../message/part.ts'
import { knownPartSchema } from '../message/part.ts'

/**
 * The files, pictures and words that a tool returned, where its `result` is an object whose `parts` are parts of messages (ours: the contract leaves open
 * what a result is). Undefined for every other result.
 */
export function readResultParts(result: unknown): readonly Part[] | undefined {
  const listed = typeof result === 'object' && result !== null && 'parts' in result ? result.parts : undefined
  if (!Array.isArray(listed)) return undefined
  const parts = listed.map(part => knownPartSchema.safeParse(part).data)
  return parts.every(part => part !== undefined) && parts.some(isFile) ? parts.filter(isPresentable) : undefined
}

function isFile(part: Part | undefined): boolean {
  return part?.kind === 'file' || part?.kind === 'artifact'
}

/** Words, files and pictures; calls and requirements are for the channel that shows them. */
export function isPresentable({ kind }: Part): boolean {
  return kind !== 'tool_call' && kind !== 'policy'
}
