// Compares the setup of a gateway with the setup that its store has recorded.

import { ConfigError } from '@postern/message'
import type { RunSetup, SetupDifference, WhyStore } from '@postern/pipeline'
import type { ChannelSlice } from '../config/channel-slices.ts'
import type { Config } from '../config/schema.ts'

/** Returns the facts that identify the data of a gateway. */
export function describeSetup(
  { origin, agents }: Pick<Config, 'origin' | 'agents'>,
  slices: readonly ChannelSlice[],
  mode: RunSetup['mode'],
): RunSetup {
  const issuers = slices.flatMap(({ module, config }) => module.tokens?.authOf(config).issuers ?? [])
  return {
    mode,
    origin,
    agents: Object.keys(agents).sort(),
    issuers: [...new Set(issuers.map(({ issuer }) => issuer))].sort(),
  }
}

const commandsByMode = { production: 'postern start', simulation: 'postern dev' } as const

/** Describes a difference with both values and its fix. */
export function toSetupError({ fact, stored, given, isRunning }: SetupDifference): ConfigError {
  if (isRunning) {
    const problem = `a gateway that runs on the same store has ${describeFact(fact, stored)}, and this one has ${describeFact(fact, given)}`
    return new ConfigError('store', problem, 'Give both the same configuration, or stop the other one first.')
  }
  if (fact === 'mode') {
    const [formerCommand, command] = [
      commandsByMode[stored as RunSetup['mode']],
      commandsByMode[given as RunSetup['mode']],
    ]
    const problem = `holds the data of "${formerCommand}", and "${command}" would send its waiting messages ${given === 'simulation' ? 'to simulated peers' : 'to real peers'}`
    return new ConfigError(
      'data',
      problem,
      `Name another folder or store, or run "${command} --adopt" to take the data over.`,
    )
  }
  const problem = `holds the data of ${describeFact(fact, stored)}, and this gateway has ${describeFact(fact, given)}`
  const fix = 'Correct "origin", name another folder or store, or run "postern start --adopt" to take the data over.'
  return new ConfigError('data', problem, fix)
}

/**
 * Checks that a command may write to the data of a gateway that has stopped. The data of a simulation mean nothing to real peers, so their origin may
 * be another one. @throws ConfigError if the data has the origin of another gateway
 */
export async function checkStoredOrigin(
  config: Pick<Config, 'origin' | 'agents'>,
  {
    slices,
    store,
  }: { readonly slices: readonly ChannelSlice[]; readonly store: Pick<WhyStore, 'findSetupDifference'> },
): Promise<void> {
  const difference = await store.findSetupDifference(describeSetup(config, slices, 'production'))
  if (difference?.fact === 'origin') throw toSetupError(difference)
}

function describeFact(fact: keyof RunSetup, value: string): string {
  return `the ${fact} ${value === '' ? '(none)' : value}`
}
