import type { Part } from '@postern/core'
import { memoize } from '../cache/memoize.ts'
import { splitParts } from './split-parts.ts'

type Pieces = readonly (readonly Part[])[]

const remember = memoize<Pieces>()

/**
 * As `splitParts`, with a memory. Each post of a thread is rendered from its piece whenever it is sent or read, and a
 * text that strangers choose may take a second to split.
 */
export function splitOnce(parts: readonly Part[], limit: number): Pieces {
  return remember(JSON.stringify([limit, parts]), () => splitParts(parts, limit))
}
