import { formatTable } from '../../terminal/table.ts'
import type { ClientOpener } from '../client.ts'
import type { Output } from '../context.ts'

interface ListedBan {
  readonly id: string
  readonly policy: string
  readonly subject: string
}

/** Whom the policies of a swarm have banned. */
export async function printBans(openClient: ClientOpener, output: Output, agent: string): Promise<void> {
  const client = await openClient()
  try {
    const path = `/operator/api/agents/${encodeURIComponent(agent)}/bans`
    const listed = (await client.request(path)) as { bans: readonly ListedBan[] }
    const rows = listed.bans.map(({ id, policy, subject }) => [id, policy, subject])
    output.print(output.json ? JSON.stringify(listed, null, 2) : formatTable(['id', 'policy', 'who'], rows))
  } finally {
    await client.close()
  }
}
