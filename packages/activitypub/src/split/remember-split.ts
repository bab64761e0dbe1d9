import type { Part } from '@postern/core'
import { memoize } from '../cache/memoize.ts'
import { splitParts } from './split-parts.ts'

type Pieces = readonly (readonly Part[])[]

const remember = memoize<Pieces>()

/**
 * As `splitParts`. Each post of a thread is rendered of its piece whenever it is sent or read, and dividing what strangers chose may
 * take a second.
 */
export function splitOnce(parts: readonly Part[], limit: number): Pieces {
  return remember(JSON.stringify([limit, parts]), () => splitParts(parts, limit))
}
