import { handleHostOf } from '../../config/schema.ts'
import type { DoctorDeps, Outside } from '../deps.ts'

/** The hosts that peers ask, the origin's first. */
export function listOwnHosts({ config }: Pick<DoctorDeps, 'config'>): readonly string[] {
  return [...new Set([new URL(config.origin).hostname, handleHostOf(config)])]
}

type AddressFamily = 'A' | 'AAAA'

/** Empty where DNS says that there is none, undefined where it does not answer. */
export async function findAddresses(
  host: string,
  family: AddressFamily,
  { resolveDns }: Pick<Outside, 'resolveDns'>,
): Promise<readonly string[] | undefined> {
  try {
    return (await resolveDns(host, family)) as readonly string[]
  } catch (error) {
    const { code } = error as { readonly code?: string }
    return code === 'ENOTFOUND' || code === 'ENODATA' ? [] : undefined
  }
}
