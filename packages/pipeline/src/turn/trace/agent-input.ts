// Describes the message that an agent gets, with a digest for later comparison.

import { hash } from 'node:crypto'
import type { GivenMessage, NormalizedMessage, Part } from '@postern/message'
import type { Past } from './past-view.ts'

/**
 * Describes the message that an agent gets, so that it can be rebuilt. The digest leaves out raw bytes, which are stored unchanged, and data that
 * is added only at the call: signed URLs of files, and the state of a requirement.
 */
export function describeAgentInput(content: NormalizedMessage, parts: readonly Part[], past: Past): GivenMessage {
  return { history: past.entries, digest: digestAgentInput(toAgentInput(content, parts, past)) }
}

export type AgentInput = Omit<NormalizedMessage, 'raw'>

export function toAgentInput(content: NormalizedMessage, parts: readonly Part[], { view }: Past): AgentInput {
  const members: Record<string, unknown> = {}
  for (const name of Object.keys(content)) {
    // `raw` is lazy, and reading it would parse bytes.
    if (name !== 'raw' && name !== 'policy_resolution') members[name] = content[name as keyof NormalizedMessage]
  }
  members.parts = parts
  members.history = view.turns
  return members as unknown as AgentInput
}

/**
 * Returns the digest of a message with its members sorted. Within members the stored order counts, because the store keeps JSON as written.
 * Canonical JSON would cost ten times as much for each message, and rejects some values that a message may contain.
 */
export function digestAgentInput(input: AgentInput): string {
  const sortedMembers: Record<string, unknown> = {}
  for (const name of Object.keys(input).sort()) sortedMembers[name] = input[name as keyof AgentInput]
  return hash('sha256', JSON.stringify(sortedMembers), 'base64url')
}
