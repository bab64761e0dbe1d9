// Runs a DNS server on loopback whose zone can change while it runs.
import type { Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import type { Server as TcpServer, Socket as TcpSocket } from 'node:net'
import dns2 from 'dns2'
import type { DnsFailure, DnsRecords, Zone } from './zone.ts'
import { answerQuery } from './zone.ts'

type RecordValue<Type extends keyof DnsRecords> = NonNullable<DnsRecords[Type]>[number]

/** A name server on loopback whose zone may change while it runs. */
export interface SimDns {
  /** The address to configure in a resolver, such as `127.0.0.1:54321`. It answers over UDP and TCP. */
  readonly address: string
  /** Adds one record to a name, in addition to earlier records. */
  addRecord<Type extends keyof DnsRecords>(name: string, type: Type, value: RecordValue<Type>): void
  /** Replaces all records of a name. */
  set(name: string, records: DnsRecords): void
  remove(name: string): void
  find(name: string): DnsRecords | undefined
  /** Makes every query for this name fail. Returns a function that ends the failure. */
  fail(name: string, failure: DnsFailure): () => void
  /** Every question so far, such as `alice.test TXT`. */
  readonly questions: readonly string[]
  close(): Promise<void>
}

export async function openSimDns(): Promise<SimDns> {
  const zone: Zone = { records: new Map(), failures: new Map(), questions: [] }
  const { records, failures } = zone
  const { port, close } = await listenOnOnePort(createHandler(zone))
  return {
    address: `127.0.0.1:${port}`,
    addRecord(name, type, value) {
      const previousRecords = records.get(name.toLowerCase())
      records.set(name.toLowerCase(), { ...previousRecords, [type]: [...(previousRecords?.[type] ?? []), value] })
    },
    set: (name, newRecords) => void records.set(name.toLowerCase(), newRecords),
    find: name => records.get(name.toLowerCase()),
    remove: name => void records.delete(name.toLowerCase()),
    fail(name, failure) {
      failures.set(name.toLowerCase(), failure)
      return () => void failures.delete(name.toLowerCase())
    },
    questions: zone.questions,
    close,
  }
}

interface Listener {
  readonly port: number
  close(): Promise<void>
}

/** Listens over UDP and TCP on one port. If TCP cannot use the free port of UDP, both try another port. */
async function listenOnOnePort(handle: Handler, remainingAttempts = 5): Promise<Listener> {
  const udp = await listenUdp(handle)
  try {
    const tcp = await listenTcp(handle, udp.port)
    return { port: udp.port, close: async () => void (await Promise.all([udp.close(), tcp.close()])) }
  } catch (error) {
    await udp.close()
    if (remainingAttempts <= 1) throw error
    return listenOnOnePort(handle, remainingAttempts - 1)
  }
}

type Handler = NonNullable<Parameters<typeof dns2.createTCPServer>[0]>

function createHandler(zone: Zone): Handler {
  return (query, send) => {
    const answer = answerQuery(query, zone)
    // The error is ignored, because a resolver that no longer waits has closed its port.
    if (answer) send(answer).catch(() => undefined)
  }
}

async function listenUdp(handle: Handler): Promise<Listener> {
  const server = dns2.createUDPServer(handle) as UdpSocket
  await new Promise<void>(resolve => server.bind(0, '127.0.0.1', resolve))
  return { port: server.address().port, close: () => new Promise(resolve => server.close(() => resolve())) }
}

async function listenTcp(handle: Handler, port: number): Promise<Listener> {
  const server = dns2.createTCPServer(handle) as TcpServer
  const sockets = new Set<TcpSocket>()
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = () =>
    new Promise<void>(resolve => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  return { port, close }
}
