import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import type { ApiOutput } from '../context.ts'
import { printAnswer } from '../print-list.ts'
import { banOperations } from './route.ts'

/** Whom the policies of a swarm have banned. */
export function printBans(output: ApiOutput, agent: string): Promise<void> {
  return printAnswer(output, banOperations.list, { parameters: { agent } }, ({ items }) =>
    formatTable(
      ['id', 'policy', 'who'],
      items.map(({ id, policy, subject }) => [id, policy, subject]),
    ),
  )
}

/** Ends one of them. */
export function liftBan(output: ApiOutput, named: { readonly agent: string; readonly id: string }): Promise<void> {
  return printAnswer(output, banOperations.lift, { parameters: named }, () => `${toTerminalLine(named.id)}: lifted`)
}
