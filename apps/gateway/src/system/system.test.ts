import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { noLog } from '@postern/message'
import { expect, onTestFinished, test } from 'vitest'
import { createSystem } from './system.ts'

async function openService(): Promise<string> {
  const server = createServer((_request, response) => response.end('private')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a private origin is open only for the addresses that its list names', async () => {
  const [ownService, receiver] = [await openService(), await openService()]
  const network = { allow_private: [ownService], allow_private_push: [receiver], loopback: {} }
  const system = createSystem({ origin: 'https://agents.test', network }, { log: noLog, slices: [] })
  onTestFinished(() => system.close())
  const { fetch, openStream, configured, configuredFor, push, fetchFor } = system
  const namedNetwork = configuredFor?.([ownService, receiver])
  const requests = {
    fetch,
    openStream: openStream ?? fetch,
    configured: configured?.fetch ?? fetch,
    configuredStream: configured?.openStream ?? fetch,
    push: push?.fetch ?? fetch,
    checkPush: async (url: string) => push?.checkUrl(url),
    named: namedNetwork?.fetch ?? fetch,
    namedStream: namedNetwork?.openStream ?? fetch,
    unnamed: configuredFor?.(['http://127.0.0.1:1']).fetch ?? fetch,
    fetchFor: fetchFor(receiver),
  }
  const checkAccess = async (request: (url: string) => Promise<unknown>) =>
    Promise.all(
      [ownService, receiver].map(origin =>
        request(`${origin}/`).then(
          () => true,
          () => false,
        ),
      ),
    )
  const accessByName = await Promise.all(
    Object.entries(requests).map(async ([name, request]) => [name, await checkAccess(request)]),
  )
  expect(Object.fromEntries(accessByName)).toEqual({
    fetch: [false, false],
    openStream: [false, false],
    configured: [true, false],
    configuredStream: [true, false],
    push: [false, true],
    checkPush: [false, true],
    named: [true, false],
    namedStream: [true, false],
    unnamed: [false, false],
    fetchFor: [false, true],
  })
})
