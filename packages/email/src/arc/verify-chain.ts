// Verifies the seals of ARC chains with the mailauth library (RFC 8617).
import { createHash } from 'node:crypto'
import type { TxtAnswer } from '../dkim/signature-report.ts'
import type { ChainReport } from './chain.ts'

type Arc = typeof import('mailauth/lib/arc/index.js').arc
type ChainData = Parameters<Arc>[0]
type ChainOptions = NonNullable<Parameters<Arc>[1]>

/** The minimum number of bits of an RSA key (RFC 8301 §3.2). */
const minBitLength = 1024

interface ChainDeps {
  /** The DNS answers for `selector._domainkey.domain`. */
  readonly keys: Readonly<Record<string, TxtAnswer>>
  /** The time of the check, ms since the epoch. */
  readonly now: number
}

/** Verifies the ARC chain of a message. It runs in a worker thread, which loads the library for the first chain. */
export async function verifyChain(octets: Buffer, { keys, now }: ChainDeps): Promise<ChainReport> {
  const { dkimVerify } = await import('mailauth/lib/dkim/verify.js')
  const options = {
    strict: true,
    minBitLength,
    curTime: new Date(now),
    resolver: async (name: string) => recordsOf(keys[name.toLowerCase()]),
  }
  return judgeChain((await dkimVerify(octets, options)).arc, options)
}

/**
 * Returns the records of an answer. A name without an answer counts as absent, so a signature whose key was not queried
 * never passes.
 */
function recordsOf(answer: TxtAnswer | undefined): string[][] {
  if (answer && 'records' in answer) return answer.records.map(strings => [...strings])
  throw Object.assign(new Error('no record'), { code: answer?.code ?? 'ENOTFOUND' })
}

/** Judges the seals of a chain (RFC 8617 §5.2). The library has verified the newest message signature before. */
export async function judgeChain(chainData: unknown, options: ChainOptions): Promise<ChainReport> {
  const { arc } = await import('mailauth/lib/arc/index.js')
  const data = (chainData ?? { chain: false }) as ChainData
  const { status, authenticationResults, signature } = await arc(data, options)
  const lastSet = data.chain ? data.chain.at(-1) : undefined
  const seal = lastSet?.['arc-seal']?.parsed
  // No sealer has seen the text after the end of the sealed part (`l=`).
  const coversWholeBody = !isUndersized(signature)
  const result = status.result === 'pass' || status.result === 'none' ? status.result : 'fail'
  return {
    result: coversWholeBody ? result : 'fail',
    comment: coversWholeBody ? String(status.comment ?? '') : 'undersized',
    id: createHash('sha256')
      .update(Buffer.from(textOf(seal?.b), 'base64'))
      .digest('hex'),
    instances: data.chain ? data.chain.length : 0,
    domain: textOf(seal?.d).toLowerCase(),
    selector: textOf(seal?.s),
    dmarc: readDmarc(authenticationResults),
    covers: readCovered(signature),
  }
}

/** Returns the covered fields that the message has. The library gives them as one list, separated by colons. */
function readCovered(signature: unknown): readonly string[] {
  const { signingHeaders } = (signature || {}) as { readonly signingHeaders?: { readonly keys?: string } }
  return (signingHeaders?.keys ?? '').split(':').flatMap(name => name.trim().toLowerCase() || [])
}

function isUndersized(signature: unknown): boolean {
  const { status } = (signature || {}) as { readonly status?: { readonly underSized?: unknown } }
  return Number(status?.underSized ?? 0) > 0
}

function textOf(tag: { readonly value?: unknown } | undefined): string {
  return typeof tag?.value === 'string' ? tag.value : ''
}

/** Reads `dmarc=pass header.from=example.com` from the sealer's own results (RFC 8617 §4.1.1, RFC 8601). */
function readDmarc(results: unknown): ChainReport['dmarc'] {
  const { dmarc } = (results ?? {}) as { dmarc?: { result?: unknown; header?: { from?: unknown } } }
  const [result, from] = [dmarc?.result, dmarc?.header?.from]
  return typeof result === 'string' && typeof from === 'string' ? { result, from: from.toLowerCase() } : undefined
}
