import type { AgentAction } from '@postern/core'
import type { ClientOpener } from '../client.ts'
import type { Output } from '../context.ts'

/** Lets an agent do something of itself; prints the ids of what it posted. */
export async function performAction(
  openClient: ClientOpener,
  output: Output,
  agent: string,
  act: AgentAction,
): Promise<void> {
  const client = await openClient()
  try {
    const path = `/operator/api/agents/${encodeURIComponent(agent)}/acts`
    const { done } = (await client.request(path, { method: 'POST', body: { acts: [act] } })) as {
      done: readonly { act: string; id?: string }[]
    }
    const lines = done.map(({ act: kind, id }) => (id ? `${kind}: ${id}` : `${kind}: done`))
    output.print(output.json ? JSON.stringify({ done }, null, 2) : lines.join('\n'))
  } finally {
    await client.close()
  }
}
