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
    failingCase: {
      runCheck: () => examineRecords('network.dns', { A: ['10.0.0.1'] }),
      expectedDetail: 'agents.test leads to 10.0.0.1, which peers cannot reach',
    },
    passingCase: {
      runCheck: () => examineRecords('network.dns', { A: ['93.184.215.14'], AAAA: ['2606:2800:21f::1'] }),
      expectedDetail: 'agents.test leads to 93.184.215.14, 2606:2800:21f::1',
    },
  },
  'network.ports': {
    failingCase: {
      runCheck: () => examineRecords('network.ports', { A: [publicAddress] }),
      expectedDetail: '203.0.113.5:443 takes no connections',
    },
    passingCase: {
      async runCheck() {
        const port = await serve(createServer(socket => socket.end()))
        return examineRecords('network.ports', { A: [publicAddress] }, { [`${publicAddress}:443`]: port })
      },
      expectedDetail: '203.0.113.5:443 takes connections',
    },
  },
  'network.plain_http': {
    failingCase: {
      runCheck: () => examinePort80((_, answer) => answer.end('hello')),
      expectedDetail: 'answers 200 without TLS',
    },
    passingCase: {
      runCheck: () => examinePort80((_, answer) => answer.writeHead(308, { location: `https://${ownHost}/` }).end()),
      expectedDetail: 'redirects to https',
    },
  },
  'network.origin': {
    failingCase: {
      runCheck: () => checkPublicGateway('network.origin', { hiddenPaths: /healthz/ }),
      expectedDetail: '/healthz answers 404',
    },
    passingCase: { runCheck: () => checkPublicGateway('network.origin'), expectedDetail: 'reaches a gateway' },
  },
  'network.same_gateway': {
    failingCase: {
      runCheck: () => checkPublicGateway('network.same_gateway', { hiddenPaths: /postern-visit/ }),
      expectedDetail: 'does not reach this',
    },
    passingCase: { runCheck: () => checkPublicGateway('network.same_gateway'), expectedDetail: 'reaches this gateway' },
  },
  'network.client_address': {
    failingCase: {
      runCheck: () => checkPublicGateway('network.client_address', { changeHeaders: headers => headers }),
      expectedDetail: 'clients can choose their own address',
    },
    passingCase: {
      runCheck: () => checkPublicGateway('network.client_address'),
      expectedDetail: 'takes 203.0.113.7 for the client',
    },
  },
  'network.host_header': {
    failingCase: {
      runCheck: () =>
        checkPublicGateway('network.host_header', {
          changeHeaders: headers => ({ ...headers, host: '127.0.0.1:8787' }),
        }),
      expectedDetail: 'changes the Host field of requests to 127.0.0.1:8787',
    },
    passingCase: {
      runCheck: () => checkPublicGateway('network.host_header'),
      expectedDetail: 'passes the name agents.test on',
    },
  },
  'network.body_size': {
    failingCase: {
      runCheck: () => checkPublicGateway('network.body_size', { maxBodyBytes: 1024 * 1024 }),
      expectedDetail: 'does not pass on',
    },
    passingCase: { runCheck: () => checkPublicGateway('network.body_size'), expectedDetail: 'bodies of 1.5 MB' },
  },
  'network.streaming': {
    failingCase: {
      runCheck: () => checkPublicGateway('network.streaming', { isBuffering: true }),
      expectedDetail: 'buffers streams',
    },
    passingCase: { runCheck: () => checkPublicGateway('network.streaming'), expectedDetail: 'as they come' },
  },
}
