// Lists installations for the doctor's checks of the network.
import { createServer } from 'node:net'
import { openDoctorBench, ownHost, serve, serveHttp } from '../setup/bench.ts'
import type { Cases } from '../setup/case.ts'
import { examine } from '../setup/case.ts'
import { checkPublicGateway, openPublicGateway } from '../setup/public-gateway.ts'

const publicAddress = '203.0.113.5'

/** Examines our host with these records. */
async function examineRecords(id: string, records: object, ports: Readonly<Record<string, number>> = {}) {
  const { dns } = (await openPublicGateway()).gateway.simulation
  const recordsBefore = dns.find(ownHost)
  dns.set(ownHost, records)
  return examine(id, openDoctorBench({ dns: dns.address, ports })).finally(() => dns.set(ownHost, recordsBefore ?? {}))
}

async function examinePort80(answer: Parameters<typeof serveHttp>[0]) {
  return examine('network.plain_http', openDoctorBench({ ports: { [`${ownHost}:80`]: await serveHttp(answer) } }))
}

export const networkCases: Cases = {
  'network.dns': {
    fails: {
      examine: () => examineRecords('network.dns', { A: ['10.0.0.1'] }),
      says: 'agents.test leads to 10.0.0.1, which peers cannot reach',
    },
    holds: {
      examine: () => examineRecords('network.dns', { A: ['93.184.215.14'], AAAA: ['2606:2800:21f::1'] }),
      says: 'agents.test leads to 93.184.215.14, 2606:2800:21f::1',
    },
  },
  'network.ports': {
    fails: {
      examine: () => examineRecords('network.ports', { A: [publicAddress] }),
      says: '203.0.113.5:443 takes no connections',
    },
    holds: {
      async examine() {
        const port = await serve(createServer(socket => socket.end()))
        return examineRecords('network.ports', { A: [publicAddress] }, { [`${publicAddress}:443`]: port })
      },
      says: '203.0.113.5:443 takes connections',
    },
  },
  'network.plain_http': {
    fails: { examine: () => examinePort80((_, answer) => answer.end('hello')), says: 'answers 200 without TLS' },
    holds: {
      examine: () => examinePort80((_, answer) => answer.writeHead(308, { location: `https://${ownHost}/` }).end()),
      says: 'redirects to https',
    },
  },
  'network.origin': {
    fails: {
      examine: () => checkPublicGateway('network.origin', { hiddenPaths: /healthz/ }),
      says: '/healthz answers 404',
    },
    holds: { examine: () => checkPublicGateway('network.origin'), says: 'reaches a gateway' },
  },
  'network.same_gateway': {
    fails: {
      examine: () => checkPublicGateway('network.same_gateway', { hiddenPaths: /postern-visit/ }),
      says: 'does not reach this',
    },
    holds: { examine: () => checkPublicGateway('network.same_gateway'), says: 'reaches this gateway' },
  },
  'network.client_address': {
    fails: {
      examine: () => checkPublicGateway('network.client_address', { changeHeaders: headers => headers }),
      says: 'clients can choose their own address',
    },
    holds: { examine: () => checkPublicGateway('network.client_address'), says: 'takes 203.0.113.7 for the client' },
  },
  'network.host_header': {
    fails: {
      examine: () =>
        checkPublicGateway('network.host_header', {
          changeHeaders: headers => ({ ...headers, host: '127.0.0.1:8787' }),
        }),
      says: 'changes the Host field of requests to 127.0.0.1:8787',
    },
    holds: { examine: () => checkPublicGateway('network.host_header'), says: 'passes the name agents.test on' },
  },
  'network.body_size': {
    fails: {
      examine: () => checkPublicGateway('network.body_size', { maxBodyBytes: 1024 * 1024 }),
      says: 'does not pass on',
    },
    holds: { examine: () => checkPublicGateway('network.body_size'), says: 'bodies of 1.5 MB' },
  },
  'network.streaming': {
    fails: { examine: () => checkPublicGateway('network.streaming', { isBuffering: true }), says: 'buffers streams' },
    holds: { examine: () => checkPublicGateway('network.streaming'), says: 'as they come' },
  },
}
