import type { Relation } from '@postern/core'
import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import type { ApiOutput } from '../context.ts'
import { printAnswer, printList } from '../print-list.ts'
import { suppressionOperations } from './route.ts'

/** Where an agent's mail did not arrive, or was complained of. */
export function printSuppressions(output: ApiOutput, agent: string): Promise<void> {
  return printList(output, {
    readPage: (client, page) => client.call(suppressionOperations.list, { query: { agent, ...page } }),
    format: formatSuppressions,
  })
}

function formatSuppressions(suppressions: readonly Relation[]): string {
  return formatTable(
    ['since', 'who', 'why'],
    suppressions.map(({ since, peer, target }) => [new Date(since).toISOString().slice(0, 19), peer, String(target)]),
  )
}

/** The agent may write there again. */
export function liftSuppression(
  output: ApiOutput,
  lift: { readonly agent: string; readonly peer: string },
): Promise<void> {
  const done = `${toTerminalLine(lift.peer)}: may be written to again`
  return printAnswer(output, suppressionOperations.lift, { body: lift }, () => done)
}
