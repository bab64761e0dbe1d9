import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { Unavailable } from '@postern/core'
import { sketchedChannels, sketchIntake } from '@postern/testing'
import { expect, test, vi } from 'vitest'
import { discardLog, makeDirectory } from '../../test/open-test-store.ts'
import { openSqliteStore } from '../index.ts'
import { openLogSync } from './log-sync.ts'

function openWithDisk() {
  const path = join(makeDirectory(), 'postern.db')
  appendFileSync(`${path}-wal`, 'x')
  const waiting: PromiseWithResolvers<void>[] = []
  const log = openLogSync(path, () => {
    const asked = Promise.withResolvers<void>()
    waiting.push(asked)
    return asked.promise
  })
  return { log, waiting }
}

test('what is asked for while the disk is busy shares one sync, which begins when the disk is free', async () => {
  const { log, waiting } = openWithDisk()
  const first = log.reach()
  const others = [log.reach(), log.reach(), log.reach()]
  expect(waiting).toHaveLength(1)
  waiting[0]?.resolve()
  await first
  await vi.waitFor(() => expect(waiting).toHaveLength(2))
  const late = log.reach()
  waiting[1]?.resolve()
  await Promise.all(others)
  await vi.waitFor(() => expect(waiting).toHaveLength(3))
  waiting[2]?.resolve()
  await late
  await log.close()
})

test('a sync that fails is told to those it was for, and not to those behind them', async () => {
  const { log, waiting } = openWithDisk()
  const first = log.reach()
  const second = log.reach()
  waiting[0]?.reject(new Error('EIO'))
  await expect(first).rejects.toThrow('EIO')
  await vi.waitFor(() => expect(waiting).toHaveLength(2))
  waiting[1]?.resolve()
  await second
  await log.close()
})

test('a store whose disk did not take what was written takes nothing more, and says so loudly', async () => {
  const error = vi.fn()
  const store = await openSqliteStore({
    channels: sketchedChannels,
    path: join(makeDirectory(), 'postern.db'),
    now: Date.now,
    log: { ...discardLog, error },
    syncLog: () => Promise.reject(new Error('EIO: i/o error, fdatasync')),
  })
  await expect(store.admit(sketchIntake('m1'), 'c')).rejects.toThrow(Unavailable)
  await expect(store.admit(sketchIntake('m2'), 'c')).rejects.toThrow('the database is damaged')
  expect(error).toHaveBeenCalledOnce()
  await store.close()
})
