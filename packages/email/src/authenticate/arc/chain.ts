import { toAsciiDomain } from '@postern/core'
import type { HeaderBlock, HeaderField } from '../../mail/header-scan.ts'
import { keyNameOf, readTag } from '../signatures/tags.ts'
import type { ChainReport } from './report.ts'

/** The part of an ARC chain that is verified, and the keys. */
export interface ChainPlan {
  readonly keyNames: readonly string[]
  readonly isSealed: boolean
}

/** No signature covers them (RFC 8617 §4.1.2), so fields outside the verified part are removed. */
export const chainFields: ReadonlySet<string> = new Set([
  'arc-seal',
  'arc-message-signature',
  'arc-authentication-results',
])

const none: ChainPlan = { keyNames: [], isSealed: false }
/** RFC 8617 allows 50; each is a key to ask for and a signature to compute. */
const maxInstances = 10
const maxFieldOctets = 16 * 1024

/** A chain counts only when the operator trusts its last sealer. For other chains no DNS question is asked. */
export function planChain(header: HeaderBlock, trustedSealers: readonly string[]): ChainPlan {
  if (trustedSealers.length === 0) return none
  const fields = header.fields.filter(({ name }) => chainFields.has(name))
  if (fields.some(({ start, end }) => end - start > maxFieldOctets)) return none
  const last = findLast(fields, 'arc-seal')
  const sealer = last && toAsciiDomain(readTag(last, 'd'))
  const instances = last ? instanceOf(last) : 0
  if (!sealer || !trustedSealers.includes(sealer) || instances > maxInstances) return none
  const signers = [...fields.filter(({ name }) => name === 'arc-seal'), findLast(fields, 'arc-message-signature')]
  if (signers.length > maxInstances + 1) return none
  const keyNames = new Set(signers.flatMap(field => (field ? (keyNameOf(field) ?? []) : [])))
  return { keyNames: [...keyNames], isSealed: true }
}

/** The chain passed, and its last sealer saw the author's domain proven before the message was changed. */
export function vouchesFor(chain: ChainReport | undefined, authorDomain: string): boolean {
  if (chain?.result !== 'pass' || chain.dmarc?.result !== 'pass') return false
  return toAsciiDomain(chain.dmarc.from) === authorDomain
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
