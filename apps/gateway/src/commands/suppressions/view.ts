import type { Relation } from '@postern/core'
import { formatTable } from '../../terminal/table.ts'
import { toTerminalLine } from '../../terminal/text.ts'
import type { ClientOpener } from '../client.ts'
import type { Output } from '../context.ts'

/** Where an agent's mail did not arrive, or was complained of. */
export async function printSuppressions(openClient: ClientOpener, output: Output, agent: string): Promise<void> {
  const client = await openClient()
  try {
    const path = `/operator/api/suppressions?${new URLSearchParams({ agent })}`
    const listed = (await client.request(path)) as { suppressions: readonly Relation[] }
    output.print(output.json ? JSON.stringify(listed, null, 2) : formatSuppressions(listed.suppressions))
  } finally {
    await client.close()
  }
}

function formatSuppressions(suppressions: readonly Relation[]): string {
  return formatTable(
    ['since', 'who', 'why'],
    suppressions.map(({ since, peer, target }) => [new Date(since).toISOString().slice(0, 19), peer, String(target)]),
  )
}

/** The agent may write there again. */
export async function liftSuppression(
  openClient: ClientOpener,
  output: Output,
  lift: { readonly agent: string; readonly peer: string },
): Promise<void> {
  const client = await openClient()
  try {
    await client.request('/operator/api/suppressions/lift', { method: 'POST', body: lift })
    output.print(`${toTerminalLine(lift.peer)}: may be written to again`)
  } finally {
    await client.close()
  }
}
