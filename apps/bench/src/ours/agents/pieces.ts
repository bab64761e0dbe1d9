// Streams its answer in pieces; an agent of the bench.
import type { Agent } from '@postern/pipeline'
import { sayPieces } from '../../orders/stream.ts'
import { countTurn } from './count.ts'

export const handle: Agent['handle'] = () => {
  countTurn()
  return sayPieces()
}
