// Generates secrets for missing variables and files, so that dev mode runs without them.
import { hash, randomBytes } from 'node:crypto'
import type { MissingSetting } from '../config/secrets.ts'
import type { ConfigTree } from '../tree/config-tree.ts'
import { setAt } from '../tree/config-tree.ts'

export interface GeneratedSecret {
  /** The variable or file that has no value. */
  readonly source: string
  /** Key of the secret in the configuration: `agents.py.secret`. */
  readonly key: string
  readonly path: readonly string[]
  readonly value: string
  /** The key or token whose digest is the value; absent if the value is no digest. */
  readonly plainSecret?: string | undefined
}

/** Matches the names of members that hold a secret. The operator’s token is excluded, because dev mode stores one beside the data. */
const secretNamePattern = /(?:^|_)(?:secret|password|token|key)$/
const excludedNames = new Set(['operator_token', 'public_key'])
/** The configuration holds the digest of a secret under this name, and callers send the secret. */
const digestName = 'sha256'

/**
 * Generates a random value for each missing secret, for this run only. Settings that refer to the same source get the same value.
 * `earlierSecrets` keep their values.
 */
export function generateSecrets(
  missingSettings: readonly MissingSetting[],
  earlierSecrets: readonly GeneratedSecret[] = [],
): readonly GeneratedSecret[] {
  const secretsBySource = new Map(earlierSecrets.map(secret => [secret.source, secret]))
  return missingSettings.filter(isSecretSetting).map(({ path, source }) => {
    const { value, plainSecret } =
      secretsBySource.get(source) ?? generateSecret({ isDigest: path.at(-1) === digestName })
    const secret = { source, key: path.join('.'), path, value, ...(plainSecret !== undefined && { plainSecret }) }
    secretsBySource.set(source, secret)
    return secret
  })
}

function generateSecret({ isDigest }: { readonly isDigest: boolean }): Pick<GeneratedSecret, 'value' | 'plainSecret'> {
  const secret = randomBytes(32).toString('base64url')
  return isDigest ? { value: hash('sha256', secret), plainSecret: secret } : { value: secret }
}

function isSecretSetting({ path }: MissingSetting): boolean {
  const name = path.at(-1) ?? ''
  return name === digestName || (secretNamePattern.test(name) && !excludedNames.has(name))
}

/** Returns the configuration with these secrets. */
export function fillSecrets(tree: ConfigTree, secrets: readonly GeneratedSecret[]): ConfigTree {
  return secrets.reduce((filledTree, { path, value }) => setAt(filledTree, path, value) as ConfigTree, tree)
}
