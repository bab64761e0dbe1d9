// Adds links after the texts of requirements, for clients that show only text.
import type { NormalizedResponse, Part } from '@postern/message'
import { blockBreak, writeBlock } from '../render.ts'

/** Returns the answer with a link after the text of each requirement that has an address, for clients that show only text. */
export function withDecisionLinks(response: NormalizedResponse): NormalizedResponse {
  return { ...response, parts: response.parts.map(withDecisionLink) }
}

function withDecisionLink(part: Part): Part {
  if (part.kind !== 'policy' || part.policy.url === undefined) return part
  const { url, action_label: title, message } = part.policy
  const link = writeBlock({ kind: 'link', url, ...(title !== undefined && { title }) }, undefined)
  return { ...part, policy: { ...part.policy, message: `${message}${blockBreak}${link}` } }
}
