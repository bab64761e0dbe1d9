// Marks files whose URLs peers chose, so that an external agent does not fetch them without a guard.
import type { HistoricalMessage } from '../message.ts'
import type { Part } from '../part.ts'
import { isFilePart } from './file-part.ts'

/** Returns the parts of a message with `foreign` at every file whose URL the gateway does not serve. */
export function markForeignFiles(parts: readonly Part[]): readonly Part[] {
  return parts.some(isForeign) ? parts.map(part => (isForeign(part) ? markFile(part) : part)) : parts
}

/** Returns the history with the files of people marked; an agent's own files stay as they are. */
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
