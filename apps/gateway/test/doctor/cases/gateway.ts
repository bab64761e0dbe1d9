import { openTestGateway } from '../../setup/gateway.ts'
import { openDoctorBench, serveHttp } from '../setup/bench.ts'
import type { Cases } from '../setup/case.ts'
import { examine } from '../setup/case.ts'
import { describeGateway, describeOpened } from '../setup/opened.ts'
import { examineFile } from './configuration.ts'

async function examineClosedStore() {
  const test = await openTestGateway()
  const gateway = describeGateway(test.gateway(), 1)
  await test.close()
  return examine('gateway.writes', openDoctorBench({ deps: { gateway } }))
}

const examineRunning = async (id: string, changes: Parameters<typeof describeOpened>[0] = {}, settings = {}) =>
  examine(id, openDoctorBench({ settings, deps: { gateway: await describeOpened(changes), isRunning: true } }))

/** Something else at the port of the gateway, which lets everybody in. */
async function examineStranger() {
  const port = await serveHttp((_, answer) => answer.end('{}'))
  return examineRunning('gateway.operator_api', {
    listening: [{ description: '', port, close: async () => undefined }],
  })
}

export const gatewayCases: Cases = {
  'gateway.opens': {
    fails: {
      examine: () => examineFile('{ "agents": { "one": { "name": "One", "use": "./missing.ts" } } }', 'gateway.opens'),
      says: 'agents.one',
    },
    holds: { examine: () => examine('gateway.opens', openDoctorBench()), says: 'can be opened' },
  },
  'gateway.running': {
    fails: { examine: () => examine('gateway.running', openDoctorBench()), says: 'no gateway is running' },
    holds: { examine: () => examineRunning('gateway.running'), says: 'is running' },
  },
  'gateway.writes': {
    fails: { examine: examineClosedStore, says: 'takes no writes' },
    holds: { examine: () => examineRunning('gateway.writes'), says: 'takes writes' },
  },
  'gateway.operator_api': {
    fails: { examine: examineStranger, says: 'answers 200 to somebody without a token' },
    holds: { examine: () => examineRunning('gateway.operator_api'), says: 'asks for its token' },
  },
  'gateway.proxies': {
    fails: {
      examine: () => examineRunning('gateway.proxies', { listUnknownProxies: () => ['10.0.0.9'] }),
      says: 'forwarded requests come from 10.0.0.9, which is not trusted',
    },
    holds: { examine: () => examineRunning('gateway.proxies'), says: 'are told apart' },
  },
}
