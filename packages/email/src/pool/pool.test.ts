import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { noLog, Unavailable } from '@postern/message'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { mailLimitsSchema } from '../config/limits.ts'
import type { MimeJob } from '../mime/job.ts'
import type { MimePool } from './pool.ts'
import { createMimePool } from './pool.ts'

const system = {
  log: noLog,
  sleep: (ms: number, signal?: AbortSignal) => delay(ms, undefined, signal && { signal }).catch(() => undefined),
}
/** A memory limit that no other thread of the process has. */
const memoryMb = 67
const limits = mailLimitsSchema.parse({ parsers: 1, parse_timeout_ms: 20_000, parse_memory_mb: memoryMb, waiting: 3 })
let pool: MimePool

afterEach(() => pool.close())

/** A worker whose behaviour depends on the text of the message. */
const file = new URL(
  `data:text/javascript,${encodeURIComponent(`
  import { parentPort } from 'node:worker_threads'
  parentPort.on('message', jobs => parentPort.postMessage(jobs.map(({ octets }) => {
    const what = Buffer.from(octets).toString()
    if (what === 'exit') process.exit(1)
    if (what === 'throw') throw new Error('boom')
    if (what === 'hang') {
      new BroadcastChannel('hangs').postMessage('now')
      while (true);
    }
    if (what === 'eat') { const all = []; while (true) all.push(new Array(100000).fill({})) }
    return what === 'fail' ? { error: 'no' } : { result: what }
  })))
`)}`,
)

function job(task: string): MimeJob {
  return { octets: Buffer.from(task), ignoredRanges: [], keys: {}, keepsQuotes: false, now: 0 }
}

test.each(['exit', 'throw', 'eat', 'fail'])(
  'a message that makes its thread %s affects no other message',
  async what => {
    pool = createMimePool({ limits, system, file })
    const results = await Promise.all([pool.run(job('first')), pool.run(job(what)), pool.run(job('last'))])
    expect(results).toEqual(['first', undefined, 'last'])
  },
)

test('a message that takes too long affects no other message', async () => {
  // Time passes only while a message hangs, and then all of its time passes at once.
  let hanging = Promise.withResolvers<void>()
  const hangs = new BroadcastChannel('hangs')
  hangs.onmessage = () => hanging.resolve()
  const sleep = async (_: number, signal?: AbortSignal) => {
    const closed = new Promise(resolve => signal?.addEventListener('abort', resolve))
    await Promise.race([hanging.promise, closed])
  }
  const terminated = { ...noLog, warn: () => (hanging = Promise.withResolvers()) }
  pool = createMimePool({ limits, system: { log: terminated, sleep }, file })
  const results = await Promise.all([pool.run(job('hang')), pool.run(job('last'))])
  expect(results).toEqual([undefined, 'last'])
  hangs.close()
})

test('the next thread retries a message whose thread died', async () => {
  const folder = mkdtempSync(`${tmpdir()}/once-`)
  const once = new URL(
    `data:text/javascript,${encodeURIComponent(`
    import { existsSync, writeFileSync } from 'node:fs'
    import { parentPort } from 'node:worker_threads'
    parentPort.on('message', jobs => {
      if (!existsSync('${folder}/died')) { writeFileSync('${folder}/died', ''); process.exit(1) }
      parentPort.postMessage(jobs.map(() => ({ result: 'read' })))
    })
  `)}`,
  )
  pool = createMimePool({ limits, system, file: once })
  expect(await pool.run(job('any'))).toBe('read')
  rmSync(folder, { recursive: true })
})

test.each([
  { isProven: false, order: ['last', 'exit'] },
  { isProven: true, order: ['exit', 'last'] },
])('a mail that killed its thread runs in the order $order if its author is proven: $isProven', async sender => {
  pool = createMimePool({ limits, system, file })
  const order: string[] = []
  const run = async (what: string) => {
    await pool.run(job(what), { isProven: sender.isProven })
    order.push(what)
  }
  const killing = run('exit')
  await turn()
  await turn()
  await Promise.all([killing, run('last')])
  expect(order).toEqual(sender.order)
})

test('the pool refuses mails when too many wait', async () => {
  pool = createMimePool({ limits, system, file })
  const results = ['a', 'b', 'c'].map(what => pool.run(job(what)))
  expect(() => pool.run(job('d'))).toThrow(
    new Unavailable('Cannot take mail: too many messages are waiting', { retryAfter: 30 }),
  )
  expect(await Promise.all(results)).toEqual(['a', 'b', 'c'])
})

test('the caller must repeat jobs that run when the pool closes', async () => {
  pool = createMimePool({ limits, system, file })
  const running = pool.run(job('hang'))
  await Promise.all([pool.close(), expect(running).rejects.toThrow('Cannot take mail: the gateway is shutting down')])
})

describe('the second thread', () => {
  const threads: Worker[] = []
  const recordThread = (worker: Worker) => {
    if (worker.resourceLimits?.maxOldGenerationSizeMb === memoryMb) threads.push(worker)
  }
  beforeEach(() => {
    threads.length = 0
    process.on('worker', recordThread)
  })
  afterEach(() => {
    process.off('worker', recordThread)
  })

  test('has no work while the first one keeps up, at any load', async () => {
    pool = createMimePool({ limits: { ...limits, parsers: 2, waiting: 40 }, system, file })
    const mails = Array.from({ length: 40 }, (_, index) => (index % 2 ? 'x'.repeat(300_000) : `small ${index}`))
    expect(await Promise.all(mails.map(mail => pool.run(job(mail))))).toEqual(mails)
    expect(threads).toHaveLength(1)
  })

  test('starts while one mail takes long, and stops when it has nothing to do', async () => {
    let calm = Promise.withResolvers<void>()
    const sleep = () => calm.promise.then(() => turn())
    const hangs = new BroadcastChannel('hangs')
    const hanging = once(hangs, 'message')
    pool = createMimePool({ limits: { ...limits, parsers: 2 }, system: { log: noLog, sleep }, file })
    const hangingResult = pool.run(job('hang'))
    await hanging
    hangs.close()
    const otherResult = pool.run(job('other'))
    await turn()
    expect(threads).toHaveLength(1)
    for (let round = 0; round < 2; round += 1) {
      const passing = calm
      calm = Promise.withResolvers()
      passing.resolve()
      await turn()
      await turn()
    }
    expect(await otherResult).toBe('other')
    const [, secondThread] = threads
    const workerExit = new Promise(resolve => secondThread?.once('exit', resolve))
    calm.resolve()
    await workerExit
    expect(await hangingResult).toBeUndefined()
    calm = Promise.withResolvers()
    expect(await pool.run(job('next'))).toBe('next')
  })
})

test('mails of one network use one thread, so that other mails do not wait for them', async () => {
  // While a mail hangs, time passes until another thread has read the mail of another network.
  const hangs = new BroadcastChannel('hangs')
  const hanging = once(hangs, 'message')
  const rounds = { left: 5 }
  const sleep = async () => {
    while (rounds.left === 0) await turn()
    rounds.left -= 1
    await turn()
  }
  pool = createMimePool({ limits: { ...limits, parsers: 2, waiting: 9 }, system: { log: noLog, sleep }, file })
  const order: string[] = []
  const run = async (what: string, network: string) => {
    await pool.run(job(what), { network })
    order.push(what)
  }
  const hangingRun = run('hang', '192.0.2.1')
  await hanging
  hangs.close()
  const sameNetworkRun = run('same', '192.0.2.1')
  await run('other', '198.51.100.1')
  expect(order).toEqual(['other'])
  rounds.left = Number.POSITIVE_INFINITY
  await Promise.all([hangingRun, sameNetworkRun])
  expect(order).toEqual(['other', 'same', 'hang'])
})

test('a new mail thread uses the compiled code of earlier ones, and loads no compiler', async () => {
  const threadFile = JSON.stringify(new URL('./worker-thread.mjs', import.meta.url).href)
  const text = `
    import { getCompileCacheDir } from 'node:module'
    import { parentPort } from 'node:worker_threads'
    await import(${threadFile})
    parentPort.postMessage(getCompileCacheDir())
  `
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(text)}`), { workerData: limits })
  const [directory] = await once(worker, 'message')
  await worker.terminate()
  expect(directory).toEqual(expect.any(String))
})
