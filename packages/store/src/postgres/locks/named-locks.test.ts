import { expect, test } from 'vitest'
import { threadConflict } from '../../transaction/conflict-keys.ts'
import type { PlainStatement } from '../connection/statement-session.ts'
import { createLockKeys } from './lock-keys.ts'
import { createNamedLocks } from './named-locks.ts'

function openLocks() {
  const sent: string[] = []
  const keys = createLockKeys('postern')
  const add = (statement: PlainStatement, values: readonly (string | number)[]) => {
    sent.push(
      /shared/.test(statement.text)
        ? 'share'
        : /unnest/.test(statement.text)
          ? `take ${values}`
          : /try/.test(statement.text)
            ? 'try'
            : 'alone',
    )
    return { statement, values, result: undefined }
  }
  const take = (...names: readonly string[]) => `take {${keys.deriveKeys(names).join()}}`
  return { locks: createNamedLocks(keys, add, new Set()), keys, sent, take }
}

test('a transaction locks each name once and in a fixed order, and a transaction without names runs exclusively', () => {
  const { locks, sent, take } = openLocks()
  locks.begin(['b', 'a', 'c', 'a'], 0)
  expect(locks.isExclusive()).toBe(false)
  locks.begin(undefined, 0)
  expect(locks.isExclusive()).toBe(true)
  expect(sent).toEqual(['share', take('a', 'b', 'c'), 'alone'])
  expect(take('c', 'a', 'b')).toBe(take('b', 'c', 'a'))
})

test('a second attempt locks the requested names at its start, and a third attempt runs exclusively', () => {
  const { locks, sent, take } = openLocks()
  locks.begin(['a'], 0)
  expect(locks.reserve('a')).toBeUndefined()
  expect(locks.reserve('b')).toBeDefined()
  locks.begin(['a'], 1)
  expect(locks.reserve('b')).toBeUndefined()
  locks.begin(['a'], 2)
  expect(locks.isExclusive()).toBe(true)
  expect(sent).toEqual(['share', take('a'), 'try', 'share', take('a', 'b'), 'alone'])
})

test('SQL can compute the key of a thread from its number, and the key differs between schemas', () => {
  const [one, other] = ['one', 'other'].map(schema => createLockKeys(schema)) as [LockKeysUnderTest, LockKeysUnderTest]
  const [, first = '0'] = /'(\d+)'/.exec(one.threadKeySql('thread_id')) ?? []
  expect(one.deriveKey(threadConflict(12))).toBe(String(BigInt(first) + 12n))
  expect(BigInt(first)).toBeLessThan(2n ** 62n)
  expect(one.deriveKey('a')).not.toBe(other.deriveKey('a'))
})

type LockKeysUnderTest = ReturnType<typeof createLockKeys>
