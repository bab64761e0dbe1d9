import type { Relation, RelationKind } from '@postern/core'
import { formatTable } from '../../terminal/table.ts'
import { toTerminalLine } from '../../terminal/text.ts'
import type { ClientOpener } from '../client.ts'
import type { Output } from '../context.ts'

/** Who follows an agent, or asks to. */
export async function printFollowers(
  openClient: ClientOpener,
  output: Output,
  agent: string,
  relation: RelationKind,
): Promise<void> {
  const client = await openClient()
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

/** Accepts or refuses somebody who asks to follow an agent. */
export async function decideFollowRequest(
  openClient: ClientOpener,
  output: Output,
  verdict: 'accept' | 'reject',
  request: { readonly agent: string; readonly peer: string },
): Promise<void> {
  const client = await openClient()
  try {
    await client.request(`/operator/api/follow-requests/${verdict}`, { method: 'POST', body: request })
    output.print(`${toTerminalLine(request.peer)}: ${verdict}ed`)
  } finally {
    await client.close()
  }
}
