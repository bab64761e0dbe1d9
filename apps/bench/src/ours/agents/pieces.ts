import type { Agent } from '@postern/core'
import { sayPieces } from '../../orders/stream.ts'
import { countTurn } from './count.ts'

/** Says its answer piece by piece. */
export const handle: Agent['handle'] = () => {
  countTurn()
  return sayPieces()
}
