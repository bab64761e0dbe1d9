// Refuses settings that are unsafe for a gateway outside of dev mode.

import { isGuessableSecret, isLoopbackHost } from '@postern/http'
import { ConfigError } from '@postern/message'
import { listSlices } from './channel-slices.ts'
import type { Config } from './schema.ts'

interface ProductionRule {
  isViolated(config: Config): boolean
  readonly error: ConfigError
}

const localHostPattern = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\]|\[::ffff:7f.*\]|0\.0\.0\.0|\[::\])$/

/** The rules of `start` outside of dev mode. */
const productionRules: readonly ProductionRule[] = [
  {
    isViolated: ({ network }) => Object.keys(network.loopback).length > 0,
    error: new ConfigError('network.loopback', 'is for development only', 'Remove it, or set "dev": true.'),
  },
  {
    isViolated: ({ network }) => network.allow_private.some(origin => localHostPattern.test(new URL(origin).hostname)),
    error: new ConfigError(
      'network.allow_private',
      'opens this machine itself to strangers',
      'Remove the loopback origin, or set "dev": true.',
    ),
  },
  {
    isViolated: ({ network }) =>
      network.allow_private_push.some(origin => localHostPattern.test(new URL(origin).hostname)),
    error: new ConfigError(
      'network.allow_private_push',
      'opens this machine itself to strangers',
      'Remove the loopback origin, or set "dev": true.',
    ),
  },
  {
    isViolated: ({ payments }) => payments?.use === 'builtin:test',
    error: new ConfigError(
      'payments.use',
      '"builtin:test" receives no real money',
      'Name a provider that signs receipts, or set "dev": true.',
    ),
  },
  {
    isViolated: ({ operator_token }) => isGuessableSecret(operator_token),
    error: new ConfigError('operator_token', 'can be guessed', 'Use 16 or more random characters.'),
  },
]

/** The rules of `start` for a file with `dev`, whose unsafe switches other machines must not reach. */
const devRules: readonly ProductionRule[] = [
  {
    isViolated: ({ listen }) => !isLoopbackHost(listen.host),
    error: new ConfigError(
      'dev',
      'allows unsafe settings on a gateway that other machines reach by "listen.host"',
      'Set listen.host to 127.0.0.1, or remove "dev".',
    ),
  },
]

/** Returns the faults that make a configuration unsafe for `start`. */
export function findUnsafeSettings(config: Config): readonly ConfigError[] {
  const violatedRules = (config.dev ? devRules : productionRules).filter(rule => rule.isViolated(config))
  const channelFaults = config.dev
    ? []
    : listSlices(config).flatMap(slice => slice.module.findUnsafe?.(slice.config) ?? [])
  return [...findMissingSettings(config), ...violatedRules.map(rule => rule.error), ...channelFaults]
}

/** Returns faults of settings that production requires and the schema does not. They are reported even if the schema finds faults, too. */
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
