// Compares and lists the names of very many agents in short texts.
import { hash } from 'node:crypto'

/** The largest number of names that a message lists. */
const maxNames = 50

/** Lists names in a message, and counts those beyond the first fifty. */
export function formatAgentNames(names: readonly string[]): string {
  const leftOutCount = names.length - maxNames
  return `${names.slice(0, maxNames).join(', ')}${leftOutCount > 0 ? ` and ${leftOutCount} more` : ''}`
}

/** Returns a digest of the names in any order: SHA-256, in hexadecimal. */
export function digestAgentNames(names: readonly string[]): string {
  return hash('sha256', names.toSorted().join())
}
