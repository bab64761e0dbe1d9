// Does nothing until its turn is aborted; an agent of the bench.
import type { Agent } from '@postern/pipeline'
import { countTurn } from './count.ts'

export const handle: Agent['handle'] = (_, { signal }) => {
  countTurn()
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(undefined), { once: true }))
}
