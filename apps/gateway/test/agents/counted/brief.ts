import type { Agent } from '@postern/core'
import { countTurn } from './turns.ts'

/** The shortest answer there is. */
export const handle: Agent['handle'] = () => {
  countTurn()
  return 'ok'
}
