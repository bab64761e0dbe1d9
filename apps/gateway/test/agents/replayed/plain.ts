import type { Agent } from '@postern/core'

/** Says how long a message is: the same for the same message. */
export const handle: Agent['handle'] = ({ parts, history = [] }) => {
  const words = parts.flatMap(part => (part.kind === 'text' ? [part.content] : [])).join(' ')
  return words.includes('say nothing') ? undefined : `${words.length} characters after ${history.length} turns`
}
