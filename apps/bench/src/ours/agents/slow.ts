// Answers every message with "ok" after 20 ms; an agent of the bench.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Agent } from '@postern/pipeline'
import { slowAgentDelayMs } from '../../orders/slow.ts'
import { countTurn } from './count.ts'

export const handle: Agent['handle'] = () => {
  countTurn()
  return sleep(slowAgentDelayMs, 'ok')
}
