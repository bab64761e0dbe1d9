import { expect, test } from 'vitest'
import { touchedThread } from '../../together/touched.ts'
import type { PlainStatement } from '../connection/statement-session.ts'
import { createLockKeys } from './lock-keys.ts'
import { createNamedLocks } from './named-locks.ts'

const share = (names: string | undefined) => ({ operation() {}, touches: () => names?.split(' ') })

function openLocks() {
  const sent: string[] = []
  const keys = createLockKeys('postern')
  const add = ({ text, id }: PlainStatement, values: readonly (string | number)[]) => {
    sent.push(
      /shared/.test(text) ? 'share' : /unnest/.test(text) ? `take ${values}` : /try/.test(text) ? 'try' : 'alone',
    )
    return { ask: { id, values }, result: undefined }
  }
  const take = (...names: readonly string[]) => `take {${keys.keysOf(names).join()}}`
  return { locks: createNamedLocks(keys, add), keys, sent, take }
}

test('operations share a transaction if all of them say what they touch, or none does, and not too many names', () => {
  const { locks } = openLocks()
  expect(locks.countTogether([share('a'), share('b c'), share(undefined), share('d')])).toBe(2)
  expect(locks.countTogether([share(undefined), share(undefined), share('d')])).toBe(2)
  const many = Array.from({ length: 300 }, (_, at) => share(`a${at} b${at} c${at}`))
  expect(locks.countTogether(many)).toBe(170)
  expect(locks.countTogether([share(many.map((_, at) => `a${at} b${at}`).join(' ')), share('x')])).toBe(1)
})

test('a transaction takes each name once and in one order, and one that does not say what it touches keeps all others out', () => {
  const { locks, sent, take } = openLocks()
  locks.begin([share('b a'), share('c a')], 0)
  expect(locks.isAlone()).toBe(false)
  locks.begin([share(undefined)], 0)
  locks.begin(undefined, 0)
  expect(locks.isAlone()).toBe(true)
  expect(sent).toEqual(['share', take('a', 'b', 'c'), 'alone', 'alone'])
  expect(take('c', 'a', 'b')).toBe(take('b', 'c', 'a'))
})

test('a transaction that runs again takes at its beginning what it tried to take; run once more, it keeps all others out', () => {
  const { locks, sent, take } = openLocks()
  locks.begin([share('a')], 0)
  expect(locks.reserve('a')).toBeUndefined()
  expect(locks.reserve('b')).toBeDefined()
  locks.begin([share('a')], 1)
  expect(locks.reserve('b')).toBeUndefined()
  locks.begin([share('a')], 2)
  expect(locks.isAlone()).toBe(true)
  locks.begin([share('a')], 0)
  expect(sent).toEqual(['share', take('a'), 'try', 'share', take('a', 'b'), 'alone', 'share', take('a')])
})

test('the key of a thread is one that SQL can make of its number, and differs from one schema to another', () => {
  const [one, other] = ['one', 'other'].map(schema => createLockKeys(schema)) as [LockKeysUnderTest, LockKeysUnderTest]
  const [, first = '0'] = /'(\d+)'/.exec(one.threadKeySql('thread_id')) ?? []
  expect(one.keyOf(touchedThread(12))).toBe(String(BigInt(first) + 12n))
  expect(BigInt(first)).toBeLessThan(2n ** 62n)
  expect(one.keyOf('a')).not.toBe(other.keyOf('a'))
})

type LockKeysUnderTest = ReturnType<typeof createLockKeys>
