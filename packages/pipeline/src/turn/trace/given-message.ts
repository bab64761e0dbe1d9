// Describes the message that an agent got, with a digest for comparison.

import { hash } from 'node:crypto'
import type { GivenMessage, NormalizedMessage, Part } from '@postern/message'
import type { Past } from './past-view.ts'

/**
 * Describes the message that an agent is given, so that it can be built again. Its digest leaves out raw bytes, which are kept as they came, and
 * the additions of the moment of the call: signed addresses of files, and the state of a requirement.
 */
export function describeGiven(content: NormalizedMessage, parts: readonly Part[], past: Past): GivenMessage {
  return { history: past.entries, digest: digestGiven(toGiven(content, parts, past)) }
}

export type Given = Omit<NormalizedMessage, 'raw'>

export function toGiven(content: NormalizedMessage, parts: readonly Part[], { view }: Past): Given {
  const given: Record<string, unknown> = {}
  for (const name of Object.keys(content)) {
    // `raw` is read where it is needed, for it is rebuilt from bytes.
    if (name !== 'raw' && name !== 'policy_resolution') given[name] = content[name as keyof NormalizedMessage]
  }
  given.parts = parts
  given.history = view.turns
  return given as unknown as Given
}

/**
 * Its members in one order; within them the order is that of the store, which keeps JSON as it was written. Canonical JSON would cost ten times
 * as much for every message, and does not take whatever a message may hold.
 */
export function digestGiven(given: Given): string {
  const sorted: Record<string, unknown> = {}
  for (const name of Object.keys(given).sort()) sorted[name] = given[name as keyof Given]
  return hash('sha256', JSON.stringify(sorted), 'base64url')
}
