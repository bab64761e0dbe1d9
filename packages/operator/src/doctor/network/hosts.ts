// Lists the public hosts of the gateway, and finds their addresses.
import { queryDns } from '../../resolve/view/mail.ts'
import type { DoctorDeps, DoctorNetwork } from '../deps.ts'

/** Lists the hosts that peers ask, the origin’s first. */
export function listOwnHosts({ config, handleHost }: Pick<DoctorDeps, 'config' | 'handleHost'>): readonly string[] {
  return [...new Set([new URL(config.origin).hostname, handleHost])]
}

/** Returns the A and the AAAA records. Each is undefined if DNS does not answer. */
export function resolveIpAddresses(host: string, { resolveDns }: Pick<DoctorNetwork, 'resolveDns'>) {
  return Promise.all((['A', 'AAAA'] as const).map(family => queryDns<string>(resolveDns, host, family)))
}
