// Marks files whose addresses peers chose, so that an agent outside knows what it must not fetch unguarded.
import type { HistoricalMessage } from '../message.ts'
import type { Part } from '../part.ts'
import { isFilePart } from './file-part.ts'

/** Returns the parts of a message with `foreign` at every file behind an address that the gateway does not serve. */
export function markForeignFiles(parts: readonly Part[]): readonly Part[] {
  return parts.some(isForeign) ? parts.map(part => (isForeign(part) ? markFile(part) : part)) : parts
}

/** Returns the past with the files of people marked; an agent's own files stay as they are. */
export function markForeignTurns(turns: readonly HistoricalMessage[]): readonly HistoricalMessage[] {
  const hasForeign = ({ role, parts }: HistoricalMessage) => role === 'user' && parts.some(isForeign)
  if (!turns.some(hasForeign)) return turns
  return turns.map(turn => (hasForeign(turn) ? { ...turn, parts: [...markForeignFiles(turn.parts)] } : turn))
}

function isForeign(part: Part): boolean {
  return isFilePart(part) && part.bytes_ref.kind === 'url'
}

function markFile(part: Part): Part {
  return isFilePart(part) && part.bytes_ref.kind === 'url'
    ? { ...part, bytes_ref: { ...part.bytes_ref, foreign: true } }
    : part
}
