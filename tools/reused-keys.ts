// Reuses RSA keys among the tests of one process, because making each takes 50 ms of CPU time.
import type { KeyObject } from 'node:crypto'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { promisify } from 'node:util'

// An RSA key takes 50 ms of CPU time or more, and each gateway, actor and mail domain of a test makes one. A process therefore makes
// this many of each size and then gives them out in turn. No test holds so many at once: its keys still differ.
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

/** The key pairs of each size; the first is the next to give out. */
const made = new Map<number, KeyPair[]>()

function takeNext(size: number): KeyPair | undefined {
  const pairs = made.get(size) ?? []
  made.set(size, pairs)
  if (pairs.length < keysPerSize) return undefined
  const [next, ...others] = pairs as [KeyPair, ...KeyPair[]]
  made.set(size, [...others, next])
  return next
}

function keep(size: number, pair: KeyPair): KeyPair {
  made.get(size)?.push(pair)
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
  const generateAtOnce = generateKeyPairSync as unknown as (type: string, options?: object) => KeyPair
  /** Tells if a call asks for an ordinary RSA key. */
  const isReused = (type: string, options?: object): options is RsaOptions =>
    type === 'rsa' && options !== undefined && 'modulusLength' in options && !('publicExponent' in options)

  const reuse = async (type: string, options?: object): Promise<KeyPair<unknown>> => {
    if (!isReused(type, options)) return generate(type, options)
    const { modulusLength: size } = options
    return encode(takeNext(size) ?? keep(size, await generate(type, { modulusLength: size })), options)
  }
  const reuseAtOnce = (type: string, options?: object): KeyPair<unknown> => {
    if (!isReused(type, options)) return generateAtOnce(type, options)
    const { modulusLength: size } = options
    return encode(takeNext(size) ?? keep(size, generateAtOnce(type, { modulusLength: size })), options)
  }
  const callBack = (type: string, options: object, callback: Callback): void => {
    reuse(type, options).then(
      ({ publicKey, privateKey }) => callback(null, publicKey, privateKey),
      (error: Error) => callback(error),
    )
  }
  Object.assign(crypto, {
    generateKeyPair: Object.assign(callBack, { [promisify.custom]: reuse }),
    generateKeyPairSync: reuseAtOnce,
  })
  syncBuiltinESMExports()
}

// Runs once per process, not once per file.
const isDone = Symbol.for('postern.reused-keys')
if (!(isDone in globalThis)) {
  Object.assign(globalThis, { [isDone]: true })
  reuseKeys()
}
