// Derives the number of an advisory lock from its name.
import { hash } from 'node:crypto'

/** Returns the number of an advisory lock with this name. */
export function lockNumberOf(name: string): number {
  return Number.parseInt(hash('sha256', name).slice(0, 12), 16)
}
