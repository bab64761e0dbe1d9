import { Rejection } from '@postern/core'
import { copyJson, hashContent } from '@postern/transcript'
import type { DataContext } from './context.ts'
import type { StorageItem, StorageSpec } from './storage-spec.ts'

export const defaultScore = 0.65

interface Search {
  readonly search: string
  readonly total: number
  readonly score: number
}

/** The nearest in meaning, nearest first. @throws Rejection unsupported without `embed` */
export async function findNearest<Item extends StorageItem>(
  items: readonly Item[],
  { search, total, score }: Search,
  { createIndex = indexItem, embed, storageName }: StorageSpec<Item>,
  data: DataContext,
): Promise<readonly Item[]> {
  if (!embed) throw new Rejection('unsupported', 'Cannot search storage: it has no embedding')
  const embedOnce = (text: string) => embedKept(text, embed, storageName, data)
  const wanted = await embedOnce(search)
  const rated: { readonly item: Item; readonly nearness: number }[] = []
  for (const item of items) {
    rated.push({ item, nearness: compareDirections(wanted, await embedOnce(await createIndex(item))) })
  }
  const near = rated.filter(({ nearness }) => nearness >= score).sort((a, b) => b.nearness - a.nearness)
  return near.slice(0, Math.max(0, total)).map(({ item }) => item)
}

function indexItem(item: StorageItem): string {
  return Object.values(item)
    .filter(value => typeof value === 'string')
    .join('\n')
}

/** Keeps the numbers of each text, so that it is embedded once. */
async function embedKept(
  text: string,
  embed: NonNullable<StorageSpec['embed']>,
  storageName: string,
  { records, owner }: DataContext,
): Promise<readonly number[]> {
  const place = { kind: 'swarm-embedding', owner, key: hashContent([storageName, text]) }
  const kept = await records.get(place)
  if (kept) return kept.value as readonly number[]
  const made = await embed(text)
  await records.put(place, copyJson([...made]))
  return made
}

/** Cosine of the angle between them. */
function compareDirections(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) =>
    x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0)
  const length = Math.sqrt(dot(a, a) * dot(b, b))
  return length === 0 ? 0 : dot(a, b) / length
}
