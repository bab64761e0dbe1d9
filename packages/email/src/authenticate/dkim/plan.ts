import { Rejection } from '@postern/core'
import type { MailLimits } from '../../config/limits.ts'
import type { TxtAnswer } from '../../dkim/report.ts'
import { parseSignature } from '../../dkim/signature.ts'
import type { HeaderBlock, HeaderField } from '../../mail/header-scan.ts'
import type { ChainPlan } from '../arc/chain.ts'
import { chainFields } from '../arc/chain.ts'
import type { DnsBudget } from '../dns/mail-dns.ts'
import { couldSignFor } from '../signatures/tags.ts'

/** The signatures of a message that are verified, and their keys. */
interface SignaturePlan {
  readonly keyNames: readonly string[]
  readonly ignored: readonly (readonly [start: number, end: number])[]
  readonly flags: readonly string[]
}

interface SignaturePlanning {
  readonly limits: MailLimits
  readonly chain: ChainPlan
}

/** A 4096-bit signature over every known field needs half of it; white space beyond that only costs time. */
const maxSignatureOctets = 4096
/** RFC 1035 §2.3.4. A resolver reports a longer name as trouble, as if it might exist tomorrow. */
const maxNameChars = 253

/**
 * Chooses before any crypto and any question: a few signatures are all judged; of many only the first that could speak
 * for the author.
 * @throws Rejection when there are absurdly many
 */
export function planSignatures(header: HeaderBlock, authorDomain: string, planning: SignaturePlanning): SignaturePlan {
  const { limits, chain } = planning
  const fields = header.fields.filter(({ name }) => name === 'dkim-signature')
  if (fields.length > limits.refused_signatures) {
    throw new Rejection('malformed', `Cannot verify mail: more than ${limits.refused_signatures} signatures`)
  }
  const isCrowded = fields.length > limits.signatures
  const sound = fields.filter(({ start, end }) => end - start <= maxSignatureOctets)
  const candidates = isCrowded ? sound.filter(field => couldSignFor(field, authorDomain)) : sound
  const judged = new Set(candidates.slice(0, limits.signatures))
  const isIgnored = (field: HeaderField) =>
    (chainFields.has(field.name) && !chain.isSealed) || (field.name === 'dkim-signature' && !judged.has(field))
  const keyNames = new Set([...judged].flatMap(listKeyName))
  return {
    keyNames: [...keyNames, ...chain.keyNames.filter(name => !keyNames.has(name))],
    ignored: header.fields.filter(isIgnored).map(({ start, end }) => [start, end]),
    flags: isCrowded ? ['too_many_signatures'] : [],
  }
}

/** The key of a signature that may verify: none is asked for where the field alone says that it cannot. */
function listKeyName(field: HeaderField): string[] {
  const { fault, domain, selector } = parseSignature(field)
  const name = `${selector}._domainkey.${domain}`
  return fault || name.length > maxNameChars ? [] : [name]
}

/** Looks up every key of the plan. An error is an answer too. */
export async function fetchKeys(
  { keyNames }: SignaturePlan,
  { resolve }: DnsBudget,
): Promise<Readonly<Record<string, TxtAnswer>>> {
  const answers = await Promise.all(keyNames.map(async name => [name, await askKey(name, resolve)] as const))
  return Object.fromEntries(answers)
}

async function askKey(name: string, resolve: DnsBudget['resolve']): Promise<TxtAnswer> {
  try {
    const records = (await resolve(name, 'TXT')) as readonly (readonly string[])[]
    // RFC 6376 §3.6.2.2: with several records the result is undefined. For us it is none.
    return records.length === 1 ? { records } : { code: 'ENODATA' }
  } catch (error) {
    return { code: (error as { code?: string }).code ?? 'ESERVFAIL' }
  }
}
