import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { OperationFailed } from '../../sqlite/write/transactions.ts'
import type { Batch } from '../../transaction/batch.ts'
import { createBatch } from '../../transaction/batch.ts'
import type { RunWrites } from './transaction.ts'
import { createPostgresWriter } from './writer.ts'

/** Creates transactions that end at the test's request, with the results of their operations. */
function openBench() {
  const begun: { readonly names: readonly string[]; end(): void; fail(error: Error): void }[] = []
  const writeTogether: RunWrites = shares =>
    new Promise((resolve, reject) => {
      const end = () => {
        const batch = createBatch()
        resolve({ results: shares.map(({ operation }) => operation(batch)), batch })
      }
      begun.push({ names: shares.map(({ operation }) => String(operation(createBatch()))), end, fail: reject })
    })
  const durable: Batch[] = []
  const writer = createPostgresWriter(writeTogether, { onDurable: batch => void durable.push(batch) })
  const heard: string[] = []
  const put = (name: string, conflictKeys?: string, size?: number) =>
    writer
      .write(() => name, { conflictKeys: () => conflictKeys?.split(' '), ...(size !== undefined && { size }) })
      .then(result => void heard.push(result))
  const names = () => begun.map(each => each.names.join(' '))
  return { writer, put, begun, names, heard, durable }
}

/** Waits longer than writes gather. */
const gathered = () => delay(20)

test('writes that arrive together share a transaction, and later writes start a parallel one', async () => {
  const { put, begun, names, heard } = openBench()
  const all = [put('a', 'x'), put('b', 'y')]
  await gathered()
  all.push(put('c', 'z'), put('d', 'w'))
  await gathered()
  all.push(put('e', 'v'))
  await gathered()
  expect(names()).toEqual(['a b', 'c d'])
  begun[1]?.end()
  await gathered()
  expect([names(), heard]).toEqual([
    ['a b', 'c d', 'e'],
    ['c', 'd'],
  ])
  for (const { end } of begun) end()
  await Promise.all(all)
})

test('a write waits for a running write with a common name, and later writes with that name wait too', async () => {
  const { put, begun, names } = openBench()
  const all = [put('a', 'x')]
  await gathered()
  all.push(put('b', 'x y'), put('c', 'y'), put('d', 'z'))
  await gathered()
  expect(names()).toEqual(['a', 'd'])
  begun[0]?.end()
  await gathered()
  expect(names()).toEqual(['a', 'd', 'b c'])
  for (const { end } of begun) end()
  await Promise.all(all)
})

test('a write without names runs alone, after all earlier and before all later writes', async () => {
  const { put, begun, names } = openBench()
  const all = [put('a', 'x'), put('b'), put('c', 'y')]
  await gathered()
  expect(names()).toEqual(['a'])
  begun[0]?.end()
  await gathered()
  expect(names()).toEqual(['a', 'b'])
  begun[1]?.end()
  await gathered()
  expect(names()).toEqual(['a', 'b', 'c'])
  begun[2]?.end()
  await Promise.all(all)
})

test('a writer gets its result before a lease that may have found its work, and leases never run in parallel', async () => {
  const { writer, put, begun, names, heard } = openBench()
  const all = [put('a', 'x')]
  await gathered()
  const lease = () => writer.writeLast(() => 'lease').then(result => void heard.push(result))
  all.push(lease())
  await gathered()
  all.push(lease())
  await gathered()
  expect(names()).toEqual(['a', 'lease'])
  begun[1]?.end()
  await gathered()
  expect(heard).toEqual([])
  begun[0]?.end()
  await gathered()
  expect(heard).toEqual(['a', 'lease'])
  begun[2]?.end()
  await Promise.all(all)
})

test('a failed write does not fail the other writes of its transaction', async () => {
  const { put, begun, names, heard } = openBench()
  const [one, other] = [put('a', 'x'), put('b', 'y')]
  await gathered()
  begun[0]?.fail(new OperationFailed('an operation failed', { cause: new Error('a cannot') }))
  await gathered()
  begun[1]?.fail(new OperationFailed('an operation failed', { cause: new Error('a cannot') }))
  await expect(one).rejects.toThrow('a cannot')
  await gathered()
  begun[2]?.end()
  await other
  expect([names(), heard]).toEqual([['a b', 'a', 'b'], ['b']])
})

test('the writer limits the size of a transaction, and a larger write runs alone', async () => {
  const { put, begun, names } = openBench()
  const all = [put('a', 'a', 9e6), put('b', 'b', 6e5), put('c', 'c', 4e5), put('d', 'd', 1e5), put('e', 'e')]
  for (let at = 0; at < 3; at += 1) {
    await gathered()
    begun[at]?.end()
  }
  await Promise.all(all)
  expect(names()).toEqual(['a', 'b c', 'd e'])
})

test('close() waits for earlier writes, and refuses later ones', async () => {
  const { writer, put, begun, heard } = openBench()
  const first = put('a', 'x')
  const closed = writer.close()
  await expect(put('b', 'y')).rejects.toThrow('the store is closed')
  await gathered()
  begun[0]?.end()
  await Promise.all([first, closed])
  expect(heard).toEqual(['a'])
})
