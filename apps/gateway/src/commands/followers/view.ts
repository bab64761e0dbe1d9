import type { Relation, RelationKind } from '@postern/core'
import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import type { ApiOutput } from '../context.ts'
import { printAnswer, printList } from '../print-list.ts'
import { followerOperations } from './route.ts'

/** Who follows an agent, or asks to. */
export function printFollowers(output: ApiOutput, agent: string, relation: RelationKind): Promise<void> {
  return printList(output, {
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
export function decideFollowRequest(
  output: ApiOutput,
  verdict: 'accept' | 'reject',
  request: { readonly agent: string; readonly peer: string },
): Promise<void> {
  const input = { parameters: { verdict }, body: request }
  return printAnswer(output, followerOperations.decide, input, () => `${toTerminalLine(request.peer)}: ${verdict}ed`)
}
