// Gives the shortest possible answer.
import type { Agent } from '@postern/pipeline'
import { countTurn } from './turns.ts'

export const handle: Agent['handle'] = () => {
  countTurn()
  return 'ok'
}
