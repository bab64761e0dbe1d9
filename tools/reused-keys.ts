// Reuses RSA keys among the tests of one process, because making each takes 50 ms of CPU time.
import type { KeyObject } from 'node:crypto'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { promisify } from 'node:util'

// An RSA key takes at least 50 ms of CPU time, and each gateway, actor and mail domain of a test creates one. A process therefore creates
// this many of each size and then reuses them in turn. No test needs as many, so the keys of one test always differ.
const keysPerSize = 32

interface KeyPair<Key = KeyObject> {
  readonly publicKey: Key
  readonly privateKey: Key
}

type Callback = (error: Error | null, publicKey?: unknown, privateKey?: unknown) => void

interface RsaOptions {
  readonly modulusLength: number
  readonly publicKeyEncoding?: crypto.KeyExportOptions<'pem'>
  readonly privateKeyEncoding?: crypto.KeyExportOptions<'pem'>
}

/** The key pairs of each size, with the next one to reuse first. */
const pairsBySize = new Map<number, KeyPair[]>()

function takeNext(size: number): KeyPair | undefined {
  const pairs = pairsBySize.get(size) ?? []
  pairsBySize.set(size, pairs)
  if (pairs.length < keysPerSize) return undefined
  const [next, ...otherPairs] = pairs as [KeyPair, ...KeyPair[]]
  pairsBySize.set(size, [...otherPairs, next])
  return next
}

function store(size: number, pair: KeyPair): KeyPair {
  pairsBySize.get(size)?.push(pair)
  return pair
}

function encode({ publicKey, privateKey }: KeyPair, options: RsaOptions): KeyPair<unknown> {
  const { publicKeyEncoding, privateKeyEncoding } = options
  return {
    publicKey: publicKeyEncoding ? publicKey.export(publicKeyEncoding) : publicKey,
    privateKey: privateKeyEncoding ? privateKey.export(privateKeyEncoding) : privateKey,
  }
}

function reuseKeys(): void {
  const { generateKeyPair, generateKeyPairSync } = crypto
  const generate = promisify(generateKeyPair) as unknown as (type: string, options?: object) => Promise<KeyPair>
  const generateSync = generateKeyPairSync as unknown as (type: string, options?: object) => KeyPair
  /** Returns true if a call requests an ordinary RSA key. */
  const isReused = (type: string, options?: object): options is RsaOptions =>
    type === 'rsa' && options !== undefined && 'modulusLength' in options && !('publicExponent' in options)

  const reuse = async (type: string, options?: object): Promise<KeyPair<unknown>> => {
    if (!isReused(type, options)) return generate(type, options)
    const { modulusLength: size } = options
    return encode(takeNext(size) ?? store(size, await generate(type, { modulusLength: size })), options)
  }
  const reuseSync = (type: string, options?: object): KeyPair<unknown> => {
    if (!isReused(type, options)) return generateSync(type, options)
    const { modulusLength: size } = options
    return encode(takeNext(size) ?? store(size, generateSync(type, { modulusLength: size })), options)
  }
  const callBack = (type: string, options: object, callback: Callback): void => {
    reuse(type, options).then(
      ({ publicKey, privateKey }) => callback(null, publicKey, privateKey),
      (error: Error) => callback(error),
    )
  }
  Object.assign(crypto, {
    generateKeyPair: Object.assign(callBack, { [promisify.custom]: reuse }),
    generateKeyPairSync: reuseSync,
  })
  syncBuiltinESMExports()
}

// The flag makes this run once for each process, not once for each file.
const installedFlag = Symbol.for('postern.reused-keys')
if (!(installedFlag in globalThis)) {
  Object.assign(globalThis, { [installedFlag]: true })
  reuseKeys()
}
