import { noLog } from '@postern/message'
import { sketchedChannels } from '@postern/testing'
import { drawCount } from '@postern/testing/scale'
import type { RecordStore } from '@postern/transcript'
import { createMemoryRecords } from '@postern/transcript'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openSqliteStore } from '../../index.ts'

type Step = readonly ['insert' | 'swap' | 'swap-stale' | 'put' | 'remove' | 'list', string, string, number]

/** Runs one step and returns its result. The version numbers of the stores differ, so the result contains no version. */
async function runStep(records: RecordStore, [verb, owner, key, value]: Step): Promise<unknown> {
  const recordKey = { kind: 'k', owner, key }
  const version = (await records.get(recordKey))?.version ?? -1
  const operations = {
    insert: () => records.insert(recordKey, value),
    swap: () => records.swap(recordKey, version, value),
    'swap-stale': () => records.swap(recordKey, version - 1, value),
    put: () => records.put(recordKey, value),
    remove: () => records.remove(recordKey),
    list: () => records.list('k', owner, { limit: 2, offset: value % 2 }).then(listed => listed.map(removeVersion)),
  }
  return operations[verb]()
}

const removeVersion = ({ key, value }: { readonly key: string; readonly value: unknown }) => ({ key, value })

test('the record store in the file behaves like the record store in memory', async () => {
  const store = await openSqliteStore({ channels: sketchedChannels, path: ':memory:', now: () => 1, log: noLog })
  let run = 0
  const step = fc.tuple(
    fc.constantFrom('insert', 'swap', 'swap-stale', 'put', 'remove', 'list'),
    fc.constantFrom('ann', 'bob'),
    fc.constantFrom('a', 'b', '../c', 'ann"'),
    fc.nat(9),
  ) as fc.Arbitrary<Step>
  const compareStores = async (steps: readonly Step[]) => {
    const memory = createMemoryRecords()
    run += 1
    for (const [verb, owner, key, value] of steps) {
      const result = await runStep(store.records, [verb, `${owner} ${run}`, key, value])
      expect(result).toEqual(await runStep(memory, [verb, `${owner} ${run}`, key, value]))
    }
  }
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 12 }), compareStores), {
    numRuns: drawCount({ quick: 30, long: 100 }),
  })
  await store.close()
})
