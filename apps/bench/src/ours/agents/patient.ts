import type { Agent } from '@postern/core'
import { countTurn } from './count.ts'

/** Answers when nobody wants it any more. */
export const handle: Agent['handle'] = (_, { signal }) => {
  countTurn()
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(undefined), { once: true }))
}
