// Answers with the length of a message, which is the same each time.
import type { Agent } from '@postern/pipeline'

export const handle: Agent['handle'] = ({ parts, history = [] }) => {
  const text = parts.flatMap(part => (part.kind === 'text' ? [part.content] : [])).join(' ')
  return text.includes('say nothing') ? undefined : `${text.length} characters after ${history.length} turns`
}
