// Measures the resources that remain after callers cut off their A2A streams.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import type { Figure, ProbeOptions } from '../harness/tables/figure.ts'
import { formatRequest } from '../http/message.ts'
import { describeBenchGateway, gatewayHost } from '../ours/open.ts'
import { startServer } from '../servers/process.ts'

const counts = { usual: 1_000, quick: 200 } as const
/** The number of streams that are opened at a time. */
const portion = 50
const settleMs = 10_000

/** Counts the listeners of a gateway after its callers have disconnected in the middle of their streams. */
export async function probeAborts({ quick, cores, progress }: ProbeOptions): Promise<readonly Figure[]> {
  const count = quick ? counts.quick : counts.usual
  const limits = { streams_per_caller: 2 * count, open_tasks_per_caller: 2 * count }
  await using gateway = await startServer({
    ...describeBenchGateway({ a2a: { auth: { anonymous: true }, limits } }),
    core: cores?.server,
  })
  // Each running turn has a listener of its own, even after its caller has disconnected.
  const countStreams = async () => {
    const listeners = Number(await gateway.work('listeners'))
    return listeners - (await gateway.sample()).handled
  }
  progress(`calls: ${count} streams that are cut off`)
  const sockets: Socket[] = []
  while (sockets.length < count) {
    const opening = Array.from({ length: portion }, (_, index) => openStream(gateway.port, sockets.length + index))
    sockets.push(...(await Promise.all(opening)))
  }
  const open = await countStreams()
  if (open < count) throw new Error(`${count} streams are open, but ${open} listeners`)
  for (const socket of sockets) socket.destroy()
  const remainingStreams = await waitForNoStreams(countStreams)
  return [
    {
      case: 'A2A streams',
      name: `listeners after ${count} aborted streams`,
      note: `${open} while they were open; a listener more is a leak`,
      value: remainingStreams,
      unit: '',
      ratio: remainingStreams,
      ratioLabel: 'left',
      aim: { atMost: 0 },
    },
  ]
}

/** Opens a stream, and resolves with its first bytes: the task. */
async function openStream(port: number, sequenceNumber: number): Promise<Socket> {
  const message = { messageId: `aborted-${sequenceNumber}`, role: 'ROLE_USER', parts: [{ text: 'Wait for it.' }] }
  const rpcRequest = { jsonrpc: '2.0', id: sequenceNumber, method: 'SendStreamingMessage', params: { message } }
  const headers = { host: gatewayHost, 'content-type': 'application/json', 'a2a-version': '1.0' }
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(formatRequest('/agents/patient/a2a', headers, Buffer.from(JSON.stringify(rpcRequest))))
  let text = ''
  while (!text.includes('TASK_STATE_')) {
    const [bytes] = (await once(socket, 'data')) as [Buffer]
    text += bytes.toString('latin1')
    if (/^HTTP\/1\.1 (?!200)/.test(text)) throw new Error(`a stream was refused: ${text.slice(0, 200)}`)
  }
  return socket
}

async function waitForNoStreams(count: () => Promise<number>): Promise<number> {
  const deadline = performance.now() + settleMs
  let remainingStreams = await count()
  while (remainingStreams > 0 && performance.now() < deadline) {
    await new Promise(resolve => setTimeout(resolve, 50))
    remainingStreams = await count()
  }
  return remainingStreams
}
