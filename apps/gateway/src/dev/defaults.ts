import type { Filling } from './fill.ts'

/** Who tries things out sends the same words again and again. */
const noMailBudgets = {
  correspondent_per_hour: 1_000_000,
  thread_per_hour: 1_000_000,
  thread_per_day: 1_000_000,
  rapid_per_hour: 1_000_000,
  repeats_per_hour: 1_000_000,
  unverified_per_day: 1_000_000,
  unverified_per_hour: 1_000_000,
  reply_all_per_hour: 1_000_000,
}

/** What dev mode adds where the file says nothing: enough to run on an empty machine. */
export const devDefaults: readonly Filling[] = [
  ['dev', true],
  ['origin', 'https://agents.test'],
  ['email/budgets', noMailBudgets],
  ['web/enabled', true],
  ['web/trace', true],
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

interface SimulatedPlaces {
  readonly dns: readonly string[]
  readonly loopback: Readonly<Record<string, number>>
  readonly submit: { readonly host: string; readonly port: number }
  readonly issuer: { readonly issuer: string; readonly jwks: string; readonly algorithms: readonly string[] }
  readonly intakeSecret: string
}

/** What the simulated world adds on top: its DNS, its hosts, its mail sink and its token issuer. */
export function simulatedDefaults(
  { dns, loopback, submit, issuer, intakeSecret }: SimulatedPlaces,
  origin: string,
): readonly Filling[] {
  return [
    ['network/dns', dns],
    ...Object.entries(loopback).map(([host, port]): Filling => [`network/loopback/${host}`, port]),
    ['email/submit', submit],
    ['email/intake', { secret: intakeSecret }],
    ['email/listen', { port: 2525, protocol: 'smtp' }],
    ['a2a/auth/issuers', [{ ...issuer, audience: `${origin}/a2a` }]],
  ]
}
