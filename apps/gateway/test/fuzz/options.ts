// Parses the options of `npm run fuzz`.
import { parseArgs } from 'node:util'

export interface FuzzOptions {
  readonly seed: number
  readonly durationSeconds: number
  /** A part of an endpoint's name; undefined for all endpoints. */
  readonly endpointFilter: string | undefined
  /** A file of cases to send again; undefined for new cases. */
  readonly repeatFile: string | undefined
}

export const fuzzUsage = `npm run fuzz -- [options]

  --seed <n>       repeats the run with this seed
  --seconds <n>    how long (default 30)
  --only <text>    endpoints whose name contains this text, such as "POST /inbox", "/operator", "SMTP" or "A2AService"
  --repeat <file>  sends the requests of a finding again, one after the other`

/** Parses the options. @throws TypeError naming the option that cannot be understood */
export function parseFuzzOptions(argv: readonly string[]): FuzzOptions {
  const options = {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    seconds: { type: 'string', default: '30' },
    only: { type: 'string' },
    repeat: { type: 'string' },
  } as const
  const { values } = parseArgs({ args: [...argv], options })
  const seed = Number(values.seed)
  const durationSeconds = Number(values.seconds)
  if (!Number.isInteger(seed)) throw new TypeError('--seed must be a whole number')
  if (!(durationSeconds > 0)) throw new TypeError('--seconds must be a number above 0')
  return { seed, durationSeconds, endpointFilter: values.only, repeatFile: values.repeat }
}
