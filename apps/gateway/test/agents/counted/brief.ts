// The agent of throughput measurements. Its answer costs as little as possible, so the measurement shows the gateway.
import type { Agent } from '@postern/pipeline'
import { countTurn } from './turns.ts'

export const handle: Agent['handle'] = () => {
  countTurn()
  return 'ok'
}
