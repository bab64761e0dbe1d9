import type { KeyObject } from 'node:crypto'
import { createHash, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { relaxBody, relaxField } from '../mail/octets.ts'

interface SigningDeps extends Pick<DkimSigning, 'domain'> {
  /** Oldest first. */
  load(): Promise<readonly KeyGeneration[]>
  readonly selector: string
  now(): number
}

/** After this, another gateway's rotation is seen here too, ms. */
const loadedMs = 60_000

/** Signs with the keys of that time; keeps them loaded until `forget`. */
export function createSigning({ load, domain, selector, now }: SigningDeps) {
  let loaded: { readonly at: number; readonly generations: Promise<readonly KeyGeneration[]> } | undefined

  function list(): Promise<readonly KeyGeneration[]> {
    if (!loaded || loaded.at + loadedMs < now()) loaded = { at: now(), generations: load() }
    loaded.generations.catch(() => {
      loaded = undefined
    })
    return loaded.generations
  }

  return {
    list,
    async sign(message: Buffer, signedAt: string): Promise<Buffer> {
      const at = Date.parse(signedAt)
      const keys = chooseSigning(await list(), at).flatMap(generation => keysOf(generation, selector))
      return Buffer.concat([Buffer.from(await createDkimSignatures(message, { domain, keys, signedAt: at })), message])
    },
    forget(): void {
      loaded = undefined
    },
  }
}

/** How long old keys sign beside new ones, and how long their last signature is valid, ms. */
export const overlapMs = 7 * 24 * 3_600_000

/** By the moment of the message and not of the try, so that a second try sends the same octets. */
function chooseSigning(all: readonly KeyGeneration[], at: number): readonly KeyGeneration[] {
  const chosen = all.filter(({ madeAt }, place) => {
    const next = all[place + 1]
    return (place === 0 || madeAt <= at) && (next === undefined || at < next.madeAt + overlapMs)
  })
  return chosen.slice(-2)
}

/** A new selector with each new key: what is cached under the old one stays true. */
export function keysOf({ number, rsa, ed25519 }: KeyGeneration, selector: string): readonly DkimKey[] {
  const name = number === 1 ? selector : `${selector}-${number}`
  return [
    { selector: name, privateKey: rsa },
    { selector: `${name}-ed25519`, privateKey: ed25519 },
  ]
}

interface DkimSigning {
  readonly domain: string
  readonly keys: readonly DkimKey[]
  /** ms since the epoch. */
  readonly signedAt: number
}

const crlf = '\r\n'
const signInThreadpool = promisify(sign)
const lifetimeSeconds = 7 * 24 * 3_600

/** Everything a reader or a mail program goes by (RFC 6376 §5.4.1). */
const signedFields = [
  ...['from', 'to', 'cc', 'subject', 'date', 'reply-to', 'message-id', 'in-reply-to', 'references', 'mime-version'],
  ...['content-type', 'content-transfer-encoding', 'auto-submitted', 'list-id', 'list-post', 'list-unsubscribe'],
  // RFC 8058 §4 asks for both.
  'list-unsubscribe-post',
  // By it the next gateway knows a mail of an agent.
  'x-postern-hop',
]

/**
 * One DKIM-Signature for each key, to be put on top (RFC 6376 §5, RFC 8463). Every field is named once more than it is there (RFC 6376 §8.15), so that
 * none can be added under the signature; mailauth's signer does not do that.
 */
async function createDkimSignatures(message: Buffer, { domain, keys, signedAt }: DkimSigning): Promise<string> {
  const text = message.toString('latin1')
  const end = text.indexOf(crlf + crlf)
  const fields = text.slice(0, end).split(/\r\n(?![ \t])/)
  const { names, lines } = chooseFields(fields)
  const seconds = Math.floor(signedAt / 1000)
  const common = `d=${domain}; t=${seconds}; x=${seconds + lifetimeSeconds};${crlf}\tbh=${hash(relaxBody(message.subarray(end + 4))).toString('base64')};${crlf}\th=${foldNames(names)};${crlf}\tb=`
  const signatures = await Promise.all(
    keys.map(async ({ selector, privateKey }) => {
      const algorithm = privateKey.asymmetricKeyType === 'ed25519' ? 'ed25519-sha256' : 'rsa-sha256'
      const unsigned = `DKIM-Signature: v=1; a=${algorithm}; c=relaxed/relaxed; s=${selector};${crlf}\t${common}`
      const signature = await signData([...lines, relaxField(unsigned)].join(crlf), privateKey)
      return `${unsigned}${fold(signature)}${crlf}`
    }),
  )
  return signatures.join('')
}

/** Base64. Ed25519 signs the hash of the data (RFC 8463 §3). */
async function signData(data: string, key: KeyObject): Promise<string> {
  const octets = Buffer.from(data, 'latin1')
  const signature =
    key.asymmetricKeyType === 'ed25519'
      ? await signInThreadpool(null, hash(octets), key)
      : await signInThreadpool('sha256', octets, key)
  return signature.toString('base64')
}

function hash(octets: Buffer): Buffer {
  return createHash('sha256').update(octets).digest()
}

/**
 * The last field of a name is signed first (RFC 6376 §5.4.2). A name more often than its fields signs the absence of
 * another one.
 */
function chooseFields(fields: readonly string[]): {
  readonly names: readonly string[]
  readonly lines: readonly string[]
} {
  const relaxed = fields.map(relaxField)
  const found = signedFields.map(name => ({ name, lines: relaxed.filter(line => line.startsWith(`${name}:`)) }))
  return {
    names: found.flatMap(({ name, lines }) => Array.from({ length: lines.length + 1 }, () => name)),
    lines: found.flatMap(({ lines }) => lines.toReversed()),
  }
}

/** Lines of 72 characters or so; white space around the colons is allowed (RFC 6376 §3.5). */
function foldNames(names: readonly string[]): string {
  const lines: string[] = []
  for (const name of names) {
    const line = lines.pop()
    if (line === undefined) lines.push(name)
    else if (line.length + name.length < 72) lines.push(`${line}:${name}`)
    else lines.push(line, name)
  }
  return lines.join(`:${crlf}\t `)
}

function fold(base64: string): string {
  return base64.replace(/.{1,72}/g, (piece, at: number) => (at === 0 ? piece : `${crlf}\t ${piece}`))
}

export interface DkimKey {
  readonly selector: string
  readonly privateKey: KeyObject
}

/**
 * One RSA and one Ed25519 key, made together: every server verifies the first, and the second stays strong (RFC 8301,
 * RFC 8463).
 */
export interface KeyGeneration {
  /** 1 for the first. */
  readonly number: number
  /** ms since the epoch. */
  readonly madeAt: number
  readonly rsa: KeyObject
  readonly ed25519: KeyObject
}
