// Prints the number of deleted rows of each kind; with `--dry-run`, of rows that would be deleted.
import { formatTable } from '../../terminal/text.ts'
import { createOperationView } from '../operation-view.ts'
import { pruneOperation } from './route.ts'

export const pruneView = createOperationView(
  pruneOperation,
  ({ dry_run, messages, unproven, raw, files, refused, bytes }) => {
    const rows = Object.entries({ messages, unproven, raw, files, refused })
    const table = formatTable(
      [dry_run ? 'would be deleted' : 'deleted', 'number'],
      rows.map(([kind, number]) => [kind, String(number)]),
    )
    return `${table}\n${bytes} bytes; "retention" in the configuration sets the ages`
  },
)
