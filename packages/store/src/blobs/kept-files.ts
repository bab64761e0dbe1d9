import type { KeptFile, Part, WorkStore } from '@postern/core'
import { pointToKept } from '@postern/core'
import type { EntryTable } from '../conversations/entries.ts'
import { formatJson, parseJson, prepareQuery } from '../engine/database.ts'
import { refuseLostLease } from '../engine/lease.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { BlobTable } from './table.ts'

/** Files that lay elsewhere are part of their messages from now on, and go with them. */
export function createFileKeeping(
  { db, write, files }: StoreContext,
  tables: { readonly entries: EntryTable; readonly blobs: BlobTable },
): Pick<WorkStore, 'keepFiles'> {
  const isHeld = prepareQuery(
    db,
    'SELECT 1 FROM turns WHERE message = ? AND lease_token = ? AND lease_owner IS NOT NULL',
  )
  const findWords = prepareQuery<{ content: string }>(db, 'SELECT content FROM messages WHERE seq = ?')

  /** Its words may have changed meanwhile: what they do not name any more is not kept. */
  function keepIn(message: number, kept: readonly KeptFile[]): void {
    const content = findWords.get(message)?.content
    if (content === undefined) return
    const parts = parseJson<readonly Part[]>(content)
    const named = kept.filter(({ url }) => content.includes(formatJson(url)))
    if (named.length === 0) return
    tables.entries.reword(message, formatJson(pointToKept(parts, named)))
    tables.blobs.keepAll(named, message)
  }

  return {
    async keepFiles(turn, kept) {
      const held = await files.hold(kept, () =>
        write(() => {
          if (!isHeld.get(turn.message, turn.token)) return 0
          for (const message of [...(turn.merged ?? []), turn.message]) keepIn(message, kept)
          return 1
        }),
      )
      refuseLostLease(held, `turn ${turn.message}`)
    },
  }
}
