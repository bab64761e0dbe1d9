// Prints the senders that a swarm has banned, and lifts a ban.
import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import { createOperationView } from '../operation-view.ts'
import { banOperations } from './route.ts'

export const banViews = {
  list: createOperationView(banOperations.list, ({ items }) =>
    formatTable(
      ['id', 'policy', 'who'],
      items.map(({ id, policy, subject }) => [id, policy, subject]),
    ),
  ),
  lift: createOperationView(banOperations.lift, ({ id }) => `${toTerminalLine(id)}: lifted`),
}
