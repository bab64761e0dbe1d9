import { formatTable } from '../../terminal/text.ts'
import type { ApiOutput } from '../context.ts'
import { printAnswer } from '../print-list.ts'
import { swarmUsageOperation } from './route.ts'

/** How much a swarm keeps for all of its conversations. */
export function printSwarmUsage(output: ApiOutput, agent: string): Promise<void> {
  return printAnswer(output, swarmUsageOperation, { parameters: { agent } }, ({ used, most }) =>
    formatTable(
      ['', 'used', 'most'],
      (['records', 'bytes'] as const).map(name => [name, String(used[name]), String(most[name])]),
    ),
  )
}
