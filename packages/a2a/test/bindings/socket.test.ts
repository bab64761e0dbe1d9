import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'

let gateway: A2aTestGateway
let port: number
let close: () => Promise<void>

/** The server is configured like the gateway's, but with shorter timeouts. */
beforeAll(async () => {
  gateway = await openA2aGateway()
  const options = { requestTimeout: 300, headersTimeout: 300, connectionsCheckingInterval: 50 }
  const server = createServer(options, getRequestListener(gateway.channel.endpoint.routes.fetch))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
  close = () =>
    new Promise(resolve => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
})
afterAll(async () => {
  await close()
  await gateway.close()
})

const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} })

function head(length: number): string {
  const lines = [
    'POST /a2a HTTP/1.1',
    'host: agents.test',
    `authorization: Bearer ${gateway.token}`,
    'a2a-version: 1.0',
    'content-type: application/json',
    `content-length: ${length}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** Returns all data that the server sends until it closes the connection. */
function converse(speak: (socket: Socket) => void): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => speak(socket))
    let received = ''
    socket.setEncoding('utf8')
    socket.on('data', data => {
      received += data
    })
    socket.on('close', () => resolve(received))
    socket.on('error', error =>
      (error as NodeJS.ErrnoException).code === 'ECONNRESET' ? resolve(received) : reject(error),
    )
  })
}

async function isAlive(): Promise<void> {
  expect((await gateway.rpc('ListTasks', {})).status).toBe(200)
}

describe('a false Content-Length, or a missing body (A2A-E17)', () => {
  test('that is too long makes the gateway close the connection after a while without effect', async () => {
    const response = await converse(socket => socket.write(head(body.length + 100) + body))
    expect(response).toMatch(/^(HTTP\/1\.1 408 |$)/)
    expect(response).not.toMatch(/"result"|<html|\bat /i)
    await isAlive()
  })

  test('whose peer disconnects has no effect', async () => {
    const response = await converse(socket => socket.end(head(body.length + 100) + body))
    expect(response).not.toContain('"result"')
    await isAlive()
  })

  test('that is too short does not make the remaining bytes a second request', async () => {
    const response = await converse(socket => socket.write(head(body.length - 5) + body))
    expect(response).toMatch(/^HTTP\/1\.1 400 |"code":-32700/)
    expect(response).not.toContain('"result"')
    await isAlive()
  })

  test('that comes byte by byte makes the gateway give up after a while', async () => {
    let timer: NodeJS.Timeout | undefined
    const response = await converse(socket => {
      socket.write(head(body.length))
      let at = 0
      timer = setInterval(() => socket.write(body.charAt(at++ % 5)), 40)
    }).finally(() => clearInterval(timer))
    expect(response).toMatch(/^(HTTP\/1\.1 408 |$)/)
    await isAlive()
  })
})
