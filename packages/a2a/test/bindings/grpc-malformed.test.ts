import { connect } from 'node:http2'
import { status } from '@grpc/grpc-js'
import type { ListeningSocket } from '@postern/pipeline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'

let gateway: A2aTestGateway
let listener: ListeningSocket | undefined

beforeAll(async () => {
  gateway = await openA2aGateway({ config: { grpc: { port: 0 } } })
  listener = await gateway.channel.endpoint.listen?.()
})
afterAll(async () => {
  await listener?.close()
  await gateway.close()
})

/** Sends the raw bytes of one call, and returns the status with which it ends. */
async function callRaw(bytes: Buffer, overrides: Readonly<Record<string, string>> = {}): Promise<string | undefined> {
  const session = connect(`http://localhost:${listener?.port}`)
  const stream = session.request({
    ':method': 'POST',
    ':path': '/lf.a2a.v1.A2AService/GetTask',
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: `Bearer ${gateway.token}`,
    'a2a-version': '1.0',
    ...overrides,
  })
  const streamEnd = new Promise<unknown>(resolve => {
    stream.on('response', headers => headers['grpc-status'] !== undefined && resolve(headers['grpc-status']))
    stream.on('trailers', trailers => resolve(trailers['grpc-status']))
    stream.on('error', resolve)
    stream.on('close', () => resolve('closed'))
  })
  stream.resume()
  stream.end(bytes)
  const code = await streamEnd
  session.destroy()
  return status[Number(code)] ?? String(code)
}

const frameMessage = (message: Buffer, flag = 0) => {
  const frameHeader = Buffer.from([flag, 0, 0, 0, 0])
  frameHeader.writeUInt32BE(message.length, 1)
  return Buffer.concat([frameHeader, message])
}
/** A GetTaskRequest whose field 2, `id`, is "a". */
const validRequest = Buffer.from([0x12, 1, 0x61])

test.each<[string, Buffer, Readonly<Record<string, string>>]>([
  ['bytes that are no protobuf message', frameMessage(Buffer.from([0x12, 0xff])), {}],
  ['a message that claims to be compressed but is not', frameMessage(validRequest, 1), { 'grpc-encoding': 'gzip' }],
  ['an invalid timeout', frameMessage(validRequest), { 'grpc-timeout': 'soon' }],
  ['no message', Buffer.alloc(0), {}],
  ['two messages', Buffer.concat([frameMessage(validRequest), frameMessage(validRequest)]), {}],
  ['half a message', frameMessage(validRequest).subarray(0, 6), {}],
  ['half a frame header', frameMessage(validRequest).subarray(0, 3), {}],
])('the gateway refuses a call with %s as malformed', async (_, bytes, headers) => {
  expect(await callRaw(bytes, headers)).toBe('INVALID_ARGUMENT')
  expect(gateway.refusals.at(-1)).toMatchObject({ code: 'malformed' })
})
