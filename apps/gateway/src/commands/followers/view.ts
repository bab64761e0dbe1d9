import type { Relation, RelationKind } from '@postern/core'
import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import type { ClientOpener } from '../client.ts'
import type { Output } from '../context.ts'
import { printList } from '../print-list.ts'
import { followerOperations } from './route.ts'

/** Who follows an agent, or asks to. */
export function printFollowers(
  openClient: ClientOpener,
  output: Output,
  agent: string,
  relation: RelationKind,
): Promise<void> {
  return printList(openClient, output, {
    readPage: (client, page) => client.call(followerOperations.list, { query: { agent, relation, ...page } }),
    format: formatRelations,
  })
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
    await client.call(followerOperations.decide, { parameters: { verdict }, body: request })
    output.print(`${toTerminalLine(request.peer)}: ${verdict}ed`)
  } finally {
    await client.close()
  }
}
