// Measures memory and disk while A2A tasks are created, expire, and are created again.
import { mkdtempDisposableSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { isCompleted } from '../a2a/is-completed.ts'
import { openAgentIssuer } from '../a2a/issuer.ts'
import { createCallMaker } from '../a2a/make-calls.ts'
import type { Figure, ProbeOptions } from '../harness/tables/figure.ts'
import { saturateServer } from '../http/load.ts'
import { describeBenchGateway } from '../ours/open.ts'
import type { ServerProcess } from '../servers/process.ts'
import { startServer } from '../servers/process.ts'

const title = 'A2A tasks that expire'
const connections = 24
/** The number of requests in memory at a time. */
const portion = 1_000
const counts = { usual: 100_000, quick: 5_000 } as const
/** The longest wait for expiry, ms. A sweep may have just begun when the last task expires, and has to delete them all. */
const expiryLimitMs = 10 * 60_000

interface Reading {
  readonly rss: number
  readonly disk: number
}

/**
 * Measures tasks that live for a minute: memory and disk after the first, after many, after they have expired, and after as many again, for which the
 * file must have space.
 */
export async function probeTasks({ quick, cores, progress }: ProbeOptions): Promise<readonly Figure[]> {
  const count = quick ? counts.quick : counts.usual
  using directory = mkdtempDisposableSync(join(tmpdir(), 'postern-tasks-'))
  const data = directory.path
  await using issuer = await openAgentIssuer()
  const makeCall = createCallMaker(issuer, 'SendMessage')
  const contender = describeBenchGateway({ a2a: { auth: { anonymous: true }, task_ttl: '1m' } }, { data })
  await using gateway = await startServer({ ...contender, core: cores?.server })
  const sendMany = async (callCount: number) => {
    for (let sentCount = 0; sentCount < callCount; sentCount += portion) {
      const requests = await makeCall(portion)
      await saturateServer({ port: gateway.port, connections, requests, isExpected: isCompleted })
    }
    return readSizes(gateway, data)
  }
  const first = await sendMany(portion)
  progress(`tasks: ${count}`)
  const full = await sendMany(count)
  progress('tasks: until they have expired')
  await waitUntilExpired(data)
  const afterExpiry = await readSizes(gateway, data)
  progress(`tasks: ${count} again`)
  const secondRun = await sendMany(count)
  return toFigures({ first, full, expired: afterExpiry, again: secondRun }, count)
}

async function readSizes(gateway: ServerProcess, data: string): Promise<Reading> {
  await sleep(1_000)
  return { rss: (await gateway.sample()).rss, disk: statSync(fileOf(data)).size }
}

async function waitUntilExpired(data: string): Promise<void> {
  const db = new DatabaseSync(fileOf(data), { readOnly: true })
  const query = db.prepare('SELECT count(*) AS count FROM tasks')
  const deadline = performance.now() + expiryLimitMs
  // The newest entry of all always stays.
  while (Number(query.get()?.count) > 1) {
    if (performance.now() > deadline) throw new Error('the tasks did not expire')
    await sleep(1_000)
  }
  db.close()
}

function fileOf(data: string): string {
  return join(data, 'postern.db')
}

type Readings = Readonly<Record<'first' | 'full' | 'expired' | 'again', Reading>>

function toFigures(
  { first, full, expired: afterExpiry, again: secondRun }: Readings,
  count: number,
): readonly Figure[] {
  const megabytes = (value: number) => ({
    case: title,
    note: 'one process from the first to the last; task_ttl 1m',
    value: value / 1e6,
    unit: 'MB',
  })
  const compareSizes = (value: number, base: number, ratioLabel: string, atMost: number) => ({
    ...megabytes(value),
    beside: base / 1e6,
    ratio: value / base,
    against: ratioLabel,
    aim: { atMost },
  })
  const sinceFirst = `÷ after ${portion}`
  return [
    { name: `RSS after ${count} tasks`, ...compareSizes(full.rss, first.rss, sinceFirst, 1.5) },
    { name: 'RSS when they have expired', ...compareSizes(afterExpiry.rss, first.rss, sinceFirst, 1.5) },
    { name: `RSS after ${count} more`, ...compareSizes(secondRun.rss, first.rss, sinceFirst, 1.5) },
    { name: `disk after ${count} tasks`, ...megabytes(full.disk) },
    { name: `disk after ${count} more`, ...compareSizes(secondRun.disk, full.disk, `÷ after the first ${count}`, 1.2) },
  ]
}
