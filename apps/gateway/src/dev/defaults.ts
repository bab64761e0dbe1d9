import type { ConfigFilling, SimulatedPlaces } from '@postern/http'
import { channelModules } from '../channels.ts'
import type { AnyChannelModule } from '../config/channel-slices.ts'

/** What dev mode adds where the file says nothing: enough to run on an empty machine. */
export const devDefaults: readonly ConfigFilling[] = [
  ['dev', true],
  ['origin', 'https://agents.test'],
  ...channelModules.flatMap(({ devDefaults = [] }: AnyChannelModule) => devDefaults),
  ['payments', { use: 'builtin:test' }],
  [
    'agents',
    {
      echo: {
        name: 'Echo',
        description: 'Says back what it heard, from whom, and how that was proven.',
        use: 'builtin:echo',
      },
      help: {
        name: 'Help',
        description: 'Shows history, attachments, a tool call and a refusal. Say "help".',
        use: 'builtin:help',
      },
    },
  ],
]

interface SimulatedNetwork extends SimulatedPlaces {
  readonly dns: readonly string[]
  readonly loopback: Readonly<Record<string, number>>
}

/** What the simulation adds on top: its DNS, its hosts, and what channels need of it. */
export function simulatedDefaults({ dns, loopback, ...places }: SimulatedNetwork): readonly ConfigFilling[] {
  return [
    ['network/dns', dns],
    ...Object.entries(loopback).map(([host, port]): ConfigFilling => [`network/loopback/${host}`, port]),
    ...channelModules.flatMap((module: AnyChannelModule) => module.simulatedDefaults?.(places) ?? []),
  ]
}
