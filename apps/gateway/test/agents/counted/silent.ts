import type { Agent } from '@postern/core'
import { countTurn } from './turns.ts'

/** Takes every message and says nothing. */
export const handle: Agent['handle'] = () => {
  countTurn()
  return undefined
}
