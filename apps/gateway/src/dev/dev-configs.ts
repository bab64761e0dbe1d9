import { randomBytes } from 'node:crypto'
import type { Simulation } from '@postern/simulation'
import type { ConfigFile } from '../config/read-config.ts'
import { parseConfig } from '../config/read-config.ts'
import type { Config } from '../config/schema.ts'
import { devDefaults, simulatedDefaults } from './defaults.ts'
import { fillAll } from './fill.ts'
import type { MadeUpSecret } from './made-up-secrets.ts'
import { makeUpSecrets, toFillings } from './made-up-secrets.ts'

/** What the files of one run mean in its simulated network: secrets that are made up stay the same from one file to the next. */
interface DevConfigs {
  /** @throws AggregateError of ConfigErrors */
  parse(file: ConfigFile): Config
  /** Those of the file that was parsed last. */
  madeUp(): readonly MadeUpSecret[]
}

export function createDevConfigs({ network, mail, a2a }: Simulation): DevConfigs {
  const secret = randomBytes(18).toString('base64url')
  const { dns, loopback } = network
  const issuers = [a2a.issuerConfig, a2a.deadIssuerConfig]
  const known = new Map<string, MadeUpSecret>()
  let madeUp: readonly MadeUpSecret[] = []
  return {
    parse({ tree, missing }) {
      madeUp = makeUpSecrets(missing, [...known.values()])
      for (const made of madeUp) known.set(made.source, made)
      const filled = fillAll(tree, [...toFillings(madeUp), ...devDefaults])
      const places = { submit: mail.submit, issuers, origin: String(filled.origin), secret }
      return parseConfig(fillAll(filled, simulatedDefaults({ dns, loopback, ...places })))
    },
    madeUp: () => madeUp,
  }
}
