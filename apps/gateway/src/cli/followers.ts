import type { Relation, RelationKind } from '@postern/core'
import type { ConfigFile } from '../config/read-config.ts'
import { toTerminalLine } from '../terminal-text.ts'
import type { Output } from './commands.ts'
import { openOperatorClient } from './operator-client.ts'
import { formatTable } from './table.ts'

/** Who follows an agent, or asks to. */
export async function printFollowers(
  file: ConfigFile,
  output: Output,
  agent: string,
  relation: RelationKind,
): Promise<void> {
  const client = await openOperatorClient(file)
  try {
    const query = new URLSearchParams({ agent, relation })
    const listed = (await client.request(`/operator/api/relations?${query}`)) as { relations: readonly Relation[] }
    output.print(output.json ? JSON.stringify(listed, null, 2) : formatRelations(listed.relations))
  } finally {
    await client.close()
  }
}

function formatRelations(relations: readonly Relation[]): string {
  return formatTable(
    ['since', 'who'],
    relations.map(({ since, peer }) => [new Date(since).toISOString().slice(0, 19), peer]),
  )
}

/** Lets one who asks to follow an agent in, or sends him away. */
export async function decideFollowRequest(
  file: ConfigFile,
  output: Output,
  verdict: 'accept' | 'reject',
  request: { readonly agent: string; readonly peer: string },
): Promise<void> {
  const client = await openOperatorClient(file)
  try {
    await client.request(`/operator/api/follow-requests/${verdict}`, { method: 'POST', body: request })
    output.print(`${toTerminalLine(request.peer)}: ${verdict}ed`)
  } finally {
    await client.close()
  }
}
