import type { Database } from '../engine/database.ts'
import { prepareQuery } from '../engine/database.ts'
import { createSaidRemoval } from './transcript-removal.ts'

/** What was said in a row and all that tells of it, as the assignments of an UPDATE; order, thread and task stay. */
const emptied = `kind = 'removed', scope = 'forgotten', content = '[]', author = '{"address":"@forgotten@forgotten.invalid"}',
  native_id = NULL, agent = NULL, channel = NULL, duplicate_key = NULL, fingerprint = NULL, correlation_id = NULL, principal = NULL,
  object = NULL, proofs = NULL, trace = NULL, arrival = NULL, flags = NULL, target = NULL, is_listed = 0, rendering = NULL, envelope = NULL, raw_form = NULL,
  raw_digest = NULL, raw = NULL`

/** The newest row is kept, empty, so that its seq is not given again. */
export function createEntryRemoval(db: Database): (seq: number) => void {
  const blank = prepareQuery(
    db,
    `UPDATE messages SET ${emptied} WHERE seq = ? AND seq = (SELECT max(seq) FROM messages)`,
  )
  const end = prepareQuery(db, 'DELETE FROM messages WHERE seq = ?')
  const endLines = createSaidRemoval(db)
  return seq => {
    endLines(seq)
    if (blank.run(seq).changes === 0) end.run(seq)
  }
}
