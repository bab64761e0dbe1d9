// Makes up secrets for missing variables and files, so that dev mode runs without them.
import { hash, randomBytes } from 'node:crypto'
import type { MissingSetting } from '../config/secrets.ts'
import { setAt } from '../config/set-at.ts'

export interface GeneratedSecret {
  /** The variable or file that has no value. */
  readonly source: string
  /** Key of the secret in the configuration: `agents.py.secret`. */
  readonly key: string
  readonly path: readonly string[]
  readonly value: string
  /** The key or token whose digest is the value; absent if the value is no digest. */
  readonly opensFor?: string | undefined
}

/** Matches the names of members that hold a secret. The operator’s token is excluded, because dev mode stores one beside the data. */
const secretName = /(?:^|_)(?:secret|password|token|key)$/
const notMadeUp = new Set(['operator_token', 'public_key'])
/** The configuration holds the digest of a secret under this name, and callers send the secret. */
const digestName = 'sha256'

/**
 * Makes a random value for each missing secret, for this run only. One source gives one value in all places, and `earlierSecrets`
 * keep their values.
 */
export function generateSecrets(
  missing: readonly MissingSetting[],
  earlierSecrets: readonly GeneratedSecret[] = [],
): readonly GeneratedSecret[] {
  const secretsBySource = new Map(earlierSecrets.map(secret => [secret.source, secret]))
  return missing.filter(isSecret).map(({ path, source }) => {
    const { value, opensFor } = secretsBySource.get(source) ?? makeUp({ isDigest: path.at(-1) === digestName })
    const secret = { source, key: path.join('.'), path, value, ...(opensFor !== undefined && { opensFor }) }
    secretsBySource.set(source, secret)
    return secret
  })
}

function makeUp({ isDigest }: { readonly isDigest: boolean }): Pick<GeneratedSecret, 'value' | 'opensFor'> {
  const secret = randomBytes(32).toString('base64url')
  return isDigest ? { value: hash('sha256', secret), opensFor: secret } : { value: secret }
}

function isSecret({ path }: MissingSetting): boolean {
  const name = path.at(-1) ?? ''
  return name === digestName || (secretName.test(name) && !notMadeUp.has(name))
}

type Tree = Readonly<Record<string, unknown>>

/** Returns the configuration with these secrets. */
export function fillSecrets(tree: Tree, secrets: readonly GeneratedSecret[]): Tree {
  return secrets.reduce((filledTree, { path, value }) => setAt(filledTree, path, value) as Tree, tree)
}
