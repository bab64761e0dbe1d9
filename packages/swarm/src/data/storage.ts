// Stores items of clients and searches them by meaning.
import type { Json } from '@postern/message'
import { Rejection } from '@postern/message'
import { copyJson, hashContent } from '@postern/transcript'
import type { DataContext } from './data-context.ts'
import { kindOfEmbeddings, kindOfItems } from './data-context.ts'

/**
 * The items of one client or of all clients, by id. They survive restarts. A storage suits hundreds of items, but not a hundred thousand, because a
 * client's items are in one record.
 */
export interface ClientStorage<Item extends StorageItem = StorageItem> {
  get(id: Item['id']): Promise<Item | null>
  /** Lists the items in the order of their first insertion. */
  list(filter?: (item: Item) => boolean): Promise<readonly Item[]>
  /** Inserts the item or replaces the one with its id. @throws TypeError for an item that is not JSON */
  upsert(item: Item): Promise<void>
  remove(id: Item['id']): Promise<void>
  /** Removes all items, including the default ones. */
  clear(): Promise<void>
  /**
   * Finds the items nearest in meaning, nearest first, with at least `score` (−1 to 1, default 0.65). @throws Rejection unsupported without `embed`
   */
  take(search: string, total: number, score?: number): Promise<readonly Item[]>
}

/** The stored items, in one record or in many. */
export interface StorageItems<Item extends StorageItem> {
  find(id: Item['id']): Promise<Item | null>
  /** Reads all items in the order of their first insertion. */
  readAll(): Promise<readonly Item[]>
  put(item: Item): Promise<void>
  remove(id: Item['id']): Promise<void>
  clear(): Promise<void>
}

/** Creates a storage that emits an event for each change. */
export function createClientStorage<Item extends StorageItem>(
  spec: StorageSpec<Item>,
  data: DataContext,
  items: StorageItems<Item>,
): ClientStorage<Item> {
  const { storageName } = spec

  function emit(type: string, input: Record<string, Json | undefined>, output: Record<string, Json> = {}): void {
    data.emit('storage-bus', { type, context: { storageName }, input, output })
  }

  return {
    async get(itemId) {
      const value = await items.find(itemId)
      emit('get', { itemId }, { value })
      return value
    },
    async list(filter = () => true) {
      const value = (await items.readAll()).filter(filter)
      emit('list', {}, { value })
      return value
    },
    async upsert(newItem) {
      const item = copyJson(newItem) as Item
      if (!['string', 'number'].includes(typeof item.id)) throw new TypeError('an item has an id, a text or a number')
      await items.put(item)
      emit('upsert', { item })
    },
    async remove(itemId) {
      await items.remove(itemId)
      emit('remove', { itemId })
    },
    async clear() {
      await items.clear()
      emit('clear', {})
    },
    async take(search, total, score = defaultScore) {
      const value = await findNearest(await items.readAll(), { search, total, score }, spec, data)
      emit('take', { search, total, score }, { value: [...value] })
      return value
    },
  }
}

export type StorageItem = { readonly id: string | number } & { readonly [name: string]: Json }

export interface StorageSpec<Item extends StorageItem = StorageItem> {
  readonly storageName: string
  /** True for one storage for all clients. */
  readonly isShared?: boolean | undefined
  /** Returns the initial items. Default: none. */
  getDefault?(clientId: string, storageName: string): Promise<readonly Item[]> | readonly Item[]
  /** Returns the text by which an item is found. Default: all its text. */
  createIndex?(item: Item): Promise<string> | string
  /** Converts a text to a vector. Texts of similar meaning have a similar direction. Without it there is no search by text. */
  embed?(text: string): Promise<readonly number[]>
}

const defaultScore = 0.65

/** Finds the items nearest in meaning, nearest first. @throws Rejection unsupported without `embed` */
async function findNearest<Item extends StorageItem>(
  items: readonly Item[],
  { search, total, score }: { readonly search: string; readonly total: number; readonly score: number },
  spec: StorageSpec<Item>,
  data: DataContext,
): Promise<readonly Item[]> {
  const { createIndex = indexItem, embed } = spec
  if (!embed) throw new Rejection('unsupported', 'Cannot search storage: it has no embedding')
  await removeUntiedEmbeddings(data)
  const embedOnce = createStoredEmbedding(embed, spec, data)
  const searchEmbedding = await embedOnce(search)
  const ratedItems: { readonly item: Item; readonly similarity: number }[] = []
  for (const item of items) {
    ratedItems.push({
      item,
      similarity: computeSimilarity(searchEmbedding, await embedOnce(await createIndex(item), item)),
    })
  }
  const nearItems = ratedItems
    .filter(({ similarity: nearness }) => nearness >= score)
    .sort((a, b) => b.similarity - a.similarity)
  return nearItems.slice(0, Math.max(0, total)).map(({ item }) => item)
}

function indexItem(item: StorageItem): string {
  return Object.values(item)
    .filter(value => typeof value === 'string')
    .join('\n')
}

/**
 * Creates an embedding that stores the vector of each text, so that each text is embedded once. A vector is removed with the item of the text, or, for
 * a search, with the message that searched.
 */
function createStoredEmbedding<Item extends StorageItem>(
  embed: NonNullable<StorageSpec['embed']>,
  { storageName, isShared = false, getDefault }: StorageSpec<Item>,
  { records, owner }: DataContext,
): (text: string, item?: Item) => Promise<readonly number[]> {
  const kind = kindOfEmbeddings(storageName, { isShared })
  const isStoredSeparately = isShared && !getDefault
  const sourceOf = ({ id }: Item) => ({ kind: kindOfItems(storageName), owner, key: JSON.stringify(id) })
  return async (text, item) => {
    const recordKey = { kind, owner, key: hashContent([storageName, text]) }
    const storedEmbedding = await records.get(recordKey)
    if (storedEmbedding) return storedEmbedding.value as readonly number[]
    const embedding = await embed(text)
    const ties = isStoredSeparately && item ? { source: sourceOf(item) } : {}
    await records.insert(recordKey, copyJson([...embedding]), ties).catch(ignoreFull)
    return embedding
  }
}

/** Removes vectors that an earlier release stored without a tie to an item or message. */
async function removeUntiedEmbeddings({ records, owner }: DataContext): Promise<void> {
  const kind = 'swarm-embedding'
  for (const { key } of await records.list(kind, owner, { limit: 100 })) await records.remove({ kind, owner, key })
}

/** Ignores a full store. A search works without storing the vector, and the next search embeds the text again. */
function ignoreFull(error: unknown): void {
  if (!(error instanceof Rejection && error.code === 'too_large')) throw error
}

/** Returns the cosine of the angle between two vectors. */
function computeSimilarity(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) =>
    x.reduce((sum, value, index) => sum + value * (y[index] ?? 0), 0)
  const length = Math.sqrt(dot(a, a) * dot(b, b))
  return length === 0 ? 0 : dot(a, b) / length
}
