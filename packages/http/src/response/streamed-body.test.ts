import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BodyReceiver, StreamedBody } from './streamed-body.ts'
import { answerWithBody, sendStreamedBody } from './streamed-body.ts'

const headers = { 'content-type': 'text/plain' }

/** A body under the control of a test. */
function openBody(firstText?: string) {
  const opened = Promise.withResolvers<BodyReceiver>()
  const closed = Promise.withResolvers<void>()
  const counts = { closed: 0, ready: 0 }
  const body: StreamedBody = receiver => {
    if (firstText !== undefined) receiver.write(Buffer.from(firstText))
    opened.resolve(receiver)
    return {
      onReady() {
        counts.ready += 1
      },
      onClose() {
        counts.closed += 1
        closed.resolve()
      },
    }
  }
  return { body, receiver: opened.promise, closed: closed.promise, counts }
}

describe('a body on a socket', () => {
  let answer: (env: object) => Response
  const server = createServer((_, outgoing: ServerResponse) => {
    const env = { outgoing, sendsBodies: true }
    const response = answer(env)
    if (sendStreamedBody(env, response)) return
    outgoing.writeHead(response.status)
    outgoing.end()
  })
  beforeAll(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterAll(() => {
    server.close()
    server.closeAllConnections()
  })

  async function ask(method = 'GET'): Promise<IncomingMessage> {
    const { port } = server.address() as AddressInfo
    const [response] = await once(request({ port, method }).end(), 'response')
    return response as IncomingMessage
  }

  test('reaches the client with the head of its answer, piece by piece', async () => {
    const { body, receiver, closed, counts } = openBody('first ')
    answer = env => answerWithBody(env, body, { ...headers, vary: 'Origin' })
    const response = await ask()
    expect(response.statusCode).toBe(200)
    expect(response.headers).toMatchObject({ ...headers, vary: 'Origin', 'transfer-encoding': 'chunked' })
    const [firstPiece] = await once(response, 'data')
    expect(String(firstPiece)).toBe('first ')
    const { write, end } = bindReceiver(await receiver)
    write('second ')
    write('third')
    end()
    write('never')
    expect(await text(response)).toBe('second third')
    await closed
    expect(counts.closed).toBe(1)
  })

  test('has its head before its first piece', async () => {
    const { body, receiver } = openBody()
    answer = env => answerWithBody(env, body, headers)
    const response = await ask()
    const { write, end } = bindReceiver(await receiver)
    write('late')
    end()
    expect(await text(response)).toBe('late')
  })

  test('counts waiting bytes of a client that does not read, and reports when it reads again', async () => {
    const { body, receiver, counts } = openBody()
    answer = env => answerWithBody(env, body, headers)
    const { port } = server.address() as AddressInfo
    const socket = connect(port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    const openReceiver = await receiver
    await once(socket, 'data')
    socket.pause()
    const piece = Buffer.alloc(1024 * 1024)
    while (openReceiver.waitingBytes < 8 * piece.length) {
      openReceiver.write(piece)
      await new Promise(resolve => setImmediate(resolve))
    }
    expect(openReceiver.isReady).toBe(false)
    const { ready } = counts
    socket.resume()
    while (counts.ready === ready) await new Promise(resolve => setTimeout(resolve, 5))
    expect(openReceiver.isReady).toBe(true)
    expect(openReceiver.waitingBytes).toBe(0)
    socket.destroy()
  })

  test('closes when its client leaves', async () => {
    const { body, receiver, closed, counts } = openBody('first')
    answer = env => answerWithBody(env, body, headers)
    const response = await ask()
    response.destroy()
    await closed
    bindReceiver(await receiver).write('second')
    bindReceiver(await receiver).end()
    expect(counts.closed).toBe(1)
  })

  test('breaks off, so that the client knows that it is incomplete', async () => {
    const { body, receiver, closed } = openBody('first')
    answer = env => answerWithBody(env, body, headers)
    const response = await ask()
    const openReceiver = await receiver
    openReceiver.abort(new Error('too slow'))
    await closed
    await expect(text(response)).rejects.toThrow('aborted')
  })

  test('closes when another answer replaces it, or when the client wants only the head', async () => {
    const replaced = openBody('secret')
    answer = env => {
      answerWithBody(env, replaced.body, headers)
      return new Response('broken', { status: 500 })
    }
    const response = await ask()
    expect(response.statusCode).toBe(500)
    expect(await text(response)).toBe('')
    await replaced.closed
    const headOnly = openBody('first')
    answer = env => answerWithBody(env, headOnly.body, headers)
    expect((await ask('HEAD')).statusCode).toBe(200)
    await headOnly.closed
  })
})

describe('a body without a socket', () => {
  test('is a Web stream, also on a server that sends no bodies', async () => {
    for (const env of [undefined, { isOwnVisit: true }, { outgoing: {} }]) {
      const { body, receiver, closed, counts } = openBody('first ')
      const response = answerWithBody(env, body, headers)
      const { write, end } = bindReceiver(await receiver)
      write('second')
      end()
      expect(sendStreamedBody(undefined, response)).toBe(false)
      expect(counts.closed).toBe(0)
      expect(await response.text()).toBe('first second')
      await closed
      expect(counts.closed).toBe(1)
    }
  })

  test('closes once if it ends at once', async () => {
    const { body, counts } = openBody()
    const endedBody: StreamedBody = receiver => {
      receiver.end()
      return body(receiver)
    }
    expect(await answerWithBody(undefined, endedBody, headers).text()).toBe('')
    expect(counts.closed).toBe(1)
  })
})

function bindReceiver(receiver: BodyReceiver) {
  return { write: (piece: string) => receiver.write(Buffer.from(piece)), end: () => receiver.end() }
}
