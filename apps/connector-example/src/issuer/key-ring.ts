// Keeps and rotates the connector's signing keys, and serves its key documents.
import type { JsonWebKey, KeyObject } from 'node:crypto'
import { createPrivateKey, createPublicKey, generateKeyPair, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { connectorCardPath, writeConnectorCard, writeDidDocument } from '@postern/identity'
import { parseJsonText } from '@postern/message'
import { Hono } from 'hono'
import type { ConnectorConfig } from '../config.ts'

const makeKeyPair = promisify(generateKeyPair)

/** The times of a key, ms. */
const keyTimes = {
  /** The time for which a new key is published before it signs: readers of our documents reload them at most every 30 s. */
  lead: 60_000,
  /** The time for which a key is published after it stopped signing; its signatures are valid for ten minutes at most. */
  kept: 24 * 3_600_000,
} as const

interface ConnectorKey {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

interface StoredKey {
  readonly kid: string
  readonly signs_from: number
  readonly private_jwk: JsonWebKey
}

interface KeyFile {
  readonly session_secret: string
  readonly keys: readonly StoredKey[]
}

export interface ConnectorKeyRing {
  /** The secret that signs sessions; it never leaves the program. */
  readonly sessionSecret: Uint8Array
  /** Returns the key that signs now. */
  signing(): ConnectorKey
  /** Lists the signing key, and one that is about to replace it. */
  active(): readonly ConnectorKey[]
  /** Lists the keys that signed before, and are still valid. */
  previous(): readonly ConnectorKey[]
  /** Creates a new key, which signs as soon as every reader can know it. */
  rotate(): Promise<string>
}

/** Opens a file of Ed25519 keys that only its owner can read; creates it if it does not exist. */
export async function openKeyRing(path: string, now: () => number): Promise<ConnectorKeyRing> {
  let file = readKeyFile(path) ?? { session_secret: randomBytes(32).toString('base64url'), keys: [] }
  if (file.keys.length === 0) save({ ...file, keys: [await makeKey(0)] })
  const keysById = new Map<string, ConnectorKey>()

  function save(next: KeyFile): void {
    // The file is written whole or not at all, because a connector that loses its keys becomes another one.
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileSync(`${path}.new`, JSON.stringify(next), { mode: 0o600 })
    renameSync(`${path}.new`, path)
    file = next
  }

  function load({ kid, private_jwk: key }: StoredKey): ConnectorKey {
    const loadedKey = keysById.get(kid)
    if (loadedKey) return loadedKey
    const privateKey = createPrivateKey({ key, format: 'jwk' })
    const loaded = { kid, privateKey, publicKey: createPublicKey(privateKey) }
    keysById.set(kid, loaded)
    return loaded
  }

  /** Finds the position of the newest key whose time has come. */
  const signingAt = () => file.keys.findLastIndex(key => key.signs_from <= now())

  return {
    sessionSecret: Buffer.from(file.session_secret, 'base64url'),
    signing: () => load(file.keys[Math.max(0, signingAt())] as StoredKey),
    active: () => file.keys.slice(Math.max(0, signingAt())).map(load),
    previous: () => file.keys.slice(0, Math.max(0, signingAt())).filter(isKept).map(load),
    async rotate() {
      const newKey = await makeKey(now() + keyTimes.lead)
      save({ ...file, keys: [...file.keys.filter((key, index) => index >= signingAt() || isKept(key)), newKey] })
      return newKey.kid
    },
  }

  /** Returns true if the key still counts: it has no successor, or its successor began to sign less than `keyTimes.kept` ago. */
  function isKept(key: StoredKey): boolean {
    const successor = file.keys[file.keys.indexOf(key) + 1]
    return successor === undefined || now() < successor.signs_from + keyTimes.kept
  }
}

function readKeyFile(path: string): KeyFile | undefined {
  try {
    return parseJsonText(readFileSync(path, 'utf8')) as KeyFile
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

async function makeKey(signs_from: number): Promise<StoredKey> {
  const { privateKey } = await makeKeyPair('ed25519')
  return { kid: `k${randomBytes(6).toString('hex')}`, signs_from, private_jwk: privateKey.export({ format: 'jwk' }) }
}

export const callbackPath = '/callback'
const keySetPath = '/.well-known/jwks.json'

/** Returns the bare host that v0.1 evidence names as its issuer, and the DID of v0.2. */
export function issuersOf({ origin }: Pick<ConnectorConfig, 'origin'>): {
  readonly host: string
  readonly did: string
} {
  const { host } = new URL(origin)
  return { host, did: `did:web:${host}` }
}

type ConnectorIdentity = Pick<ConnectorConfig, 'origin' | 'name'>

/** Creates the routes of our public documents: Connector Card, DID document, keys of our tokens. */
export function createDocumentRoutes(config: ConnectorIdentity, keys: ConnectorKeyRing): Hono {
  const { host, did } = issuersOf(config)
  const listKeys = () => [...keys.active(), ...keys.previous()]
  const card = () =>
    writeConnectorCard({
      issuer: host,
      name: config.name,
      keys: keys.active(),
      previousKeys: keys.previous(),
      callbackUrls: [config.origin + callbackPath],
    })
  const writers: Readonly<Record<string, () => object>> = {
    [connectorCardPath]: card,
    '/.well-known/did.json': () =>
      writeDidDocument(
        did,
        listKeys().map(({ kid, publicKey }) => ({ fragment: kid, publicKey })),
      ),
    [keySetPath]: () => ({ keys: writeConnectorCard({ issuer: host, keys: listKeys() }).keys }),
  }
  const routes = new Hono()
  for (const [path, writeFile] of Object.entries(writers)) {
    routes.get(path, context => context.json(writeFile(), 200, { 'cache-control': 'public, max-age=60' }))
  }
  return routes
}
