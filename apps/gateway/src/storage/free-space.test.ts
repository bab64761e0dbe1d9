import { noLog } from '@postern/message'
import { expect, test } from 'vitest'
import { createFreeSpace } from './free-space.ts'

function openFreeSpaceCheck(minFreeBytes: number | undefined) {
  let [time, freeBytes] = [0, 2_000]
  const warnings: string[] = []
  const log = { ...noLog, warn: (_: object, line: string) => void warnings.push(line) }
  const space = createFreeSpace({ minFreeBytes, measureFreeBytes: () => freeBytes, now: () => time, log })
  return {
    warnings,
    /** Sets the free space, and waits until the last measurement has expired. */
    setFreeBytes(bytes: number) {
      freeBytes = bytes
      time += 1_000
    },
    /** Returns the results of the check for a proven and an unproven sender: true, or the text of the refusal. */
    checkSenders() {
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
  const { warnings, setFreeBytes, checkSenders } = openFreeSpaceCheck(1_000)
  expect(checkSenders()).toEqual([true, true])
  setFreeBytes(999)
  expect([checkSenders(), checkSenders()]).toEqual([
    [true, refusal],
    [true, refusal],
  ])
  setFreeBytes(499)
  expect(checkSenders()).toEqual([refusal, refusal])
  setFreeBytes(1_000)
  expect(checkSenders()).toEqual([true, true])
  expect(warnings).toEqual([
    'the disk is almost full: the gateway refuses unproven senders for now',
    'the disk is almost full: the gateway refuses all senders for now',
    'the disk has space again: all senders may write',
  ])
})

test('without a configured minimum everybody may write to a full disk', () => {
  const { setFreeBytes, checkSenders } = openFreeSpaceCheck(undefined)
  setFreeBytes(0)
  expect(checkSenders()).toEqual([true, true])
})
