import { ConfigError } from '@postern/core'
import { isGuessableSecret } from '@postern/http'
import { listSlices } from './channel-slices.ts'
import type { Config } from './schema.ts'
import { isLoopbackHost } from './trusted-proxies.ts'

interface ProductionRule {
  isBroken(config: Config): boolean
  readonly error: ConfigError
}

const loopbackHost = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\]|\[::ffff:7f.*\]|0\.0\.0\.0|\[::\])$/

/** What `start` refuses outside of dev mode. */
const rules: readonly ProductionRule[] = [
  {
    isBroken: ({ network }) => Object.keys(network.loopback).length > 0,
    error: new ConfigError('network.loopback', 'is for development only', 'Remove it, or set "dev": true.'),
  },
  {
    isBroken: ({ network }) => network.allow_private.some(origin => loopbackHost.test(new URL(origin).hostname)),
    error: new ConfigError(
      'network.allow_private',
      'opens this machine itself to strangers',
      'Remove the loopback origin, or set "dev": true.',
    ),
  },
  {
    isBroken: ({ payments }) => payments?.use === 'builtin:test',
    error: new ConfigError(
      'payments.use',
      '"builtin:test" takes nobody\'s money',
      'Name a provider that signs receipts, or set "dev": true.',
    ),
  },
  {
    isBroken: ({ operator_token }) => isGuessableSecret(operator_token),
    error: new ConfigError('operator_token', 'can be guessed', 'Use 16 or more random characters.'),
  },
]

/** What `start` refuses of a file that says "dev": its unsafe switches are for this machine alone. */
const devRules: readonly ProductionRule[] = [
  {
    isBroken: ({ listen }) => !isLoopbackHost(listen.host),
    error: new ConfigError(
      'dev',
      'opens unsafe switches to the network that "listen.host" is in',
      'Set listen.host to 127.0.0.1, or remove "dev".',
    ),
  },
]

/** The faults that make a configuration unsafe for `start`. */
export function findUnsafeSettings(config: Config): readonly ConfigError[] {
  const broken = (config.dev ? devRules : rules).filter(rule => rule.isBroken(config))
  const ofChannels = config.dev
    ? []
    : listSlices(config).flatMap(slice => slice.module.findUnsafe?.(slice.config) ?? [])
  return [...findMissingSettings(config), ...broken.map(rule => rule.error), ...ofChannels]
}

/** What production needs and the schema does not: told also where the rest of the configuration has faults. */
export function findMissingSettings({
  dev,
  operator_token,
}: Readonly<Record<string, unknown>>): readonly ConfigError[] {
  return dev === true || operator_token !== undefined ? [] : [missingOperatorToken]
}

const missingOperatorToken = new ConfigError(
  'operator_token',
  'is missing',
  'Set it to 16 or more random characters, in the file or as POSTERN_OPERATOR_TOKEN.',
)
