import { formatTable } from '../../terminal/table.ts'
import type { ClientOpener } from '../client.ts'
import type { Output } from '../context.ts'

interface Shared {
  readonly used: Readonly<Record<string, number>>
  readonly most: Readonly<Record<string, number>>
}

/** How much a swarm keeps for all of its conversations. */
export async function printSwarmUsage(openClient: ClientOpener, output: Output, agent: string): Promise<void> {
  const client = await openClient()
  try {
    const shared = (await client.request(`/operator/api/agents/${encodeURIComponent(agent)}/swarm-usage`)) as Shared
    const rows = Object.entries(shared.most).map(([name, most]) => [name, String(shared.used[name]), String(most)])
    output.print(output.json ? JSON.stringify(shared, null, 2) : formatTable(['', 'used', 'most'], rows))
  } finally {
    await client.close()
  }
}
