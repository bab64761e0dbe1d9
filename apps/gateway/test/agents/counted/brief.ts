import type { Agent } from '@postern/pipeline'
import { countTurn } from './turns.ts'

/** Gives the shortest possible answer. */
export const handle: Agent['handle'] = () => {
  countTurn()
  return 'ok'
}
