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
    fails: {
      examine: () => examineFile('{ "origin": "https://agents.test", "agnets": {} }', 'configuration.valid'),
      says: 'agnets: is not a known key',
    },
    holds: { examine: () => examine('configuration.valid', openDoctorBench()), says: 'can be read' },
  },
  'configuration.safe': {
    fails: {
      examine: () => examine('configuration.safe', openDoctorBench({ loopback: { 'x.test': 1 } })),
      says: 'network.loopback: is for development only',
    },
    holds: { examine: () => examine('configuration.safe', openDoctorBench()), says: 'no unsafe setting is on' },
  },
  'configuration.file_permissions': {
    fails: { examine: () => examineModes(0o666), says: 'others on this machine may change the configuration' },
    holds: { examine: () => examineModes(0o600), says: 'nobody else' },
  },
  'configuration.operator_token': {
    fails: { examine: () => examineToken('aaaaaaaaaaaaaaaaaaaaaaaa'), says: 'repeats itself' },
    holds: { examine: () => examineToken('Jr5tYq0vWc7bK2mX9sLd4hNf'), says: 'long enough' },
  },
  'configuration.agent_secrets': {
    fails: {
      examine: () => examine('configuration.agent_secrets', openDoctorBench(webhook('hello'))),
      says: 'the secret of py is so short',
    },
    holds: {
      examine: () => examine('configuration.agent_secrets', openDoctorBench(webhook('whsec_Jr5tYq0vWc7bK2mX9sLd4hNf'))),
      says: 'long enough',
    },
  },
  'configuration.default_agent': {
    fails: {
      examine: () => examine('configuration.default_agent', openDoctorBench({ settings: { default_agent: 'nobody' } })),
      says: 'there is no agent "nobody"',
    },
    holds: {
      examine: () => examine('configuration.default_agent', openDoctorBench()),
      says: 'echo answers for the host',
    },
  },
  'configuration.keys': {
    fails: { examine: () => examineKeys(400), says: 'is 400 days old' },
    holds: { examine: () => examineKeys(3), says: 'is 3 days old' },
  },
}
