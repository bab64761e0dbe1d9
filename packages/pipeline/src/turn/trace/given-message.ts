// Describes the message that an agent gets, with a digest for later comparison.

import { hash } from 'node:crypto'
import type { GivenMessage, NormalizedMessage, Part } from '@postern/message'
import type { Past } from './past-view.ts'

/**
 * Describes the message that an agent gets, so that it can be rebuilt. The digest leaves out raw bytes, which are stored unchanged, and data that
 * is added only at the call: signed URLs of files, and the state of a requirement.
 */
export function describeGiven(content: NormalizedMessage, parts: readonly Part[], past: Past): GivenMessage {
  return { history: past.entries, digest: digestGiven(toGiven(content, parts, past)) }
}

export type Given = Omit<NormalizedMessage, 'raw'>

export function toGiven(content: NormalizedMessage, parts: readonly Part[], { view }: Past): Given {
  const given: Record<string, unknown> = {}
  for (const name of Object.keys(content)) {
    // `raw` is lazy, and reading it would parse bytes.
    if (name !== 'raw' && name !== 'policy_resolution') given[name] = content[name as keyof NormalizedMessage]
  }
  given.parts = parts
  given.history = view.turns
  return given as unknown as Given
}

/**
 * Returns the digest of a message with its members sorted. Within members the stored order counts, because the store keeps JSON as written.
 * Canonical JSON would cost ten times as much for each message, and rejects some values that a message may contain.
 */
export function digestGiven(given: Given): string {
  const sorted: Record<string, unknown> = {}
  for (const name of Object.keys(given).sort()) sorted[name] = given[name as keyof Given]
  return hash('sha256', JSON.stringify(sorted), 'base64url')
}
