// Sends the same bytes to a gateway that serves hot routes from node:http, and to one that serves them with Hono.
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Refusal } from '@postern/pipeline'
import type { ServedRoutes } from '../../src/http/listen.ts'
import { listenHttp } from '../../src/http/listen.ts'
import { openRehearsals, rehearsalField } from '../../src/http/rehearsals.ts'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway } from '../setup/gateway.ts'

/** A step of a conversation: text to send, a pause in ms, or the end of the connection. */
export type SocketStep = string | number | 'cut'

/** The credentials of a conversation at one of the gateways. */
export interface Access {
  /** The value of the `Authorization` field of a caller by A2A. */
  readonly bearer: string
  /** The pass of a request of the gateway to itself. */
  readonly pass: string
}

interface Conversation {
  /** The answers, without the time and random ids. */
  readonly answers: readonly string[]
  readonly isClosed: boolean
  /** The refusals that the gateway has added to its list. */
  readonly refusals: readonly object[]
}

/** Opens two gateways of one configuration, and a port to each. Returns the function that talks to both, and the function that closes them. */
export async function openBothWays(
  settings: Record<string, unknown>,
  prepare: (gateway: TestGateway) => Promise<void> = async () => {},
) {
  let hotCount = 0
  async function open(isDirect: boolean) {
    const gateway = await openTestGateway(() => settings)
    await prepare(gateway)
    const { fetch, serveHot } = gateway.gateway().routes
    const countHot: ServedRoutes['serveHot'] = (incoming, outgoing) => {
      const isServed = serveHot(incoming, outgoing)
      if (isServed) hotCount += 1
      return isServed
    }
    const routes = { fetch, ...(isDirect && { serveHot: countHot }) }
    const pace = { checkIntervalMs: 250, minBytesPerCheck: 1_000 }
    return { gateway, listening: await listenHttp(routes, { host: '127.0.0.1', port: 0, pace }) }
  }
  const [direct, byHono] = [await open(true), await open(false)]

  async function talk(
    { gateway, listening }: typeof direct,
    compose: (access: Access) => readonly SocketStep[],
  ): Promise<Conversation> {
    const earlierCount = (await listRefusals(gateway)).length
    const access = {
      bearer: `Bearer ${await gateway.simulation.a2a.token({ sub: 'caller' })}`,
      pass: await createPass(gateway),
    }
    const { text, isClosed } = await exchange(listening.port ?? 0, compose(access))
    const refusals = (await listRefusals(gateway)).toReversed().slice(earlierCount)
    return { answers: splitAnswers(text), isClosed, refusals: refusals.map(({ at: _, ...refusal }) => refusal) }
  }

  return {
    async converse(compose: (access: Access) => readonly SocketStep[]) {
      hotCount = 0
      const directConversation = await talk(direct, compose)
      return { direct: directConversation, byHono: await talk(byHono, compose), hotCount }
    },
    async close() {
      for (const { gateway, listening } of [direct, byHono]) {
        await listening.close()
        await gateway.close()
      }
    },
  }
}

async function listRefusals(gateway: TestGateway): Promise<readonly Refusal[]> {
  return (await gateway.requestOperator<{ items: readonly Refusal[] }>('/refusals?limit=500')).items
}

async function createPass(gateway: TestGateway): Promise<string> {
  const { withPass } = await openRehearsals(gateway.gateway().store, Date.now)
  return new Promise((resolve, reject) => {
    const fetch = withPass(async (_, request) => {
      resolve(request?.headers?.[rehearsalField] ?? '')
      throw new Error('nothing is sent')
    }, 'refused')
    fetch('https://agents.test/inbox').catch(reject)
  })
}

/** The time without a byte after which a server has said everything, ms. */
const quietMs = 400

/** Sends the pieces, and returns everything that the server sends until it closes the connection or stays quiet. */
async function exchange(port: number, pieces: readonly SocketStep[]) {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let text = ''
  let isClosed = false
  await once(socket, 'connect')
  let lastEventAt = performance.now()
  socket.setEncoding('utf8').on('data', data => {
    text += data
    lastEventAt = performance.now()
  })
  socket
    .on('error', () => undefined)
    .on('end', () => {
      isClosed = true
    })
  socket.on('close', () => {
    isClosed = true
  })
  for (const piece of pieces) {
    if (typeof piece === 'number') await delay(piece)
    else if (piece === 'cut') socket.destroy()
    else if (!socket.destroyed) socket.write(piece)
    lastEventAt = performance.now()
  }
  while (!isClosed && performance.now() - lastEventAt < quietMs) await delay(10)
  socket.destroy()
  return { text, isClosed }
}

const randomValue = /[0-9a-f]{8}-?[0-9a-f-]{8,}|\d{4}-\d\d-\d\dT[\d:.]+Z/g

/** Splits the answers, and sorts their header fields, whose order and case are free. */
function splitAnswers(text: string): readonly string[] {
  const answers = text.split(/(?=HTTP\/1\.1 \d{3} )/).filter(Boolean)
  return answers.map(answer => {
    const [head = '', ...body] = answer.split('\r\n\r\n')
    const [status, ...fields] = head.split('\r\n')
    const keptFields = fields.map(lowerName).filter(field => !field.startsWith('date:'))
    return [status, ...keptFields.sort(), '', body.join('\n').replace(randomValue, 'RANDOM')].join('\n')
  })
}

function lowerName(field: string): string {
  const colon = field.indexOf(':')
  return field.slice(0, colon).toLowerCase() + field.slice(colon)
}
