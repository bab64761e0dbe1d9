// Prints how much data a swarm shares between its conversations, and its limit.
import { formatTable } from '../../terminal/text.ts'
import { createOperationView } from '../operation-view.ts'
import { swarmUsageOperation } from './route.ts'

export const printSwarmUsage = createOperationView(swarmUsageOperation, ({ used, most }) =>
  formatTable(
    ['', 'used', 'most'],
    (['records', 'bytes'] as const).map(name => [name, String(used[name]), String(most[name])]),
  ),
)
