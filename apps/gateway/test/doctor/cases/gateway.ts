// Lists installations for the doctor's checks of the running gateway.
import { describeChannelSettings } from '../../../src/compose/doctor-deps.ts'
import type { Config } from '../../../src/config/schema.ts'
import { openTestGateway } from '../../setup/gateway.ts'
import { openDoctorBench, serveHttp } from '../setup/bench.ts'
import type { Cases } from '../setup/case.ts'
import { examine } from '../setup/case.ts'
import { describeGateway, describeOpened } from '../setup/shared-gateway.ts'
import { examineFile } from './configuration.ts'

async function examineClosedStore() {
  const test = await openTestGateway()
  const gateway = describeGateway(test.gateway(), 1)
  await test.close()
  return examine('gateway.writes', openDoctorBench({ deps: { gateway, isRunning: true } }))
}

const examineRunning = async (id: string, changes: Parameters<typeof describeOpened>[0] = {}, settings = {}) =>
  examine(id, openDoctorBench({ settings, deps: { gateway: await describeOpened(changes), isRunning: true } }))

/** Examines a port of the gateway at which another program answers every request. */
async function examineStranger() {
  const port = await serveHttp((_, answer) => answer.end('{}'))
  return examineRunning('gateway.operator_api', {
    listening: [{ description: '', port, close: async () => undefined }],
  })
}

/** Examines a configuration with these agents while the running gateway has only the agent `echo`. */
const examineExpected = async (agents: readonly string[]) =>
  examine('gateway.configuration', {
    ...openDoctorBench({ deps: { gateway: await describeOpened(), isRunning: true } }),
    expected: { origin: 'https://agents.test', agents },
  })

const { findProxyFault: findUnknownProxy } = describeChannelSettings({
  ...{ config: {} as Config, slices: [], store: { findSetupDifference: async () => undefined } },
  unknownProxies: { list: () => ['10.0.0.9'] },
})

export const gatewayCases: Cases = {
  'gateway.configuration': {
    fails: {
      examine: () => examineExpected(['echo', 'help']),
      says: 'the gateway runs with the agents echo, and the file has echo, help',
    },
    holds: { examine: () => examineExpected(['echo']), says: 'with the origin and the agents of the file' },
  },
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
      examine: () => examineRunning('gateway.proxies', { findProxyFault: findUnknownProxy }),
      says: 'forwarded requests come from 10.0.0.9, which is not trusted',
    },
    holds: { examine: () => examineRunning('gateway.proxies'), says: 'are told apart' },
  },
}
