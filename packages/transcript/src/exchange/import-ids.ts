import { createHash } from 'node:crypto'
import { formatUuid } from '../json/uuid.ts'
import type { ThreadKey } from '../store/transcript-store.ts'
import { takeSlices } from './slices.ts'

/** Ids for entries of an import. */
interface ImportIds {
  /** The first result of `next`. */
  readonly first: string
  next(): string
}

/** The same messages in the same thread get the same ids, so that a repeated import finds its earlier entries. */
export async function createImportIds(
  { thread_id }: ThreadKey,
  format: string,
  messages: readonly unknown[],
): Promise<ImportIds> {
  const content = createHash('sha256').update(JSON.stringify([thread_id, format]))
  for await (const { slice } of takeSlices(messages)) content.update(JSON.stringify(slice))
  const seed = content.digest('hex')
  const idOf = (count: number) => formatUuid(createHash('sha256').update(`${seed} ${count}`).digest('hex').slice(0, 32))
  let count = 0
  return {
    first: idOf(0),
    next() {
      count += 1
      return idOf(count - 1)
    },
  }
}
