import { handleHostOf } from '../../config/schema.ts'
import { askDns } from '../../resolve/view/mail.ts'
import type { DoctorDeps, Outside } from '../deps.ts'

/** The hosts that peers ask, the origin's first. */
export function listOwnHosts({ config }: Pick<DoctorDeps, 'config'>): readonly string[] {
  return [...new Set([new URL(config.origin).hostname, handleHostOf(config)])]
}

/** By A and by AAAA records: of each none where DNS says so, undefined where it does not answer. */
export function findAddresses(host: string, { resolveDns }: Pick<Outside, 'resolveDns'>) {
  return Promise.all((['A', 'AAAA'] as const).map(family => askDns<string>(resolveDns, host, family)))
}
