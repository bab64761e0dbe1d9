import { ok, warning } from '../../checks/finding.ts'
import { findUnsafeSettings } from '../../config/production.ts'
import type { Check, CheckOutcome, MachineCheck } from '../check.ts'
import { about, toFailure } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'
import { checkConfigFile } from './file-permissions.ts'
import { judgeKeyAge } from './key-age.ts'
import { judgeSecret } from './secret-strength.ts'

/** What is told of a configuration that cannot be used. */
export const configurationFaultChecks: readonly MachineCheck[] = [
  {
    id: 'configuration.valid',
    group: 'configuration',
    what: 'The gateway can read the configuration, and knows every value in it.',
    fix: 'Correct what is named; `docs/reference/configuration.md` lists every key.',
    needs: [],
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
    group: 'configuration',
    what: 'No setting is unsafe in production, as `postern start` asks.',
    fix: 'Change the setting that is named.',
    needs: [],
    run: checkSafety,
  },
  {
    id: 'configuration.file_permissions',
    group: 'configuration',
    what: 'Nobody else on the machine may change the configuration, or read a token that stands in it.',
    fix: 'Run `chmod 600` on the configuration file.',
    needs: [],
    run: checkConfigFile,
  },
  {
    id: 'configuration.operator_token',
    group: 'configuration',
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
    group: 'configuration',
    what: 'Nobody can guess the secrets that sign calls of webhook agents.',
    fix: 'Use `openssl rand -base64 32`, on both sides.',
    needs: [],
    run: checkAgentSecrets,
  },
  {
    id: 'configuration.default_agent',
    group: 'configuration',
    what: '`default_agent`, which answers for the host, is one of the agents.',
    fix: 'Set `default_agent` to the name of an agent.',
    needs: [],
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
    group: 'configuration',
    what: 'The keys that sign are no older than a year.',
    fix: 'Run `postern keys rotate`, and publish the new DNS records.',
    needs: ['gateway'],
    async run(deps) {
      const keys = await Promise.all(requireOpened(deps).channels.map(channel => channel.publishedKeys()))
      return about('keys', judgeKeyAge(keys.flat(), deps.now()))
    },
  },
]

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
