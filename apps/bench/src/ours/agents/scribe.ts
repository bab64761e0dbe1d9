import type { Agent } from '@postern/core'
import { said } from '../../orders/fanout.ts'
import { countTurn } from './count.ts'

/** Answers in two sentences. */
export const handle: Agent['handle'] = () => {
  countTurn()
  return said
}
