// Reads parts as plain text.

import type { Part } from '../part.ts'

/** Returns the text, links and policies of `parts` as plain text, for history budgets and for channels that carry only text. */
export function plainTextOf(parts: readonly Part[]): string {
  const lines = parts.map(part => {
    if (part.kind === 'text') return part.content
    if (part.kind === 'link') return part.title ? `${part.title}: ${part.url}` : part.url
    return part.kind === 'policy' ? part.policy.message : ''
  })
  return lines.filter(Boolean).join('\n\n')
}
