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
    failingCase: {
      runCheck: () => examineExpected(['echo', 'help']),
      expectedDetail: 'the gateway runs with the agents echo, and the file has echo, help',
    },
    passingCase: {
      runCheck: () => examineExpected(['echo']),
      expectedDetail: 'with the origin and the agents of the file',
    },
  },
  'gateway.opens': {
    failingCase: {
      runCheck: () => examineFile('{ "agents": { "one": { "name": "One", "use": "./missing.ts" } } }', 'gateway.opens'),
      expectedDetail: 'agents.one',
    },
    passingCase: { runCheck: () => examine('gateway.opens', openDoctorBench()), expectedDetail: 'can be opened' },
  },
  'gateway.running': {
    failingCase: {
      runCheck: () => examine('gateway.running', openDoctorBench()),
      expectedDetail: 'no gateway is running',
    },
    passingCase: { runCheck: () => examineRunning('gateway.running'), expectedDetail: 'is running' },
  },
  'gateway.writes': {
    failingCase: { runCheck: examineClosedStore, expectedDetail: 'takes no writes' },
    passingCase: { runCheck: () => examineRunning('gateway.writes'), expectedDetail: 'takes writes' },
  },
  'gateway.operator_api': {
    failingCase: { runCheck: examineStranger, expectedDetail: 'answers 200 to somebody without a token' },
    passingCase: { runCheck: () => examineRunning('gateway.operator_api'), expectedDetail: 'asks for its token' },
  },
  'gateway.proxies': {
    failingCase: {
      runCheck: () => examineRunning('gateway.proxies', { findProxyFault: findUnknownProxy }),
      expectedDetail: 'forwarded requests come from 10.0.0.9, which is not trusted',
    },
    passingCase: { runCheck: () => examineRunning('gateway.proxies'), expectedDetail: 'are told apart' },
  },
}
