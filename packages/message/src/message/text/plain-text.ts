// Reads parts as plain text.

import type { Part } from '../part.ts'

/** Text and links of `parts` as one plain reading, for history budgets and for wires that carry only text. */
export function plainTextOf(parts: readonly Part[]): string {
  const lines = parts.map(part => {
    if (part.kind === 'text') return part.content
    if (part.kind === 'link') return part.title ? `${part.title}: ${part.url}` : part.url
    return part.kind === 'policy' ? part.policy.message : ''
  })
  return lines.filter(Boolean).join('\n\n')
}
