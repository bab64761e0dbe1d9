import type { Proof } from '@postern/core'
import { toAsciiDomain } from '@postern/core'
import type { HeaderBlock, HeaderField } from '../mail/octets.ts'
import type { ChainPlan } from './signatures.ts'
import { chainFields, formatKeyId, readTag } from './signatures.ts'

/** No chain counts. */
export const noChain: ChainPlan = { keyNames: [], isSealed: false }
/** RFC 8617 allows 50; each is a key to ask for and a signature to compute. */
const maxInstances = 10
const maxFieldOctets = 16 * 1024

/** A chain counts only when the operator trusts its last sealer. For other chains no DNS question is asked. */
export function planChain(header: HeaderBlock, trustedSealers: readonly string[]): ChainPlan {
  const fields = header.fields.filter(({ name }) => chainFields.has(name))
  if (fields.some(({ start, end }) => end - start > maxFieldOctets)) return noChain
  const last = findLast(fields, 'arc-seal')
  const sealer = last && toAsciiDomain(readTag(last, 'd'))
  const instances = last ? instanceOf(last) : 0
  if (!sealer || !trustedSealers.includes(sealer) || instances > maxInstances) return noChain
  const signers = [...fields.filter(({ name }) => name === 'arc-seal'), findLast(fields, 'arc-message-signature')]
  if (signers.length > maxInstances + 1) return noChain
  const keyNames = new Set(signers.flatMap(field => (field ? (keyNameOf(field) ?? []) : [])))
  return { keyNames: [...keyNames], isSealed: true }
}

/** The chain passed, and its last sealer saw the author's domain proven before the message was changed. */
export function vouchesFor({ result, dmarc }: ChainReport, authorDomain: string): boolean {
  return result === 'pass' && dmarc?.result === 'pass' && toAsciiDomain(dmarc.from) === authorDomain
}

function findLast(fields: readonly HeaderField[], name: string): HeaderField | undefined {
  return fields
    .filter(field => field.name === name)
    .reduce<HeaderField | undefined>(
      (last, field) => (last && instanceOf(last) >= instanceOf(field) ? last : field),
      undefined,
    )
}

function instanceOf(field: HeaderField): number {
  const text = readTag(field, 'i')
  return /^\d{1,2}$/.test(text) ? Number(text) : 0
}

/** An ARC chain as the library judged it (RFC 8617). */
export interface ChainReport {
  readonly result: 'pass' | 'fail' | 'none'
  readonly comment: string
  /** How many sets it has. */
  readonly instances: number
  /** Of the last seal. */
  readonly domain: string
  readonly selector: string
  /** SHA-256 of the last seal's value. */
  readonly id: string
  /** The DMARC verdict of the last sealer before it changed the message, and its domain. */
  readonly dmarc?: { readonly result: string; readonly from: string } | undefined
  /** Lower-case names of the fields that its newest message signature covers. */
  readonly covers: readonly string[]
}

/** The DNS name of the key of a signature or seal. */
function keyNameOf(field: HeaderField): string | undefined {
  const [domain, selector] = [toAsciiDomain(readTag(field, 'd')), readTag(field, 's').toLowerCase()]
  return domain && /^[a-z0-9._-]{1,200}$/.test(selector) ? `${selector}._domainkey.${domain}` : undefined
}

/** Shown only where a chain was judged at all. */
export function proofOfChain(chain: ChainReport): Proof {
  const { result, comment, instances, dmarc } = chain
  const reason = result === 'pass' ? undefined : comment
  return { kind: 'arc', verdict: result, reason, key_id: formatKeyId(chain), instances, dmarc: dmarc?.result }
}
