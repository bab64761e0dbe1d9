import type { Database } from '../engine/database.ts'
import { prepareQuery } from '../engine/database.ts'
import { createSaidRemoval } from './transcript-removal.ts'

/** The newest number is kept, empty, so that it is not given again. */
export function createEntryRemoval(db: Database): (seq: number) => void {
  const blank = prepareQuery(
    db,
    `UPDATE entries SET content = '[]', author = '{"address":"@forgotten@forgotten.invalid"}', native_id = NULL,
       scope = 'forgotten' WHERE seq = ? AND seq = (SELECT max(seq) FROM entries)`,
  )
  const end = prepareQuery(db, 'DELETE FROM entries WHERE seq = ?')
  const endLines = createSaidRemoval(db)
  return seq => {
    endLines(seq)
    if (blank.run(seq).changes === 0) end.run(seq)
  }
}
