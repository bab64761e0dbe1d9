// Answers every message with "ok"; an agent of the bench.
import type { Agent } from '@postern/pipeline'
import { countTurn } from './count.ts'

export const handle: Agent['handle'] = () => {
  countTurn()
  return 'ok'
}
