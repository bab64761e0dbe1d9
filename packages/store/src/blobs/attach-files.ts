// Stores files that a peer hosts, so that they become part of their messages.
import type { Part } from '@postern/message'
import type { LinkedFile, WorkStore } from '@postern/pipeline'
import { replaceStoredLinks } from '@postern/pipeline'
import { refuseLostLease } from '../queue/lost-lease.ts'
import { formatJson, parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { EntryTable } from '../threads/entries.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { BlobTable } from './blob-table.ts'

/** Creates the function that stores linked files with their messages. The files are deleted together with the messages. */
export function createFileAttacher(
  { db, write, files }: StoreContext,
  tables: { readonly entries: EntryTable; readonly blobs: BlobTable },
): Pick<WorkStore, 'attachFiles'> {
  const selectLease = db.prepare(
    'SELECT 1 FROM turns WHERE message = ? AND lease_token = ? AND lease_owner IS NOT NULL',
  )
  const findContent = db.prepare<{ content: string }>('SELECT content FROM messages WHERE seq = ?')

  /** Stores files with a message. Files to which its content no longer links are skipped, because an edit may have changed it in the meantime. */
  function* attachFiles(message: number, linkedFiles: readonly LinkedFile[]): Operation<void> {
    const content = (yield* findContent.get(message))?.content
    if (content === undefined) return
    const parts = parseJson<readonly Part[]>(content)
    const namedFiles = linkedFiles.filter(({ url }) => content.includes(formatJson(url)))
    if (namedFiles.length === 0) return
    tables.entries.reword(message, formatJson(replaceStoredLinks(parts, namedFiles)))
    yield* tables.blobs.insertAll(namedFiles, message)
  }

  return {
    async attachFiles(turn, linkedFiles) {
      const leasedTurns = await files.retainDuring(linkedFiles, () =>
        write(function* () {
          if (!(yield* selectLease.get(turn.message, turn.token))) return 0
          for (const message of [...(turn.merged ?? []), turn.message]) yield* attachFiles(message, linkedFiles)
          return 1
        }),
      )
      refuseLostLease(leasedTurns, `turn ${turn.message}`)
    },
  }
}
