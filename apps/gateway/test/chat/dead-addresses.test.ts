import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { findFreePort } from '@postern/testing/free-port'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { WebGateway } from '../setup/web-gateway.ts'
import { findEvent, openWebGateway } from '../setup/web-gateway.ts'

// These tests send a picture in a chat whose address returns nothing. The turn continues without it.

let web: WebGateway
let silent: Server
const sockets = new Set<Socket>()
beforeAll(async () => {
  // This server accepts connections and never answers.
  silent = createServer(socket => void sockets.add(socket)).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const [dead, mute] = [await findFreePort(), (silent.address() as AddressInfo).port]
  web = await openWebGateway({}, simulation => ({
    agents: { chat: { use: '../agents/chat/viewer.ts' }, help: { use: 'builtin:help' } },
    default_agent: 'chat',
    network: { loopback: { ...simulation.network.loopback, 'dead.test': dead, 'silent.test': mute } },
  }))
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  silent.close()
  await web.close()
})

const image = (host: string) => ({
  type: 'image',
  source: { type: 'url', value: `https://${host}/a.png`, mimeType: 'image/png' },
})

describe('a dead URL of a file in a chat', () => {
  test.each(['dead.test', 'silent.test'])(
    'fails within seconds, and the agent learns that there is no file: %s',
    async host => {
      const events = await web.runChat([{ type: 'text', text: 'look' }, image(host)])
      expect(findEvent(events, 'TEXT_MESSAGE_CONTENT').delta).toBe(
        'Undeliverable: Cannot fetch attachment: its host does not answer',
      )
    },
  )

  test('fails the turn of an agent that does not expect it, without retries for days', async () => {
    const events = await web.runChat([{ type: 'text', text: 'careless' }, image('dead.test')])
    expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'agent_failed' })
  })
})
