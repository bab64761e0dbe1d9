// Answers every message in two sentences; an agent of the bench.
import type { Agent } from '@postern/pipeline'
import { replyText } from '../../orders/fanout.ts'
import { countTurn } from './count.ts'

export const handle: Agent['handle'] = () => {
  countTurn()
  return replyText
}
