import { noLog } from '@postern/message'
import { expect, test } from 'vitest'
import { createFreeSpace } from './free-space.ts'

function openSpace(minFreeBytes: number | undefined) {
  let [time, free] = [0, 2_000]
  const warnings: string[] = []
  const log = { ...noLog, warn: (_: object, line: string) => void warnings.push(line) }
  const space = createFreeSpace({ minFreeBytes, measureFreeBytes: () => free, now: () => time, log })
  return {
    told: warnings,
    set(bytes: number) {
      free = bytes
      time += 1_000
    },
    /** Lists the senders that may write. */
    list() {
      return [true, false].map(isProven => {
        try {
          space.check({ isProven })
          return true
        } catch (error) {
          return (error as Error).message
        }
      })
    },
  }
}

const refusal = 'Cannot store message: the disk is almost full'

test('the gateway refuses unproven senders below the minimum, everybody below half of it, and logs each change once', () => {
  const { told, set, list } = openSpace(1_000)
  expect(list()).toEqual([true, true])
  set(999)
  expect([list(), list()]).toEqual([
    [true, refusal],
    [true, refusal],
  ])
  set(499)
  expect(list()).toEqual([refusal, refusal])
  set(1_000)
  expect(list()).toEqual([true, true])
  expect(told).toEqual([
    'the disk is almost full: the gateway refuses unproven senders for now',
    'the disk is almost full: the gateway refuses all senders for now',
    'the disk has space again: all senders may write',
  ])
})

test('without a configured minimum everybody may write to a full disk', () => {
  const { set, list } = openSpace(undefined)
  set(0)
  expect(list()).toEqual([true, true])
})
