// Plans the check of an ARC chain, and decides if its last sealer vouches for the author (RFC 8617).
import type { Proof } from '@postern/message'
import { toAsciiDomain } from '@postern/message'
import type { HeaderBlock, HeaderField } from '../mail/header.ts'
import { formatKeyId } from '../signatures/judge-signature.ts'
import type { ChainPlan } from '../signatures/plan-signatures.ts'
import { chainFields } from '../signatures/plan-signatures.ts'
import { readTag } from '../signatures/signature-field.ts'

/** The plan for a mail whose ARC chain does not count. */
export const noChain: ChainPlan = { keyNames: [], isSealed: false }
/** The longest chain. RFC 8617 allows 50 sets, but each of them needs a key and a signature. */
const maxInstances = 10
const maxFieldOctets = 16 * 1024

/** Plans the check of a chain. A chain counts only if the operator trusts its last sealer. Other chains cause no DNS queries. */
export function planChain(header: HeaderBlock, trustedSealers: readonly string[]): ChainPlan {
  const fields = header.fields.filter(({ name }) => chainFields.has(name))
  if (fields.some(({ start, end }) => end - start > maxFieldOctets)) return noChain
  const lastSeal = findLast(fields, 'arc-seal')
  const sealer = lastSeal && toAsciiDomain(readTag(lastSeal, 'd'))
  const instances = lastSeal ? readInstance(lastSeal) : 0
  if (!sealer || !trustedSealers.includes(sealer) || instances > maxInstances) return noChain
  const signatureFields = [
    ...fields.filter(({ name }) => name === 'arc-seal'),
    findLast(fields, 'arc-message-signature'),
  ]
  if (signatureFields.length > maxInstances + 1) return noChain
  const keyNames = new Set(signatureFields.flatMap(field => (field ? (keyNameOf(field) ?? []) : [])))
  return { keyNames: [...keyNames], isSealed: true }
}

/** Returns true if the chain passed and its last sealer verified the author's domain before it changed the message. */
export function vouchesFor({ result, dmarc }: ChainReport, authorDomain: string): boolean {
  return result === 'pass' && dmarc?.result === 'pass' && toAsciiDomain(dmarc.from) === authorDomain
}

function findLast(fields: readonly HeaderField[], name: string): HeaderField | undefined {
  return fields
    .filter(field => field.name === name)
    .reduce<HeaderField | undefined>(
      (newestField, field) => (newestField && readInstance(newestField) >= readInstance(field) ? newestField : field),
      undefined,
    )
}

function readInstance(field: HeaderField): number {
  const text = readTag(field, 'i')
  return /^\d{1,2}$/.test(text) ? Number(text) : 0
}

/** An ARC chain as the library judged it (RFC 8617). */
export interface ChainReport {
  readonly result: 'pass' | 'fail' | 'none'
  readonly comment: string
  /** The number of sets in the chain. */
  readonly instances: number
  /** The domain of the last seal. */
  readonly domain: string
  readonly selector: string
  /** The SHA-256 of the value of the last seal. */
  readonly id: string
  /** The DMARC verdict of the last sealer before it changed the message, and the domain of that verdict. */
  readonly dmarc?: { readonly result: string; readonly from: string } | undefined
  /** The lower-case names of the fields that the newest message signature covers. */
  readonly covers: readonly string[]
}

/** Returns the DNS name of the key of a signature or seal. */
function keyNameOf(field: HeaderField): string | undefined {
  const [domain, selector] = [toAsciiDomain(readTag(field, 'd')), readTag(field, 's').toLowerCase()]
  return domain && /^[a-z0-9._-]{1,200}$/.test(selector) ? `${selector}._domainkey.${domain}` : undefined
}

/** Describes the verdict on a chain as a proof. */
export function proofOfChain(chain: ChainReport): Proof {
  const { result, comment, instances, dmarc } = chain
  const reason = result === 'pass' ? undefined : comment
  return { kind: 'arc', verdict: result, reason, key_id: formatKeyId(chain), instances, dmarc: dmarc?.result }
}
