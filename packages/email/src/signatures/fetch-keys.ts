// Queries DNS for the keys of signatures.

import type { DnsResolver } from '@postern/message'
import type { TxtAnswer } from '../dkim/signature-report.ts'
import type { ChainPlan } from './plan-signatures.ts'

/** Queries DNS for every key of the plan. The error code of a failed query counts as its answer. */
export async function fetchKeys(
  { keyNames }: Pick<ChainPlan, 'keyNames'>,
  { resolve }: { readonly resolve: DnsResolver },
): Promise<Readonly<Record<string, TxtAnswer>>> {
  const answers = await Promise.all(keyNames.map(async name => [name, await queryKey(name, resolve)] as const))
  return Object.fromEntries(answers)
}

async function queryKey(name: string, resolve: DnsResolver): Promise<TxtAnswer> {
  try {
    const records = (await resolve(name, 'TXT')) as readonly (readonly string[])[]
    // The result of several records is undefined (RFC 6376 §3.6.2.2), so the gateway treats them as no key.
    return records.length === 1 ? { records } : { code: 'ENODATA' }
  } catch (error) {
    return { code: (error as { code?: string }).code ?? 'ESERVFAIL' }
  }
}
