// Lists installations for the doctor's checks of the configuration.
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfigFile } from '../../../src/config/read-config.ts'
import { openOperatorClient } from '../../../src/running/operator-client.ts'
import { examineUnopenedGateway } from '../../../src/running/unopened-doctor.ts'
import { openDoctorBench } from '../setup/bench.ts'
import type { Cases } from '../setup/case.ts'
import { examine } from '../setup/case.ts'
import { describeOpened } from '../setup/shared-gateway.ts'

/** Examines a file with this text like the command `doctor`. */
export async function examineFile(text: string, id: string) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-config-'))
  const path = join(folder, 'postern.config.json')
  writeFileSync(path, text)
  const readFile = () => readConfigFile({ path, environment: {}, workingDir: folder })
  const fault = await readFile()
    .then(openOperatorClient)
    // The data opens with the first request.
    .then(client => client.get('/healthz').finally(() => client.close()))
    .catch((error: unknown) => error)
  const group = id.split('.')[0] as 'configuration' | 'gateway'
  const { findings } = await examineUnopenedGateway({ openError: fault, groups: [group], readFile })
  return findings.filter(finding => finding.id === id)
}

function examineModes(mode: number) {
  const path = join(mkdtempSync(join(tmpdir(), 'postern-modes-')), 'postern.config.json')
  writeFileSync(path, '{}')
  chmodSync(path, mode)
  return examine('configuration.file_permissions', openDoctorBench({ deps: { configPath: path } }))
}

const webhook = (secret: string) => ({
  settings: { agents: { py: { use: 'webhook', url: 'https://py.test/', secret } } },
})
const examineToken = async (operatorToken: string) =>
  examine(
    'configuration.operator_token',
    openDoctorBench({ deps: { gateway: await describeOpened({ operatorToken }) } }),
  )
const examineKeys = async (daysLater: number) =>
  examine(
    'configuration.keys',
    openDoctorBench({ deps: { gateway: await describeOpened(), now: () => Date.now() + daysLater * 86_400_000 } }),
  )

export const configurationCases: Cases = {
  'configuration.valid': {
    failingCase: {
      runCheck: () => examineFile('{ "origin": "https://agents.test", "agnets": {} }', 'configuration.valid'),
      expectedDetail: 'agnets: is not a known key',
    },
    passingCase: { runCheck: () => examine('configuration.valid', openDoctorBench()), expectedDetail: 'can be read' },
  },
  'configuration.safe': {
    failingCase: {
      runCheck: () => examine('configuration.safe', openDoctorBench({ loopback: { 'x.test': 1 } })),
      expectedDetail: 'network.loopback: is for development only',
    },
    passingCase: {
      runCheck: () => examine('configuration.safe', openDoctorBench()),
      expectedDetail: 'no unsafe setting is on',
    },
  },
  'configuration.file_permissions': {
    failingCase: {
      runCheck: () => examineModes(0o666),
      expectedDetail: 'others on this machine may change the configuration',
    },
    passingCase: { runCheck: () => examineModes(0o600), expectedDetail: 'nobody else' },
  },
  'configuration.operator_token': {
    failingCase: { runCheck: () => examineToken('aaaaaaaaaaaaaaaaaaaaaaaa'), expectedDetail: 'repeats itself' },
    passingCase: { runCheck: () => examineToken('Jr5tYq0vWc7bK2mX9sLd4hNf'), expectedDetail: 'long enough' },
  },
  'configuration.agent_secrets': {
    failingCase: {
      runCheck: () => examine('configuration.agent_secrets', openDoctorBench(webhook('hello'))),
      expectedDetail: 'the secret of py is so short',
    },
    passingCase: {
      runCheck: () =>
        examine('configuration.agent_secrets', openDoctorBench(webhook('whsec_Jr5tYq0vWc7bK2mX9sLd4hNf'))),
      expectedDetail: 'long enough',
    },
  },
  'configuration.default_agent': {
    failingCase: {
      runCheck: () =>
        examine('configuration.default_agent', openDoctorBench({ settings: { default_agent: 'nobody' } })),
      expectedDetail: 'there is no agent "nobody"',
    },
    passingCase: {
      runCheck: () => examine('configuration.default_agent', openDoctorBench()),
      expectedDetail: 'echo answers for the host',
    },
  },
  'configuration.keys': {
    failingCase: { runCheck: () => examineKeys(400), expectedDetail: 'is 400 days old' },
    passingCase: { runCheck: () => examineKeys(3), expectedDetail: 'is 3 days old' },
  },
}
