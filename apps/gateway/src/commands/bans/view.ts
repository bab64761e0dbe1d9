import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import type { ClientOpener } from '../client.ts'
import type { Output } from '../context.ts'
import { printAnswer } from '../print-list.ts'
import { banOperations } from './route.ts'

/** Whom the policies of a swarm have banned. */
export function printBans(openClient: ClientOpener, output: Output, agent: string): Promise<void> {
  const asked = { operation: banOperations.list, input: { parameters: { agent } } }
  return printAnswer(openClient, output, asked, ({ items }) =>
    formatTable(
      ['id', 'policy', 'who'],
      items.map(({ id, policy, subject }) => [id, policy, subject]),
    ),
  )
}

/** Ends one of them. */
export function liftBan(
  openClient: ClientOpener,
  output: Output,
  named: { readonly agent: string; readonly id: string },
): Promise<void> {
  const asked = { operation: banOperations.lift, input: { parameters: named } }
  return printAnswer(openClient, output, asked, () => `${toTerminalLine(named.id)}: lifted`)
}
