import type { DataContext } from './context.ts'
import { keepRecord } from './kept-record.ts'
import type { StorageItems } from './storage.ts'
import type { StorageItem, StorageSpec } from './storage-spec.ts'

/** A client's own items, in one record. */
export function keepOwnItems<Item extends StorageItem>(
  spec: Pick<StorageSpec<Item>, 'storageName' | 'getDefault'>,
  { records, placeOf, clientId }: DataContext,
): StorageItems<Item> {
  const record = keepRecord<Item[]>(records, placeOf('storage', spec.storageName))
  const makeDefault = async () => [...((await spec.getDefault?.(clientId, spec.storageName)) ?? [])]
  const readAll = async () => (await record.read()) ?? (await makeDefault())
  const change = async (make: (items: readonly Item[]) => readonly Item[]) =>
    void (await record.change(async items => [...make(items ?? (await makeDefault()))]))

  return {
    find: async id => (await readAll()).find(item => item.id === id) ?? null,
    readAll,
    put: item => change(items => putItem(items, item)),
    remove: id => change(items => items.filter(item => item.id !== id)),
    clear: async () => void (await record.change(() => [])),
  }
}

function putItem<Item extends StorageItem>(items: readonly Item[], item: Item): readonly Item[] {
  const at = items.findIndex(({ id }) => id === item.id)
  return at < 0 ? [...items, item] : items.with(at, item)
}
