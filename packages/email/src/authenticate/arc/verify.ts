import { createHash } from 'node:crypto'
import { arc } from 'mailauth/lib/arc/index.js'
import type { ChainReport } from '../signatures/reports.ts'

type ChainData = Parameters<typeof arc>[0]
type ChainOptions = NonNullable<Parameters<typeof arc>[1]>

/** Judges the seals of a chain (RFC 8617 §5.2); its newest message signature was judged with the others. Runs in the worker. */
export async function judgeChain(found: unknown, options: ChainOptions): Promise<ChainReport> {
  const data = (found ?? { chain: false }) as ChainData
  const { status, authenticationResults, signature } = await arc(data, options)
  const last = data.chain ? data.chain.at(-1) : undefined
  const seal = last?.['arc-seal']?.parsed
  // No sealer has seen the text after the end of the sealed part (`l=`).
  const isWhole = !isUndersized(signature)
  const known = status.result === 'pass' || status.result === 'none' ? status.result : 'fail'
  return {
    result: isWhole ? known : 'fail',
    comment: isWhole ? String(status.comment ?? '') : 'undersized',
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

function readCovered(signature: unknown): readonly string[] {
  const { signingHeaders } = (signature || {}) as { readonly signingHeaders?: { readonly keys?: string } }
  return listCoveredNames(signingHeaders?.keys)
}

/** The fields that were found, in the spelling of the library: one name for each. */
export function listCoveredNames(keys: string | undefined): string[] {
  return (keys ?? '').split(':').flatMap(name => name.trim().toLowerCase() || [])
}

function isUndersized(signature: unknown): boolean {
  const { status } = (signature || {}) as { readonly status?: { readonly underSized?: unknown } }
  return Number(status?.underSized ?? 0) > 0
}

function textOf(tag: { readonly value?: unknown } | undefined): string {
  return typeof tag?.value === 'string' ? tag.value : ''
}

/** `dmarc=pass header.from=example.com` of the sealer's own results (RFC 8617 §4.1.1, RFC 8601). */
function readDmarc(results: unknown): ChainReport['dmarc'] {
  const { dmarc } = (results ?? {}) as { dmarc?: { result?: unknown; header?: { from?: unknown } } }
  const [result, from] = [dmarc?.result, dmarc?.header?.from]
  return typeof result === 'string' && typeof from === 'string' ? { result, from: from.toLowerCase() } : undefined
}
