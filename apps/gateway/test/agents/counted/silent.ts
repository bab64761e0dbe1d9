import type { Agent } from '@postern/pipeline'
import { countTurn } from './turns.ts'

/** Accepts every message and answers nothing. */
export const handle: Agent['handle'] = () => {
  countTurn()
  return undefined
}
