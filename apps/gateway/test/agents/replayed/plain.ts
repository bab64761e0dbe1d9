// Answers with the length of a message, which is the same each time.
import type { Agent } from '@postern/pipeline'

export const handle: Agent['handle'] = ({ parts, history = [] }) => {
  const words = parts.flatMap(part => (part.kind === 'text' ? [part.content] : [])).join(' ')
  return words.includes('say nothing') ? undefined : `${words.length} characters after ${history.length} turns`
}
