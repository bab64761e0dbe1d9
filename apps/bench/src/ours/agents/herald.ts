// Posts to all followers when any message arrives; an agent of the bench.
import type { Agent } from '@postern/pipeline'
import { replyText } from '../../orders/fanout.ts'
import { countTurn } from './count.ts'

export const handle: Agent['handle'] = (_, context) => {
  countTurn()
  context.post(replyText)
  return undefined
}
