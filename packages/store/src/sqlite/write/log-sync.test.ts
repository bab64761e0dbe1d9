import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { Unavailable } from '@postern/message'
import { sketchedChannels, sketchIntake } from '@postern/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { discardLog, makeDirectory } from '../../../test/open-test-store.ts'
import { openSqliteStore } from '../../index.ts'
import type { SyncFile } from './log-sync.ts'
import { openLogSync } from './log-sync.ts'

type Done = Parameters<SyncFile>[1]

/** Opens a log on a disk that completes a sync at the test's request, and collects the results of the waiting calls. */
function openWithDisk() {
  const path = join(makeDirectory(), 'postern.db')
  appendFileSync(`${path}-wal`, 'x')
  const waiting: Done[] = []
  const log = openLogSync(path, (_, done) => waiting.push(done))
  onTestFinished(() => log.close())
  const told: string[] = []
  const ask = (name: string) => log.whenReached(error => told.push(error ? `${name}: ${error.message}` : name))
  return { ask, waiting, told }
}

test('requests during a sync share the next one, which starts after it', () => {
  const { ask, waiting, told } = openWithDisk()
  for (const name of ['first', 'second', 'third']) ask(name)
  expect(waiting).toHaveLength(1)
  waiting[0]?.(null)
  expect(told).toEqual(['first'])
  expect(waiting).toHaveLength(2)
  ask('late')
  waiting[1]?.(null)
  expect(told).toEqual(['first', 'second', 'third'])
  waiting[2]?.(null)
  expect(told).toEqual(['first', 'second', 'third', 'late'])
})

test('a failed sync rejects its own requests, and not later ones', () => {
  const { ask, waiting, told } = openWithDisk()
  ask('first')
  ask('second')
  waiting[0]?.(new Error('EIO'))
  waiting[1]?.(null)
  expect(told).toEqual(['first: EIO', 'second'])
})

test('a store refuses all writes after a disk failure, and logs one error', async () => {
  const error = vi.fn()
  const store = await openSqliteStore({
    channels: sketchedChannels,
    path: join(makeDirectory(), 'postern.db'),
    now: Date.now,
    log: { ...discardLog, error },
    syncLog: (_, done) => done(new Error('EIO: i/o error, fdatasync')),
  })
  await expect(store.admit(sketchIntake('m1'), 'c')).rejects.toThrow(Unavailable)
  await expect(store.admit(sketchIntake('m2'), 'c')).rejects.toThrow('the database is damaged')
  expect(error).toHaveBeenCalledOnce()
  await store.close()
})
