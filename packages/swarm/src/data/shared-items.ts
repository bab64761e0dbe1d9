// Stores the items of a storage. The items of one client are one record, and each shared item is a separate record.
import type { DataContext } from './data-context.ts'
import { kindOfItems } from './data-context.ts'
import { openSharedRecord, writeRecord } from './state.ts'
import type { StorageItem, StorageItems, StorageSpec } from './storage.ts'

/** Opens items that all clients share. Each is a separate record, so that it can be added, removed and counted separately. */
export function openSharedItems<Item extends StorageItem>(storageName: string, data: DataContext): StorageItems<Item> {
  const { records, owner } = data
  const kind = kindOfItems(storageName)
  const itemKeyOf = (id: Item['id']) => ({ kind, owner, key: JSON.stringify(id) })

  /** Splits items that an earlier release stored in one record. */
  async function splitItems(): Promise<void> {
    const recordKey = data.recordKeyOf('storage', storageName)
    const items = (await records.get(recordKey))?.value
    if (items === undefined) return
    for (const item of Array.isArray(items) ? (items as readonly Item[]) : [])
      await records.insert(itemKeyOf(item.id), item)
    await records.remove(recordKey)
  }

  let splitPromise: Promise<void> | undefined
  function ensureSplit(): Promise<void> {
    splitPromise ??= splitItems().catch(error => {
      splitPromise = undefined
      throw error
    })
    return splitPromise
  }

  return {
    async find(id) {
      await ensureSplit()
      return ((await records.get(itemKeyOf(id)))?.value as Item | undefined) ?? null
    },
    async readAll() {
      await ensureSplit()
      return (await records.list(kind, owner)).map(({ value }) => value as Item).toReversed()
    },
    async put(item) {
      await ensureSplit()
      await writeRecord(itemKeyOf(item.id), () => item, { records, label: 'item' })
    },
    async remove(id) {
      await ensureSplit()
      await records.remove(itemKeyOf(id))
    },
    async clear() {
      await ensureSplit()
      for (const { key } of await records.list(kind, owner)) await records.remove({ kind, owner, key })
    },
  }
}

/** Opens a client's own items, which are stored in one record. */
export function openOwnItems<Item extends StorageItem>(
  spec: Pick<StorageSpec<Item>, 'storageName' | 'getDefault'>,
  { records, recordKeyOf, clientId }: DataContext,
): StorageItems<Item> {
  const record = openSharedRecord<Item[]>(records, recordKeyOf('storage', spec.storageName))
  const createDefault = async () => [...((await spec.getDefault?.(clientId, spec.storageName)) ?? [])]
  const readAll = async () => (await record.read()) ?? (await createDefault())
  const change = async (createItems: (items: readonly Item[]) => readonly Item[]) =>
    void (await record.change(async items => [...createItems(items ?? (await createDefault()))]))

  return {
    find: async id => (await readAll()).find(item => item.id === id) ?? null,
    readAll,
    put: item => change(items => putItem(items, item)),
    remove: id => change(items => items.filter(item => item.id !== id)),
    clear: async () => void (await record.change(() => [])),
  }
}

function putItem<Item extends StorageItem>(items: readonly Item[], item: Item): readonly Item[] {
  const index = items.findIndex(({ id }) => id === item.id)
  return index < 0 ? [...items, item] : items.with(index, item)
}
