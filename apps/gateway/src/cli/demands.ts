import type { ConfigFile } from '../config/read-config.ts'
import { toTerminalLine } from '../terminal-text.ts'
import type { Output } from './commands.ts'
import { openOperatorClient } from './operator-client.ts'
import { formatTable } from './table.ts'

interface ListedDemand {
  readonly id: string
  readonly agent: string
  readonly via: string
  readonly message: number
  readonly kind: string
  readonly address: string
  readonly status: string
  readonly expires_at: string
  readonly policy: { readonly message: string }
}

/** What agents wait for. */
export async function printDemands(file: ConfigFile, output: Output, status: string | undefined): Promise<void> {
  const client = await openOperatorClient(file)
  try {
    const query = status ? `?${new URLSearchParams({ status })}` : ''
    const listed = (await client.request(`/operator/api/demands${query}`)) as { demands: readonly ListedDemand[] }
    output.print(output.json ? JSON.stringify(listed, null, 2) : formatDemands(listed.demands))
  } finally {
    await client.close()
  }
}

function formatDemands(demands: readonly ListedDemand[]): string {
  return formatTable(
    ['id', 'agent', 'of', 'kind', 'status', 'until', 'what', 'message'],
    demands.map(({ id, agent, address, kind, status, expires_at, policy, message }) => [
      id,
      agent,
      address,
      kind,
      status,
      expires_at.slice(0, 16),
      policy.message.slice(0, 60),
      `#${message}`,
    ]),
  )
}

/** The operator's word on one of them. */
export async function decideListedDemand(
  file: ConfigFile,
  output: Output,
  { id, outcome }: { readonly id: string; readonly outcome: 'granted' | 'declined' },
): Promise<void> {
  const client = await openOperatorClient(file)
  try {
    const path = `/operator/api/demands/${encodeURIComponent(id)}`
    const decided = await client.request(path, { method: 'POST', body: { outcome } })
    output.print(output.json ? JSON.stringify(decided, null, 2) : `${toTerminalLine(id)}: ${outcome}`)
  } finally {
    await client.close()
  }
}
