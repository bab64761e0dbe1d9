// Checks that the configuration is valid and safe.
import { readFileSync, statSync } from 'node:fs'
import { isGuessableSecret } from '@postern/http'
import type { PublishedKey } from '@postern/pipeline'
import type { Verdict } from '../../checks/verdict.ts'
import { failure, ok, warning } from '../../checks/verdict.ts'
import { formatAgentNames } from '../agent-names.ts'
import type { Check, MachineCheck } from '../check.ts'
import { limitOutcomes, outcomeFor, skip, toFailure } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'
import type { CheckOutcome } from '../report.ts'

/** The check that reports faults of the configuration. */
export const configurationFaultChecks: readonly MachineCheck[] = [
  {
    id: 'configuration.valid',
    description: 'The gateway can read the configuration, and knows every value in it.',
    fix: 'Correct what is named; `docs/reference/configuration.md` lists every key.',
    run: ({ configFaults, configPath }) =>
      configFaults.length === 0
        ? outcomeFor(configPath ?? 'configuration', ok('the configuration can be read'))
        : configFaults.map(toFailure),
  },
]

export const configurationChecks: readonly Check[] = [
  {
    id: 'configuration.safe',
    description: 'No setting is unsafe in production, as `postern start` asks.',
    fix: 'Change the setting that is named.',
    run: checkSafety,
  },
  {
    id: 'configuration.file_permissions',
    description: 'Nobody else on the machine may change the configuration, or read a token that stands in it.',
    fix: 'Run `chmod 600` on the configuration file.',
    run: checkConfigFile,
  },
  {
    id: 'configuration.operator_token',
    description: 'Nobody can guess the operator token.',
    fix: 'Set `operator_token` to 24 or more random characters.',
    needs: ['gateway'],
    run: deps =>
      outcomeFor(
        'operator_token',
        judgeSecret(requireOpened(deps).operatorToken, {
          secretName: 'the operator token',
          risk: 'anybody who has it can read and decide everything',
        }),
      ),
  },
  {
    id: 'configuration.agent_secrets',
    description: 'Nobody can guess the secrets that sign calls of webhook agents.',
    fix: 'Use `openssl rand -base64 32`, on both sides.',
    run: checkAgentSecrets,
  },
  {
    id: 'configuration.default_agent',
    description: '`default_agent`, which answers for the host, is one of the agents.',
    fix: 'Set `default_agent` to the name of an agent.',
    run: ({ config: { default_agent, agents } }) =>
      outcomeFor(
        'default_agent',
        default_agent === undefined || Object.hasOwn(agents, default_agent)
          ? ok(`${default_agent ?? Object.keys(agents)[0]} answers for the host`)
          : warning(`there is no agent "${default_agent}"`, `Use one of: ${formatAgentNames(Object.keys(agents))}.`),
      ),
  },
  {
    id: 'configuration.keys',
    description: 'The keys that sign are no older than a year.',
    fix: 'Run `postern keys rotate`, and publish the new DNS records.',
    needs: ['gateway'],
    async run(deps) {
      const keys = await Promise.all(requireOpened(deps).channels.map(channel => channel.keys?.list() ?? []))
      return outcomeFor('keys', judgeKeyAge(keys.flat(), deps.now()))
    },
  },
]

/** Checks the mode of the configuration file. Users who may change the file can run code as the gateway, and readers get its secrets. */
function checkConfigFile({ configPath, config }: Pick<DoctorDeps, 'configPath' | 'config'>): CheckOutcome {
  if (configPath === undefined)
    return skip('configuration file', 'there is no file: all settings come from the environment')
  if (process.platform === 'win32') return skip(configPath, 'this system has no file modes')
  const stats = statSync(configPath, { throwIfNoEntry: false })
  if (!stats) return skip(configPath, 'the file no longer exists')
  const { mode } = stats
  if ((mode & 0o022) !== 0)
    return outcomeFor(
      configPath,
      failure('others on this machine may change the configuration', `chmod go-w ${configPath}`),
    )
  const { operator_token: token } = config
  const holdsToken = token !== undefined && readFileSync(configPath, 'utf8').includes(token)
  if (!holdsToken || (mode & 0o004) === 0) return outcomeFor(configPath, ok('nobody else may change the configuration'))
  const fix = `chmod 600 ${configPath}, or take the token from the environment: { "env": "OPERATOR_TOKEN" }`
  return outcomeFor(configPath, warning('others on this machine may read the operator token in the configuration', fix))
}

function checkSafety({ config, listUnsafeSettings }: DoctorDeps): readonly CheckOutcome[] {
  const unsafeSettings = listUnsafeSettings()
  if (unsafeSettings.length === 0)
    return [
      outcomeFor('settings', ok(config.dev ? 'dev mode: unsafe settings are allowed' : 'no unsafe setting is on')),
    ]
  return unsafeSettings.map(toFailure)
}

function checkAgentSecrets({ config }: DoctorDeps): readonly CheckOutcome[] {
  const secretOutcomes = Object.entries(config.agents).flatMap(([name, { secret }]) =>
    typeof secret === 'string'
      ? [
          outcomeFor(
            `agents.${name}.secret`,
            judgeSecret(secret, {
              secretName: `the secret of ${name}`,
              risk: 'anybody who has it can send the agent messages in any name',
            }),
          ),
        ]
      : [],
  )
  if (secretOutcomes.length === 0) return [outcomeFor('agents', ok('no agent has a shared secret'))]
  return limitOutcomes(secretOutcomes)
}

const dayMs = 86_400_000
/** The age at which a key counts as old: a year and a month, in days. */
const maxKeyDays = 396

/** Judges the age of the newest key of each purpose. M3AAWG recommends a rotation twice a year for mail. */
function judgeKeyAge(keys: readonly PublishedKey[], now: number): Verdict {
  const newestAtByPurpose = new Map<string, number>()
  for (const { purpose, madeAt } of keys) {
    if (madeAt === undefined) continue
    newestAtByPurpose.set(purpose, Math.max(newestAtByPurpose.get(purpose) ?? 0, Date.parse(madeAt)))
  }
  const [[purpose, madeAtMs] = ['', now]] = [...newestAtByPurpose].toSorted(([, a], [, b]) => a - b)
  const days = Math.floor((now - madeAtMs) / dayMs)
  return days > maxKeyDays
    ? warning(
        `the key for "${purpose}" is ${days} days old`,
        'Run "postern keys rotate", and publish the new DNS records.',
      )
    : ok(`the oldest key in use is ${days} days old`)
}

/** The minimum number of bits of a secret. An attacker who can try offline can find a secret with fewer bits. */
const minBits = 80

/** Judges a secret. `secretName` is its name, such as `the operator token`, and `risk` the consequence if somebody guesses it. */
export function judgeSecret(
  secret: string,
  { secretName, risk }: { readonly secretName: string; readonly risk: string },
): Verdict {
  const fix = 'Use 24 or more random characters, such as from: openssl rand -base64 24'
  if (isGuessableSecret(secret)) return failure(`${secretName} is so short that it can be guessed: ${risk}`, fix)
  return estimateBits(secret) < minBits
    ? warning(`${secretName} repeats itself and may be guessed: ${risk}`, fix)
    : ok(`${secretName} is long enough`)
}

/** Estimates an upper bound of the bits, as if each character were drawn from those that occur. */
function estimateBits(secret: string): number {
  return secret.length * Math.log2(new Set(secret).size)
}
