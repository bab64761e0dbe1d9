// Prints the addresses that an agent no longer writes to, and lifts a suppression.
import { isoTime } from '@postern/message'
import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import { createListView, createOperationView } from '../operation-view.ts'
import { suppressionOperations } from './route.ts'

export const suppressionViews = {
  list: createListView(suppressionOperations.list, suppressions =>
    formatTable(
      ['since', 'who', 'why'],
      suppressions.map(({ since, peer, target }) => [isoTime(since).slice(0, 19), peer, String(target)]),
    ),
  ),
  lift: createOperationView(
    suppressionOperations.lift,
    ({ peer }) => `${toTerminalLine(peer)}: the agent may write to it again`,
    {
      read: ({ agent, address }) => ({ agent, peer: address }),
    },
  ),
}
