import type { NormalizedResponse, Part } from '@postern/core'
import { blockBreak, writeBlock } from '../parts/write-block.ts'
import type { OpenRequirementView } from './open-requirements.ts'

/** The answer with a link after each requirement that has an address, for clients that show only text. */
export function withDecisionLinks(response: NormalizedResponse): NormalizedResponse {
  return { ...response, parts: response.parts.flatMap(part => [part, ...linkOf(part)]) }
}

function linkOf(part: Part): readonly Part[] {
  if (part.kind !== 'policy' || part.policy.url === undefined) return []
  const { url, action_label: title } = part.policy
  return [{ kind: 'link', url, ...(title !== undefined && { title }) }]
}

/** The same for a message of the history, whose `metadata` has the addresses of open requirements. */
export function addLinks(content: string, { requirements = [] }: { readonly requirements?: unknown }): string {
  const links = (requirements as readonly OpenRequirementView[]).map(({ url }) =>
    writeBlock({ kind: 'link', url }, undefined),
  )
  return [content, ...links].filter(Boolean).join(blockBreak)
}
