// Posts to all followers when any message arrives; an agent of the bench.
import type { Agent } from '@postern/pipeline'
import { said } from '../../orders/fanout.ts'
import { countTurn } from './count.ts'

export const handle: Agent['handle'] = (_, context) => {
  countTurn()
  context.post(said)
  return undefined
}
