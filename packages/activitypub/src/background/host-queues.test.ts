import { Unavailable } from '@postern/core'
import { expect, test } from 'vitest'
import { createHostQueues } from './remote-posts.ts'

test('one host gets one request at a time, in order, while other hosts get theirs', async () => {
  const run = createHostQueues(9)
  const order: string[] = []
  const ask = (host: string, name: string) =>
    run(host, async () => {
      order.push(`${name} begins`)
      await new Promise(setImmediate)
      order.push(`${name} ends`)
    })
  await Promise.all([ask('a.test', '1'), ask('a.test', '2'), ask('b.test', '3')])
  expect(order).toEqual(['1 begins', '3 begins', '1 ends', '2 begins', '3 ends', '2 ends'])
})

test('AP-37: only a bounded number of requests wait for a slow host', async () => {
  const run = createHostQueues(3)
  let end = () => {}
  const ended = new Promise<void>(resolve => {
    end = resolve
  })
  const waiting = [1, 2, 3].map(() => run('slow.test', () => ended))
  await expect(run('slow.test', () => ended)).rejects.toThrow(
    new Unavailable('Cannot fetch: too many wait for its host'),
  )
  end()
  await Promise.all(waiting)
  await expect(run('slow.test', async () => 'again')).resolves.toBe('again')
})

test('a request that fails lets the next one start', async () => {
  const run = createHostQueues(3)
  const failing = run('a.test', () => Promise.reject(new Error('no')))
  const next = run('a.test', async () => 'yes')
  await expect(failing).rejects.toThrow('no')
  await expect(next).resolves.toBe('yes')
})
