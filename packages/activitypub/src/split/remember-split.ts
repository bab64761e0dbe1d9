import { hash } from 'node:crypto'
import type { Part } from '@postern/core'
import { splitParts } from './split-parts.ts'

type Pieces = readonly (readonly Part[])[]

/** So many answers are remembered, the least recently used forgotten first; shorter ones are divided sooner than looked up. */
const maxRemembered = 32
const minLength = 2_048
const remembered = new Map<string, Pieces>()

/**
 * As `splitParts`. Each post of a thread is rendered of its piece whenever it is sent or read, and dividing words that strangers
 * chose may take a second: what was divided lately is not divided again.
 */
export function splitOnce(parts: readonly Part[], limit: number): Pieces {
  const text = JSON.stringify(parts)
  if (text.length < minLength) return splitParts(parts, limit)
  const key = `${limit} ${hash('sha256', text)}`
  const pieces = remembered.get(key) ?? splitParts(parts, limit)
  remembered.delete(key)
  remembered.set(key, pieces)
  if (remembered.size > maxRemembered) remembered.delete(remembered.keys().next().value as string)
  return pieces
}
