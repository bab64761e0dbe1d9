import type { Agent } from '@postern/core'
import { said } from '../../orders/fanout.ts'
import { countTurn } from './count.ts'

/** Says nothing to whoever wakes it, and something to all who follow it. */
export const handle: Agent['handle'] = (_, context) => {
  countTurn()
  context.post(said)
  return undefined
}
