import type { Agent } from '@postern/core'
import { countTurn } from './count.ts'

/** Takes every message and says nothing. */
export const handle: Agent['handle'] = () => {
  countTurn()
  return undefined
}
