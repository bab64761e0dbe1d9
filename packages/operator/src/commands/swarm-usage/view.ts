// Prints how much data a swarm shares between its conversations, and its limit.
import { formatTable } from '../../terminal/text.ts'
import { viewOf } from '../operation-view.ts'
import { swarmUsageOperation } from './route.ts'

export const printSwarmUsage = viewOf(swarmUsageOperation, ({ used, most }) =>
  formatTable(
    ['', 'used', 'most'],
    (['records', 'bytes'] as const).map(name => [name, String(used[name]), String(most[name])]),
  ),
)
