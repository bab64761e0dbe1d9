import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import type { ApiOutput } from '../context.ts'
import { printAnswer } from '../print-list.ts'
import { banOperations } from './route.ts'

/** Whom the policies of a swarm have banned. */
export function printBans(output: ApiOutput, agent: string): Promise<void> {
  const asked = { operation: banOperations.list, input: { parameters: { agent } } }
  return printAnswer(output, asked, ({ items }) =>
    formatTable(
      ['id', 'policy', 'who'],
      items.map(({ id, policy, subject }) => [id, policy, subject]),
    ),
  )
}

/** Ends one of them. */
export function liftBan(output: ApiOutput, named: { readonly agent: string; readonly id: string }): Promise<void> {
  const asked = { operation: banOperations.lift, input: { parameters: named } }
  return printAnswer(output, asked, () => `${toTerminalLine(named.id)}: lifted`)
}
