import { randomBytes } from 'node:crypto'
import type { ConfigFilling } from '@postern/http'
import type { MissingSetting } from '../config/secrets.ts'

/** Members that hold a secret of any form. The operator's token is none of them: dev mode keeps one beside the data. */
const secretName = /(?:^|_)(?:secret|password|token|key)$/
const notMadeUp = new Set(['operator_token', 'public_key'])

export interface MadeUpSecret {
  /** The variable or file that has no value. */
  readonly source: string
  /** Where the configuration uses it: `agents.py.secret`. */
  readonly key: string
  readonly value: string
}

/**
 * A random value for each secret that is missing, for this run only. One source gives one value, wherever it is used; `known` ones keep
 * theirs.
 */
export function makeUpSecrets(
  missing: readonly MissingSetting[],
  known: readonly MadeUpSecret[] = [],
): readonly MadeUpSecret[] {
  const values = new Map(known.map(({ source, value }) => [source, value]))
  return missing.filter(isSecret).map(({ path, source }) => {
    const value = values.get(source) ?? randomBytes(32).toString('base64url')
    values.set(source, value)
    return { source, key: path.join('.'), value }
  })
}

function isSecret({ path }: MissingSetting): boolean {
  const name = path.at(-1) ?? ''
  // Items of a list are not filled in, so nothing can be made up inside one.
  const isInList = path.some(part => /^\d+$/.test(part))
  return secretName.test(name) && !notMadeUp.has(name) && !isInList
}

export function toFillings(secrets: readonly MadeUpSecret[]): readonly ConfigFilling[] {
  return secrets.map(({ key, value }) => [key.replaceAll('.', '/'), value])
}
