import { readFileSync, statSync } from 'node:fs'
import type { PublishedKey } from '@postern/core'
import { isGuessableSecret } from '@postern/http'
import type { Verdict } from '../../checks/finding.ts'
import { failure, ok, warning } from '../../checks/finding.ts'
import { findUnsafeSettings } from '../../config/production.ts'
import type { Check, MachineCheck } from '../check.ts'
import { about, skip, toFailure } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'
import type { CheckOutcome } from '../report.ts'

/** What is told of a configuration that cannot be used. */
export const configurationFaultChecks: readonly MachineCheck[] = [
  {
    id: 'configuration.valid',
    what: 'The gateway can read the configuration, and knows every value in it.',
    fix: 'Correct what is named; `docs/reference/configuration.md` lists every key.',
    run: ({ configFaults, configPath }) =>
      configFaults.length === 0
        ? about(configPath ?? 'configuration', ok('the configuration can be read'))
        : configFaults.map(toFailure),
  },
]

/** How safe and how complete the settings are. */
export const configurationChecks: readonly Check[] = [
  {
    id: 'configuration.safe',
    what: 'No setting is unsafe in production, as `postern start` asks.',
    fix: 'Change the setting that is named.',
    run: checkSafety,
  },
  {
    id: 'configuration.file_permissions',
    what: 'Nobody else on the machine may change the configuration, or read a token that stands in it.',
    fix: 'Run `chmod 600` on the configuration file.',
    run: checkConfigFile,
  },
  {
    id: 'configuration.operator_token',
    what: 'Nobody can guess the operator token.',
    fix: 'Set `operator_token` to 24 or more random characters.',
    needs: ['gateway'],
    run: deps =>
      about(
        'operator_token',
        judgeSecret(requireOpened(deps).operatorToken, {
          what: 'the operator token',
          risk: 'whoever has it reads and decides everything',
        }),
      ),
  },
  {
    id: 'configuration.agent_secrets',
    what: 'Nobody can guess the secrets that sign calls of webhook agents.',
    fix: 'Use `openssl rand -base64 32`, on both sides.',
    run: checkAgentSecrets,
  },
  {
    id: 'configuration.default_agent',
    what: '`default_agent`, which answers for the host, is one of the agents.',
    fix: 'Set `default_agent` to the name of an agent.',
    run: ({ config: { default_agent, agents } }) =>
      about(
        'default_agent',
        default_agent === undefined || Object.hasOwn(agents, default_agent)
          ? ok(`${default_agent ?? Object.keys(agents)[0]} answers for the host`)
          : warning(`there is no agent "${default_agent}"`, `Use one of: ${Object.keys(agents).join(', ')}.`),
      ),
  },
  {
    id: 'configuration.keys',
    what: 'The keys that sign are no older than a year.',
    fix: 'Run `postern keys rotate`, and publish the new DNS records.',
    needs: ['gateway'],
    async run(deps) {
      const keys = await Promise.all(requireOpened(deps).channels.map(channel => channel.publishedKeys()))
      return about('keys', judgeKeyAge(keys.flat(), deps.now()))
    },
  },
]

/** Whoever can change the file can run code as the gateway; whoever can read it has the secrets that stand in it. */
function checkConfigFile({ configPath, config }: Pick<DoctorDeps, 'configPath' | 'config'>): CheckOutcome {
  if (configPath === undefined) return skip('configuration file', 'there is none: all comes from the environment')
  if (process.platform === 'win32') return skip(configPath, 'this system has no modes of files')
  const found = statSync(configPath, { throwIfNoEntry: false })
  if (!found) return skip(configPath, 'the file is not there any more')
  const { mode } = found
  if ((mode & 0o022) !== 0)
    return about(configPath, failure('others on this machine may change the configuration', `chmod go-w ${configPath}`))
  const { operator_token: token } = config
  const holdsToken = token !== undefined && readFileSync(configPath, 'utf8').includes(token)
  if (!holdsToken || (mode & 0o004) === 0) return about(configPath, ok('nobody else may change the configuration'))
  const fix = `chmod 600 ${configPath}, or take the token from the environment: { "env": "OPERATOR_TOKEN" }`
  return about(configPath, warning('others on this machine may read the operator token in the configuration', fix))
}

function checkSafety({ config }: DoctorDeps): readonly CheckOutcome[] {
  const unsafe = findUnsafeSettings(config)
  if (unsafe.length === 0)
    return [about('settings', ok(config.dev ? 'dev mode: unsafe switches are allowed' : 'no unsafe switch is on'))]
  return unsafe.map(toFailure)
}

function checkAgentSecrets({ config }: DoctorDeps): readonly CheckOutcome[] {
  const judged = Object.entries(config.agents).flatMap(([name, { secret }]) =>
    typeof secret === 'string'
      ? [
          about(
            `agents.${name}.secret`,
            judgeSecret(secret, { what: `the secret of ${name}`, risk: 'whoever has it sends it messages as anybody' }),
          ),
        ]
      : [],
  )
  return judged.length > 0 ? judged : [about('agents', ok('no agent shares a secret with us'))]
}

const dayMs = 86_400_000
/** A year, and a month of grace. */
const oldDays = 396

/** Whether the newest key of each purpose is younger than about a year (M3AAWG asks for twice a year for mail). */
function judgeKeyAge(keys: readonly PublishedKey[], now: number): Verdict {
  const newest = new Map<string, number>()
  for (const { purpose, madeAt } of keys) {
    if (madeAt === undefined) continue
    newest.set(purpose, Math.max(newest.get(purpose) ?? 0, Date.parse(madeAt)))
  }
  const [[purpose, at] = ['', now]] = [...newest].toSorted(([, left], [, right]) => left - right)
  const days = Math.floor((now - at) / dayMs)
  return days > oldDays
    ? warning(
        `the key for "${purpose}" is ${days} days old`,
        'Run "postern keys rotate", and publish the new DNS records.',
      )
    : ok(`the oldest key in use is ${days} days old`)
}

/** Less can be found by trying, for somebody who can try without us. */
const leastBits = 80

/** `what`: what the secret is, as `the operator token`; `risk`: what somebody does who has guessed it. */
export function judgeSecret(secret: string, { what, risk }: { readonly what: string; readonly risk: string }): Verdict {
  const fix = 'Use 24 or more random characters, such as from: openssl rand -base64 24'
  if (isGuessableSecret(secret)) return failure(`${what} is so short that it can be guessed: ${risk}`, fix)
  return estimateBits(secret) < leastBits
    ? warning(`${what} repeats itself and may be guessed: ${risk}`, fix)
    : ok(`${what} is long enough`)
}

/** As if each character were chosen by chance from those that occur: never less than it is. */
function estimateBits(secret: string): number {
  return secret.length * Math.log2(new Set(secret).size)
}
