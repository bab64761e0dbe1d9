import { connect, constants } from 'node:http2'
import { credentials, makeClientConstructor, status } from '@grpc/grpc-js'
import { fromJSON } from '@grpc/proto-loader'
import type { ListeningSocket } from '@postern/pipeline'
import { service as healthService } from 'grpc-health-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'
import { openGrpcClient } from '../setup/grpc-client.ts'

let gateway: A2aTestGateway
let listener: ListeningSocket

async function openListener(grpc: object = {}) {
  gateway = await openA2aGateway({ config: { grpc: { port: 0, ...grpc } } })
  const newListener = await gateway.channel.endpoint.listen?.()
  if (!newListener) throw new Error('nothing listens')
  listener = newListener
}

beforeEach(() => openListener())
afterEach(async () => {
  await listener.close()
  await gateway.close()
})

describe('a client without credentials', () => {
  test('learns that the service is healthy', async () => {
    const Health = makeClientConstructor(healthService, 'grpc.health.v1.Health')
    const client = new Health(`localhost:${listener.port}`, credentials.createInsecure())
    const check = (service: string) =>
      new Promise((resolve, reject) => {
        client.check?.({ service }, (error: Error | null, answer: unknown) => (error ? reject(error) : resolve(answer)))
      })
    expect(await check('lf.a2a.v1.A2AService')).toMatchObject({ status: 'SERVING' })
    expect(await check('')).toMatchObject({ status: 'SERVING' })
    await expect(check('other')).rejects.toMatchObject({ code: status.NOT_FOUND })
    client.close()
  })

  test('learns the methods and messages by reflection', async () => {
    const { name, methods, inputs } = await reflect(listener.port)
    expect(name).toContain('lf.a2a.v1.A2AService')
    expect(methods).toBeGreaterThan(0)
    expect(inputs).toContain('SendMessageRequest')
  })

  test('still needs credentials for the calls of the protocol', async () => {
    const client = openGrpcClient(listener.port)
    const answer = await client.call('getTask', { tenant: '', id: 'x' }, { metadata: { 'a2a-version': '1.0' } })
    expect(answer.status.code).toBe(status.UNAUTHENTICATED)
    client.close()
  })
})

/** Requests the list of services and the file of ours. */
async function reflect(port: number) {
  const root = fromJSON({
    nested: {
      grpc: {
        nested: {
          reflection: {
            nested: {
              v1: {
                nested: {
                  Request: {
                    fields: {
                      fileContainingSymbol: { type: 'string', id: 4 },
                      listServices: { type: 'string', id: 7 },
                    },
                  },
                  Response: { fields: { file: { type: 'Files', id: 4 }, list: { type: 'Services', id: 6 } } },
                  Files: { fields: { descriptor: { rule: 'repeated', type: 'bytes', id: 1 } } },
                  Services: { fields: { service: { rule: 'repeated', type: 'Named', id: 1 } } },
                  Named: { fields: { name: { type: 'string', id: 1 } } },
                  ServerReflection: {
                    methods: {
                      ServerReflectionInfo: {
                        requestType: 'Request',
                        requestStream: true,
                        responseType: 'Response',
                        responseStream: true,
                        comment: '',
                      },
                    },
                  },
                },
              },
            },
          },
        },
      },
    },
  })
  const Reflection = makeClientConstructor(root['grpc.reflection.v1.ServerReflection'] as never, 'Reflection')
  const client = new Reflection(`localhost:${port}`, credentials.createInsecure())
  const callReflection = (request: object) =>
    new Promise<{ list?: { service: { name: string }[] }; file?: { descriptor: Buffer[] } }>((resolve, reject) => {
      const call = client.serverReflectionInfo?.()
      call.on('data', (answer: never) => {
        resolve(answer)
        call.end()
      })
      call.on('error', reject)
      call.write(request)
    })
  const { list } = await callReflection({ listServices: '*' })
  const { file } = await callReflection({ fileContainingSymbol: 'lf.a2a.v1.A2AService' })
  client.close()
  const bytes = Buffer.concat(file?.descriptor ?? []).toString('latin1')
  return {
    name: list?.service.map(({ name }) => name) ?? [],
    methods: file?.descriptor.length ?? 0,
    inputs: bytes,
  }
}

describe('streams that a client opens only to reset them (CVE-2023-44487)', () => {
  interface Flood {
    readonly opened: number
    readonly goaway: number | undefined
  }

  /** Opens streams until the connection ends, but at most `most`. */
  function flood(maxStreams: number, path = '/lf.a2a.v1.A2AService/GetTask'): Promise<Flood> {
    return new Promise(resolve => {
      const session = connect(`http://127.0.0.1:${listener.port}`)
      let openedCount = 0
      let goaway: number | undefined
      session.on('goaway', code => {
        goaway = code
      })
      session.on('error', () => {})
      session.on('close', () => resolve({ opened: openedCount, goaway }))
      const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' }
      const next = () => {
        for (
          let index = 0;
          index < 20 && openedCount < maxStreams && !session.closed && !session.destroyed;
          index += 1
        ) {
          openedCount += 1
          const stream = session.request(headers)
          stream.on('error', () => {})
          stream.close(constants.NGHTTP2_CANCEL)
        }
        if (session.destroyed || session.closed) return
        if (openedCount < maxStreams) setTimeout(next, 5)
        else setTimeout(() => session.close(), 100)
      }
      session.on('connect', next)
    })
  }

  test('close their connection, and the operator sees it', async () => {
    const { opened, goaway } = await flood(2_000)
    expect(goaway).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM)
    expect(opened).toBeLessThan(600)
    expect(gateway.refusals.map(({ reason }) => reason)).toContainEqual(
      expect.stringContaining('resets most of its streams'),
    )
  })

  test('do no harm in small numbers', async () => {
    expect((await flood(60)).goaway).not.toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  })

  test.each(['/lf.a2a.v1.A2AService/GetTask', '/nothing/here'])(
    'count as requests of their address: %s',
    async path => {
      await listener.close()
      await gateway.close()
      await openListener({ per_address: 30 })
      await flood(40, path)
      const client = openGrpcClient(listener.port)
      const metadata = { authorization: `Bearer ${gateway.token}`, 'a2a-version': '1.0' }
      const answer = await client.call('getTask', { tenant: '', id: 'x' }, { metadata })
      expect(answer.status.code).toBe(status.RESOURCE_EXHAUSTED)
      client.close()
    },
  )
})
