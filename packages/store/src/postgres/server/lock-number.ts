import { hash } from 'node:crypto'

/** The number of an advisory lock. */
export function lockNumberOf(name: string): number {
  return Number.parseInt(hash('sha256', name).slice(0, 12), 16)
}
