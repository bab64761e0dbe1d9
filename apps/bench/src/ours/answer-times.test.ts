import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createAnswerTimer } from './answer-times.ts'

test('createAnswerTimer() measures only accepted posts, inside the server', async () => {
  const server = createServer(async (request, response) => {
    if (request.url === '/slow') await sleep(30)
    response.writeHead(request.url === '/refused' ? 401 : 202).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const postNote = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST' })
    await response.arrayBuffer()
  }
  const timer = createAnswerTimer()
  await postNote('/before')
  expect(timer.readTimes()).toMatchObject({ count: 0, p99: null })

  await Promise.all(['/fast', '/slow', '/refused'].map(postNote))
  const { count, p99 } = timer.readTimes()
  expect(count).toBe(2)
  expect(p99).toBeGreaterThan(25)

  expect(timer.readTimes()).toMatchObject({ count: 0, p99: null })
})
