// Prints the agents.
import { formatTable } from '../../terminal/text.ts'
import { createListView } from '../operation-view.ts'
import type { ListedAgent } from './route.ts'
import { agentOperations } from './route.ts'

export const agentViews = { list: createListView(agentOperations.list, formatAgents) }

function formatAgents(agents: readonly ListedAgent[]): string {
  const rows = agents.map(({ name, address, use, is_default, is_paused }) => [
    name,
    address,
    use,
    [...(is_default ? ['default'] : []), ...(is_paused ? ['paused'] : [])].join(', '),
  ])
  return formatTable(['agent', 'address', 'answers by', 'state'], rows)
}
